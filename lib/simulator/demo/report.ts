import { comparedWork, hetznerBlog, type LatencyFigure, peer, type RequestFigure } from './reference.ts';
import { type Counts, figureOf } from './requests.ts';
import { isCompared, type LatencyStep, latencies, type Observations, type PhaseName } from './result.ts';
import { textTable } from './text-table.ts';

const phaseNames = ['takeOver', 'scaleUp', 'idle'] as const satisfies PhaseName[];

/** 360 -> `6 min`, 30 -> `30 s`. */
export const duration = (seconds: number): string =>
  seconds >= 60 && seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;

const requestFigure = ({ withoutActions, withActions }: RequestFigure): string => `${withoutActions} / ${withActions}`;

/** Seconds with two digits that matter. */
const seconds = (ms: number): string => (ms / 1_000).toFixed(ms < 1_000 ? 2 : 1);

const latencyFigure = ({ p50, p99 }: LatencyFigure): string => `${seconds(p50)} / ${seconds(p99)} s`;

/** Requests of each phase: ours, the peer's, Hetzner's; the first row names the columns. */
export function requestRows({ options, phases }: Observations): string[][] {
  const { workers, idle } = options;
  const compared = isCompared(options);
  const full = idle === comparedWork.idle;
  const span = full ? '' : ` in ${duration(comparedWork.idle)}`;
  const ours = (name: PhaseName): string => requestFigure(figureOf(phases[name].hetzner));
  const { scaleUp, idle: blogIdle } = hetznerBlog;
  return [
    ['Requests to the Hetzner API', 'this run', 'peer', "Hetzner's blog"],
    ['take over 1 control plane', ours('takeOver'), requestFigure(peer.requests.takeOver), ''],
    [
      `scale from 0 to ${workers} workers`,
      ours('scaleUp'),
      compared ? requestFigure(peer.requests.scaleUp) : '',
      compared ? `${scaleUp.after}, before ${scaleUp.before}` : '',
    ],
    [
      `idle for ${duration(idle)}`,
      ours('idle'),
      compared ? `${requestFigure(peer.requests.idle)}${span}` : '',
      compared ? `${blogIdle.after}, before ${blogIdle.before}${span}` : '',
    ],
  ];
}

/** Our requests by endpoint. */
export function endpointRows({ phases }: Observations): string[][] {
  const endpoints = [...new Set(phaseNames.flatMap(name => Object.keys(phases[name].hetzner)))].sort();
  return [
    ['By endpoint', 'take over', 'scale up', 'idle'],
    ...endpoints.map(endpoint => [endpoint, ...phaseNames.map(name => String(phases[name].hetzner[endpoint] ?? 0))]),
  ];
}

const stepNames: Readonly<Record<LatencyStep, string>> = {
  initialised: 'initialised',
  routed: 'route accepted by Hetzner',
  available: 'NetworkUnavailable=False',
};

/** How long workers took. */
export function latencyRows({ options, journeys }: Observations): string[][] {
  const figures = latencies(journeys);
  const steps = Object.entries(stepNames) as [LatencyStep, string][];
  return [
    ['From join to ..., p50 / p99', 'this run', 'peer'],
    ...steps.map(([step, name]) => [
      name,
      latencyFigure(figures[step]),
      isCompared(options) ? latencyFigure(peer.latencies[step]) : '',
    ]),
  ];
}

const listOf = (counts: Counts): string =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${count} x ${name}`)
    .join(', ') || 'none';

/** The text at the end of the demo. */
export function renderReport(seen: Observations): string {
  const { options, kubernetesIdle, memoryMiB } = seen;
  const compared = isCompared(options);
  const memory = memoryMiB === undefined ? 'not known on this system' : `${Math.round(memoryMiB)} MiB`;
  return [
    ...textTable(requestRows(seen)),
    '(without / with GET /actions)',
    '',
    ...textTable(endpointRows(seen)),
    '',
    ...textTable(latencyRows(seen)),
    '',
    `Requests to the Kubernetes API in ${duration(options.idle)} of idling: ${listOf(kubernetesIdle)}`,
    `Resident memory of the controller: ${memory}${compared ? `, peer ${peer.memoryMiB} MiB` : ''}`,
    '',
    `peer: ${peer.name}, measured with 10 workers, one every 2 s, and`,
    '  6 idle minutes; the simulated Hetzner API had the same delays, the kube-apiserver was a real one.',
    "Hetzner's blog: the same work, with and before its cache of servers.",
    'Times and memory depend on the machine, the number of requests does not.',
    '',
  ].join('\n');
}

import type { Journey } from './journeys.ts';
import type { DemoOptions } from './options.ts';
import { percentile } from './percentile.ts';
import { comparedWork, hetznerBlog, type LatencyFigure, peer, type RequestFigure } from './reference.ts';
import { type Counts, figureOf } from './requests.ts';

export type PhaseName = 'takeOver' | 'scaleUp' | 'idle';

/** One request to Hetzner. */
export interface TimedRequest {
  /** ms of the monotonic clock. */
  readonly at: number;
  /** `METHOD route`. */
  readonly name: string;
  /** HTTP status of the answer. */
  readonly status: number;
}

export interface Phase {
  /** ms of the monotonic clock. */
  readonly from: number;
  readonly seconds: number;
  readonly requests: readonly TimedRequest[];
  readonly hetzner: Counts;
}

/** What was observed. */
export interface Observations {
  readonly options: DemoOptions;
  readonly phases: Readonly<Record<PhaseName, Phase>>;
  readonly journeys: readonly Journey[];
  /** Requests to the Kubernetes API while idle. */
  readonly kubernetesIdle: Counts;
  readonly memoryMiB: number | undefined;
}

/** Names of the control plane's and the workers' Nodes. */
export const controlPlane = 'cp1';
export const workerName = (index: number): string => `w${index}`;

/** Same number of workers at the same pace: what the figures of others can be held against. */
export const isCompared = ({ workers, interval }: DemoOptions): boolean =>
  workers === comparedWork.workers && interval === comparedWork.interval;

export const latencySteps = ['initialised', 'routed', 'available'] as const;
export type LatencyStep = (typeof latencySteps)[number];

/** p50 and p99 over the workers, from the join on. */
export function latencies(journeys: readonly Journey[]): Readonly<Record<LatencyStep, LatencyFigure>> {
  const workers = journeys.filter(({ name }) => name !== controlPlane);
  const figure = (step: LatencyStep): LatencyFigure => {
    const times = workers.map(journey => (journey[step] ?? Number.NaN) - journey.joined);
    return { p50: percentile(times, 0.5) ?? Number.NaN, p99: percentile(times, 0.99) ?? Number.NaN };
  };
  return { initialised: figure('initialised'), routed: figure('routed'), available: figure('available') };
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** The document of `--json`. Times are in ms unless the name says otherwise. */
export function demoDocument({ options, phases, journeys, kubernetesIdle, memoryMiB }: Observations, version: string) {
  const { workers, interval, idle } = options;
  const compared = isCompared(options);
  const requests = (name: PhaseName, theirs: RequestFigure | undefined) => {
    const { seconds, hetzner } = phases[name];
    return { seconds: round(seconds), ...figureOf(hetzner), byEndpoint: hetzner, peer: theirs ?? null };
  };
  const figures = latencies(journeys);
  const since = (journey: Journey, step: LatencyStep): number => round((journey[step] ?? Number.NaN) - journey.joined);
  return {
    version,
    nodeVersion: process.versions.node,
    options: { workers, interval, idleSeconds: idle },
    peer: peer.name,
    hetznerRequests: {
      takeOver: requests('takeOver', peer.requests.takeOver),
      scaleUp: {
        ...requests('scaleUp', compared ? peer.requests.scaleUp : undefined),
        hetznerBlog: compared ? hetznerBlog.scaleUp : null,
      },
      idle: {
        ...requests('idle', compared && idle === comparedWork.idle ? peer.requests.idle : undefined),
        hetznerBlog: compared && idle === comparedWork.idle ? hetznerBlog.idle : null,
      },
    },
    latencies: Object.fromEntries(
      latencySteps.map(step => [
        step,
        {
          p50: round(figures[step].p50),
          p99: round(figures[step].p99),
          peer: compared ? peer.latencies[step] : null,
        },
      ]),
    ),
    kubernetesRequestsWhileIdle: kubernetesIdle,
    memoryMiB: {
      controller: memoryMiB === undefined ? null : round(memoryMiB),
      peer: compared ? peer.memoryMiB : null,
    },
    nodes: journeys.map(journey => ({
      name: journey.name,
      initialised: since(journey, 'initialised'),
      routed: since(journey, 'routed'),
      available: since(journey, 'available'),
    })),
  };
}

import { duration } from '../report.ts';
import { textTable } from '../text-table.ts';
import { kindsOf, type NetworksSeen, readyAfter, targets } from './result.ts';
import { wanted } from './topology.ts';

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Requests by kind, against what this project wants at most. */
export function requestRows({ options, phases }: NetworksSeen): string[][] {
  const { writes, reads, polls } = kindsOf(phases.start.hetzner);
  const idle = Object.values(kindsOf(phases.idle.hetzner)).reduce((sum, count) => sum + count, 0);
  return [
    ['Requests to the Hetzner API', 'this run', 'at most'],
    [`writes: ${wanted.nodes} routes to nodes, ${wanted.pairs} to networks`, String(writes), String(targets.writes)],
    ['reads', String(reads), String(targets.reads)],
    ['polls of actions', String(polls), String(targets.polls)],
    [`idle for ${duration(options.idle)}`, String(idle), `${targets.idle} in ${duration(targets.idleSeconds)}`],
  ];
}

/** The text at the end of the demo. */
export function renderNetworksReport(seen: NetworksSeen): string {
  const { zones, pairs, loss, memoryMiB } = seen;
  const { p50, p99, all } = readyAfter(seen);
  const memory = memoryMiB === undefined ? 'not known on this system' : `${Math.round(memoryMiB)} MiB`;
  const touched = loss.touched.length === 0 ? 'none' : loss.touched.join(', ');
  return [
    ...textTable(requestRows(seen)),
    '',
    ...textTable([
      ['Network', 'nodes', 'routes', 'of them to networks'],
      ...zones.map(({ name, nodes, routes, ways }) => [name, String(nodes), String(routes), String(ways)]),
    ]),
    '',
    `Pods that reach each other: ${pairs.reached} of ${pairs.all} pairs of nodes; ${pairs.withoutOneWay} without one of the routes between networks`,
    `Ready after the start of the controller, p50 / p99 / all: ${seconds(p50)} / ${seconds(p99)} / ${seconds(all)}`,
    '',
    `Loss of network ${loss.network}, for which Hetzner answers ${loss.status}: ${loss.joined} joined another network and was ready after ${seconds(loss.took)}`,
    `Nodes that were there and were changed meanwhile: ${touched}`,
    `Resident memory of the controller: ${memory}`,
    '',
  ].join('\n');
}

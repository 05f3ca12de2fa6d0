import type { Journey } from '../journeys.ts';
import type { NetworksOptions } from '../options.ts';
import { percentile } from '../percentile.ts';
import { type Counts, figureOf } from '../requests.ts';
import type { Phase } from '../result.ts';
import { wanted } from './topology.ts';

/** What was seen of one network. */
export interface ZoneSeen {
  readonly name: string;
  readonly nodes: number;
  readonly routes: number;
  /** Of the routes those to other networks. */
  readonly ways: number;
}

export interface NetworksSeen {
  readonly options: NetworksOptions;
  readonly zones: readonly ZoneSeen[];
  readonly phases: { readonly start: Phase; readonly idle: Phase; readonly loss: Phase };
  /** Of the nodes that were there from the start. */
  readonly journeys: readonly Journey[];
  /** ms of the monotonic clock at which the controller was started. */
  readonly from: number;
  /** Pairs of nodes whose pods reach each other, each direction by itself. */
  readonly pairs: { readonly all: number; readonly reached: number; readonly withoutOneWay: number };
  readonly loss: {
    readonly network: string;
    readonly status: number;
    /** Node that joined another network meanwhile, and the ms until it was ready. */
    readonly joined: string;
    readonly took: number;
    /** Nodes that were there before and that were written to meanwhile. */
    readonly touched: readonly string[];
  };
  readonly memoryMiB: number | undefined;
}

/** Most requests, as this project wants it. */
export const targets = {
  writes: wanted.nodes + wanted.pairs,
  reads: 20,
  polls: 60,
  idle: 12,
  idleSeconds: 360,
} as const;

/** Writes, reads and polls of actions. */
export function kindsOf(counts: Counts): { readonly writes: number; readonly reads: number; readonly polls: number } {
  const { withActions, withoutActions } = figureOf(counts);
  const writes = Object.entries(counts)
    .filter(([name]) => !name.startsWith('GET '))
    .reduce((sum, [, count]) => sum + count, 0);
  return { writes, reads: withoutActions - writes, polls: withActions - withoutActions };
}

/** ms from the start of the controller until nodes were ready. */
export function readyAfter({ journeys, from }: Pick<NetworksSeen, 'journeys' | 'from'>) {
  const times = journeys.map(({ available = Number.NaN }) => available - from);
  const of = (share: number): number => Math.round(percentile(times, share) ?? Number.NaN);
  return { p50: of(0.5), p99: of(0.99), all: Math.round(Math.max(...times)) };
}

/** The document of `--json`. Times are in ms unless the name says otherwise. */
export function networksDocument(seen: NetworksSeen, version: string) {
  const { options, zones, phases, pairs, loss, memoryMiB } = seen;
  const { start, idle } = phases;
  return {
    version,
    nodeVersion: process.versions.node,
    scenario: options.scenario,
    networks: zones,
    hetznerRequests: {
      start: { ...kindsOf(start.hetzner), byEndpoint: start.hetzner },
      idle: { seconds: options.idle, ...kindsOf(idle.hetzner), byEndpoint: idle.hetzner },
      targets,
    },
    podPairs: pairs,
    readyAfter: readyAfter(seen),
    loss: { ...loss, took: Math.round(loss.took) },
    memoryMiB: memoryMiB === undefined ? null : Math.round(memoryMiB),
  };
}

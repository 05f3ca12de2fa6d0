import assert from 'node:assert/strict';
import { routeWrites, untilRoutes } from './route-checks.ts';
import type { Scenario } from './scenario.ts';

/** Route of worker i where nothing special was asked for. */
export const routeOf = (i: number): string => `10.244.${i}.0/24 10.0.1.${i}`;

/** Waits until exactly these workers are initialised and routed. */
export const untilConverged = async (s: Scenario, workers: readonly number[], timeout = 60_000): Promise<void> => {
  for (const i of workers) {
    await s.waitInitialised(`w${i}`, timeout);
    await s.waitRouted(i, timeout);
  }
  await untilRoutes(s, workers.map(routeOf).sort(), timeout);
};

/** Asserts how many routes were asked for and how many deletions, over all controllers so far. */
export const assertRouteWrites = (s: Scenario, added: number, deleted: number): void => {
  const writes = routeWrites(s);
  assert.deepEqual({ added: writes.added, deleted: writes.deleted }, { added, deleted });
};

import { map, type Observable, type SchedulerLike } from 'rxjs';
import { exponentialBackoff } from '../streams/backoff.ts';
import type { Clock } from '../streams/clock.ts';
import { firstValue } from '../streams/first-value.ts';
import { fromAbortable } from '../streams/from-abortable.ts';
import { type Snapshot, snapshotSource } from '../streams/snapshot.ts';
import type { Cloud } from './cloud.ts';
import { createServerList, type ServerList } from './server-list.ts';
import { type CallOptions, type Priority, priorities, type Server } from './types.ts';

export type { ServerList } from './server-list.ts';

export interface ServersOptions {
  readonly cloud: Pick<Cloud, 'listServers'>;
  readonly clock: Clock;
  /** Least ms between two lists. */
  readonly minInterval?: number;
  /** ms before the next list after the n-th failure in a row, n from 1. */
  readonly errorHoldOff?: (failuresInARow: number) => number;
  readonly scheduler?: SchedulerLike;
  /** Called for each look-up: true when a list that was there already answered it. */
  readonly onLookup?: (hit: boolean) => void;
}

/** All servers of the project, read by one shared request for all who need them (design rules 3 and 4). */
export interface Servers {
  /**
   * A list requested at or after `instant` (monotonic ms). Rejects with the error of the request it waited for, or with
   * the signal's reason; that leaves the request to the others who wait, and ends it when there are none.
   */
  notBefore(instant: number, o: CallOptions): Promise<ServerList>;
  latest(): ServerList | undefined;
  /** Each answered list, the newest at once. */
  readonly changes$: Observable<ServerList>;
}

export const createServers = (options: ServersOptions): Servers => {
  const { cloud, clock, minInterval, scheduler, onLookup } = options;
  const backoff = exponentialBackoff({ initial: 1_000, max: 30_000, jitter: 'equal' });
  /** How many wait with each priority. */
  const waiting = new Map<Priority, number>();
  const mostUrgent = (): Priority => priorities.find(priority => (waiting.get(priority) ?? 0) > 0) ?? 'refresh';

  const source = snapshotSource<readonly Server[]>({
    fetch: () => fromAbortable(signal => cloud.listServers({ priority: mostUrgent(), signal })),
    clock,
    errorHoldOff: options.errorHoldOff ?? (failures => backoff(failures - 1)),
    ...(minInterval === undefined ? {} : { minInterval }),
    ...(scheduler === undefined ? {} : { scheduler }),
  });

  const lists = new WeakMap<Snapshot<readonly Server[]>, ServerList>();
  const listOf = (snapshot: Snapshot<readonly Server[]>): ServerList => {
    const known = lists.get(snapshot);
    if (known !== undefined) return known;
    const list = createServerList(snapshot.value, snapshot.requestedAt);
    lists.set(snapshot, list);
    return list;
  };

  return {
    notBefore: async (instant, { priority, signal }) => {
      const newest = source.latest();
      onLookup?.(newest !== undefined && newest.requestedAt >= instant);
      waiting.set(priority, (waiting.get(priority) ?? 0) + 1);
      try {
        return listOf(await firstValue(source.notBefore(instant), signal));
      } finally {
        waiting.set(priority, (waiting.get(priority) ?? 1) - 1);
      }
    },
    latest: () => {
      const newest = source.latest();
      return newest && listOf(newest);
    },
    changes$: source.changes$.pipe(map(listOf)),
  };
};

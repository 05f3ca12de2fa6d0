import { BehaviorSubject, map, type Observable, type SchedulerLike } from 'rxjs';
import { exponentialBackoff } from '../streams/backoff.ts';
import type { Clock } from '../streams/clock.ts';
import { firstValue } from '../streams/first-value.ts';
import { fromAbortable } from '../streams/from-abortable.ts';
import { type Snapshot, snapshotSource } from '../streams/snapshot.ts';
import { type CallOptions, type Priority, priorities } from './types.ts';

export interface SharedListTiming {
  readonly clock: Clock;
  /** Least ms between two lists. */
  readonly minInterval?: number;
  /** ms before the next list after the n-th failure in a row, n from 1. */
  readonly errorHoldOff?: (failuresInARow: number) => number;
  readonly scheduler?: SchedulerLike;
  /** Called for each look-up: true when a list that was there already answered it. */
  readonly onLookup?: (hit: boolean) => void;
}

export interface SharedListOptions<T, L> extends SharedListTiming {
  readonly fetch: (o: CallOptions) => Promise<readonly T[]>;
  /** The form in which a list is handed out; made once for each. `requestedAt` is in monotonic ms. */
  readonly build: (items: readonly T[], requestedAt: number) => L;
}

/** All entities of a kind, read by one shared request for all who need them (design rules 3 and 4). */
export interface SharedList<L> {
  /**
   * A list requested at or after `instant` (monotonic ms). Rejects with the error of the request it waited for, or with
   * the signal's reason; that leaves the request to the others who wait, and ends it when there are none.
   */
  notBefore(instant: number, o: CallOptions): Promise<L>;
  latest(): L | undefined;
  /** Each answered list, the newest at once. */
  readonly changes$: Observable<L>;
}

export const createSharedList = <T, L>(options: SharedListOptions<T, L>): SharedList<L> => {
  const { fetch, build, clock, minInterval, scheduler, onLookup } = options;
  const backoff = exponentialBackoff({ initial: 1_000, max: 30_000, jitter: 'equal' });
  /** How many wait with each priority. */
  const waiting = new Map<Priority, number>();
  const urgency$ = new BehaviorSubject<Priority>('refresh');
  const count = (priority: Priority, change: 1 | -1): void => {
    waiting.set(priority, (waiting.get(priority) ?? 0) + change);
    const mostUrgent = priorities.find(one => (waiting.get(one) ?? 0) > 0) ?? 'refresh';
    if (mostUrgent !== urgency$.value) urgency$.next(mostUrgent);
  };

  const source = snapshotSource<readonly T[]>({
    // A node that joins must not wait for quota with a refresh that others began.
    fetch: () => fromAbortable(signal => fetch({ priority: urgency$.value, raised$: urgency$, signal })),
    clock,
    errorHoldOff: options.errorHoldOff ?? (failures => backoff(failures - 1)),
    ...(minInterval === undefined ? {} : { minInterval }),
    ...(scheduler === undefined ? {} : { scheduler }),
  });

  const lists = new WeakMap<Snapshot<readonly T[]>, { readonly list: L }>();
  const listOf = (snapshot: Snapshot<readonly T[]>): L => {
    const known = lists.get(snapshot);
    if (known !== undefined) return known.list;
    const list = build(snapshot.value, snapshot.requestedAt);
    lists.set(snapshot, { list });
    return list;
  };

  return {
    notBefore: async (instant, { priority, signal }) => {
      const newest = source.latest();
      onLookup?.(newest !== undefined && newest.requestedAt >= instant);
      count(priority, 1);
      try {
        return listOf(await firstValue(source.notBefore(instant), signal));
      } finally {
        count(priority, -1);
      }
    },
    latest: () => {
      const newest = source.latest();
      return newest && listOf(newest);
    },
    changes$: source.changes$.pipe(map(listOf)),
  };
};

/** Which events are the same one again, and which are too many (the rules and figures of client-go's correlator). */

export interface EventTarget {
  readonly kind: string;
  readonly apiVersion: string;
  readonly name: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly uid: string;
}

export type EventType = 'Normal' | 'Warning';

/** One Event object at the API server and what has happened to it. */
export interface EventSeries {
  readonly target: EventTarget;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  /** ms since the epoch. */
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** Name of the Event object once it exists. */
  objectName: string | undefined;
  /** clock.monotonic() of the latest one. */
  seenAt: number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** ms. The same event after a longer silence is a new one. */
const sameWithin = 10 * 60_000;
const burst = 25;
/** ms for one more event about a target. */
const refill = 5 * 60_000;
const capacity = 1024;

/** Sets `key` as the latest one; forgets the oldest, those that matter no more and those beyond the capacity. */
const remember = <V>(map: Map<string, V>, key: string, value: V, isOver: (value: V) => boolean): void => {
  map.delete(key);
  map.set(key, value);
  for (const [old, candidate] of map) {
    if (map.size <= capacity && !isOver(candidate)) return;
    map.delete(old);
  }
};

/**
 * Counts an event. Returns its series, the one of before when target, type, reason and message are the same within 10 minutes,
 * or undefined when there are too many about this target (25 at once, then one in 5 minutes).
 */
export const createEventCorrelator = (): ((
  event: Pick<EventSeries, 'target' | 'type' | 'reason' | 'message'>,
  at: { readonly wall: number; readonly monotonic: number },
) => EventSeries | undefined) => {
  const known = new Map<string, EventSeries>();
  const buckets = new Map<string, Bucket>();

  const allowed = (target: EventTarget, now: number): boolean => {
    const key = JSON.stringify([target.kind, target.namespace, target.name, target.uid]);
    const before = buckets.get(key) ?? { tokens: burst, filledAt: now };
    const tokens = Math.min(burst, before.tokens + (now - before.filledAt) / refill);
    const ok = tokens >= 1;
    // One that is full again is as good as none.
    const isFull = (bucket: Bucket): boolean => bucket.tokens + (now - bucket.filledAt) / refill >= burst;
    remember(buckets, key, { tokens: ok ? tokens - 1 : tokens, filledAt: now }, isFull);
    return ok;
  };

  return (event, at) => {
    const { target, type, reason, message } = event;
    if (!allowed(target, at.monotonic)) return undefined;
    const key = JSON.stringify([target.kind, target.namespace, target.name, target.uid, type, reason, message]);
    const before = known.get(key);
    const goesOn = before !== undefined && at.monotonic - before.seenAt <= sameWithin;
    const series = goesOn
      ? before
      : { ...event, firstAt: at.wall, lastAt: at.wall, count: 0, objectName: undefined, seenAt: at.monotonic };
    series.count += 1;
    series.lastAt = at.wall;
    series.seenAt = at.monotonic;
    remember(known, key, series, ({ seenAt }) => at.monotonic - seenAt > sameWithin);
    return series;
  };
};

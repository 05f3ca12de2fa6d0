import type { RateLimit } from './http.ts';

/**
 * Mirror of Hetzner's token bucket: `limit` requests an hour, refilled continuously (1 a second at 3600), bursts allowed.
 * Refill is computed when somebody looks, so an idle process has no timer. Times are monotonic ms.
 */
export interface Bucket {
  limit(): number;
  /** Requests that may be sent right now; a fraction while it refills. */
  tokens(now: number): number;
  take(now: number): void;
  /** Gives back what was taken for a request that was not sent. */
  refund(now: number): void;
  /**
   * Corrects the mirror by the headers of an answer. `others` is how many requests are under way besides the answered
   * one: Hetzner may or may not have counted them yet. Lower is believed at once (others use the quota too), higher only
   * when the difference is more than answers that overtake each other can explain.
   */
  observe(now: number, headers: Pick<RateLimit, 'limit' | 'remaining'>, others: number): void;
  /** Hetzner refused a request: nothing is left. */
  drain(now: number): void;
  /** ms until a request may be sent that leaves `floor` tokens behind. */
  waitFor(now: number, floor: number): number;
}

/** `slack` is the largest number of answers that can overtake each other: the concurrency. */
export const createBucket = (initialLimit: number, slack: number, startedAt: number): Bucket => {
  let limit = initialLimit;
  let level = initialLimit;
  let updatedAt = startedAt;
  const perMs = (): number => limit / 3_600_000;

  const refill = (now: number): number => {
    level = Math.min(limit, level + Math.max(0, now - updatedAt) * perMs());
    updatedAt = Math.max(updatedAt, now);
    return level;
  };
  const add = (now: number, delta: number): void => {
    level = Math.min(limit, refill(now) + delta);
  };

  return {
    limit: () => limit,
    tokens: refill,
    take: now => add(now, -1),
    refund: now => add(now, 1),
    observe: (now, headers, others) => {
      refill(now);
      if (headers.limit !== undefined && headers.limit > 0 && headers.limit !== limit) {
        // Another size of bucket, such as 7200: what was used so far stays used.
        level = Math.max(0, level + headers.limit - limit);
        limit = headers.limit;
      }
      if (headers.remaining === undefined) return;
      const left = Math.min(limit, Math.max(0, headers.remaining - others));
      if (left < level || left > level + slack) level = left;
    },
    drain: now => add(now, -Math.max(0, refill(now))),
    waitFor: (now, floor) => {
      const missing = floor + 1 - refill(now);
      return missing <= 1e-9 ? 0 : Math.ceil(missing / perMs());
    },
  };
};

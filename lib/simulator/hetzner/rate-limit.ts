/**
 * The request quota of a project: a bucket of `limit` tokens that fills at `limit` an hour.
 * Headers as seen live: `RateLimit-Reset` is when the bucket is full again, not when one request is allowed.
 */
export interface RateLimit {
  /** Takes one token; false when there is none. */
  take(at: number): boolean;
  headers(at: number): Record<string, string>;
  readonly limit: number;
  set(at: number, to: { remaining?: number; limit?: number }): void;
  /** Others of the project take `tokens` now (all by default) and all that is refilled in the next `forMs`. */
  drain(at: number, others?: { tokens?: number; forMs?: number }): void;
}

export function createRateLimit(initialLimit: number, start: number): RateLimit {
  let limit = initialLimit;
  let tokens = limit;
  let filledTo = start;

  const refill = (at: number): void => {
    if (at <= filledTo) return;
    tokens = Math.min(limit, tokens + ((at - filledTo) / 3_600_000) * limit);
    filledTo = at;
  };

  return {
    get limit() {
      return limit;
    },
    take(at) {
      refill(at);
      // Refills are sums of fractions: a token that is all but whole counts.
      if (tokens < 1 - 1e-9) return false;
      tokens = Math.max(0, tokens - 1);
      return true;
    },
    headers(at) {
      refill(at);
      const remaining = Math.floor(tokens + 1e-9);
      return {
        'RateLimit-Limit': String(limit),
        'RateLimit-Remaining': String(remaining),
        'RateLimit-Reset': String(Math.ceil(at / 1000 + ((limit - remaining) * 3600) / limit)),
      };
    },
    set(at, to) {
      refill(at);
      limit = to.limit ?? limit;
      tokens = Math.min(limit, to.remaining ?? tokens);
    },
    drain(at, others = {}) {
      refill(at);
      tokens = Math.max(0, tokens - (others.tokens ?? tokens));
      filledTo = at + (others.forMs ?? 0);
    },
  };
}

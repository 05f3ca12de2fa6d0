/** How much of a delay is random: all of it, its upper half, or nothing. */
export type Jitter = 'full' | 'equal' | 'none';

export interface BackoffOptions {
  /** ms after the first failure. */
  readonly initial: number;
  /** Most ms. */
  readonly max: number;
  /** Default 2. */
  readonly factor?: number;
  readonly jitter: Jitter;
  /** From 0 to below 1. */
  readonly random?: () => number;
}

/** Whole ms to wait before the next try; `attempt` counts the failures before the last one, from 0. */
export function exponentialBackoff(options: BackoffOptions): (attempt: number) => number {
  const { initial, max, factor = 2, jitter, random = Math.random } = options;
  if (!(initial > 0 && initial <= max))
    throw new RangeError(`Backoff: initial is ${initial}, must be above 0 and at most max (${max})`);
  if (!(factor >= 1)) throw new RangeError(`Backoff: factor is ${factor}, must be at least 1`);
  const fixed = { full: 0, equal: 0.5, none: 1 }[jitter];
  return attempt => {
    // The power may be Infinity, which `min` turns into `max`.
    const ceiling = Math.min(max, initial * factor ** Math.max(0, attempt));
    return Math.floor(ceiling * (fixed + (1 - fixed) * random()));
  };
}

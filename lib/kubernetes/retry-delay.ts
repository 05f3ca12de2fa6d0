import { isUnreachable, KubeError } from './errors.ts';

export interface RetryRule {
  /** ms. No two attempts are closer than this. */
  readonly floor: number;
  /** ms. Width of the random part after the first failure; doubles with each. */
  readonly base: number;
  /** ms. Longest delay. */
  readonly max: number;
  /** ms. Longest delay while nothing answers at all: a refused connection costs no one anything, and being back early is worth it. */
  readonly maxUnreachable: number;
}

/** client-go's reflector waits 800 ms to 30 s. */
export const defaultRetryRule: RetryRule = { floor: 1000, base: 800, max: 30_000, maxUnreachable: 8000 };

/** A server that asks for more than this is not believed. */
const maxRetryAfter = 5 * 60_000;

/**
 * ms until the next attempt after `attempt` failures before this one (0 = the first): a floor plus full jitter over a
 * window that doubles, and no less than the server asked for.
 */
export const retryDelay = (rule: RetryRule, attempt: number, err: unknown, random: () => number): number => {
  const max = isUnreachable(err) ? Math.min(rule.max, rule.maxUnreachable) : rule.max;
  const window = Math.min(max, rule.base * 2 ** Math.min(attempt, 30));
  const delay = Math.min(max, rule.floor + random() * window);
  const asked = err instanceof KubeError ? Math.min(err.retryAfter ?? 0, maxRetryAfter) : 0;
  return Math.round(Math.max(rule.floor, delay, asked));
};

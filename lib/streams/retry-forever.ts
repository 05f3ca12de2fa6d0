import { asyncScheduler, defer, type MonoTypeOperatorFunction, retry, type SchedulerLike } from 'rxjs';
import { longTimer } from './timers.ts';

export interface RetryForeverOptions {
  /** ms to wait; `attempt` counts the failures in a row before the last one, from 0. */
  readonly backoff: (attempt: number) => number;
  /** A stream that has lived this many ms before its error starts again at attempt 0. kube-rs takes 120,000. */
  readonly resetAfter: number;
  readonly onError?: (err: unknown, next: { readonly attempt: number; readonly after: number }) => void;
  readonly scheduler?: SchedulerLike;
}

/**
 * Subscribes again after each error, with backoff; completes when the source does. Values do not reset the backoff, only time
 * does: a watch that connects, says one thing and breaks would otherwise hammer the server.
 */
export function retryForever<T>(options: RetryForeverOptions): MonoTypeOperatorFunction<T> {
  const { backoff, resetAfter, onError, scheduler = asyncScheduler } = options;
  return source =>
    defer(() => {
      let attempt = 0;
      let subscribedAt = 0;
      const attemptSource = defer(() => {
        subscribedAt = scheduler.now();
        return source;
      });
      const waitForNext = (err: unknown) => {
        if (scheduler.now() - subscribedAt >= resetAfter) attempt = 0;
        const after = backoff(attempt);
        onError?.(err, { attempt, after });
        attempt += 1;
        return longTimer(after, scheduler);
      };
      return attemptSource.pipe(retry({ delay: waitForNext }));
    });
}

import { asyncScheduler, debounce, defer, type MonoTypeOperatorFunction, type SchedulerLike, tap, timer } from 'rxjs';
import { steadyClock } from './steady-clock.ts';

/**
 * Emits the newest value once the source has been quiet for `quiet` ms, but no later than `max` ms after the first value
 * that waits: a source that never pauses is heard too. What waits is emitted when the source completes.
 */
export function debounceMax<T>(
  quiet: number,
  max: number,
  scheduler: SchedulerLike = asyncScheduler,
): MonoTypeOperatorFunction<T> {
  return source =>
    defer(() => {
      const clock = steadyClock(scheduler);
      let deadline: number | undefined;
      const quietOrDeadline = () => {
        const now = clock.now();
        deadline ??= now + max;
        return timer(Math.max(0, Math.min(quiet, deadline - now)), scheduler);
      };
      const forgetDeadline = () => {
        deadline = undefined;
      };
      return source.pipe(debounce(quietOrDeadline), tap(forgetDeadline));
    });
}

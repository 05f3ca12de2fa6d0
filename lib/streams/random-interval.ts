import { asyncScheduler, defer, map, type Observable, repeat, type SchedulerLike } from 'rxjs';
import { longTimer } from './timers.ts';

/**
 * Emits 0, 1, 2, … for ever, each after a fresh random delay between `min` and `max` ms, so that the periodic work of many
 * clusters does not fall together.
 */
export function randomInterval(
  min: number,
  max: number,
  random: () => number = Math.random,
  scheduler: SchedulerLike = asyncScheduler,
): Observable<number> {
  if (!(min > 0 && min <= max))
    throw new RangeError(`Random interval: min is ${min}, must be above 0 and at most max (${max})`);
  return defer(() => longTimer(min + (max - min) * random(), scheduler)).pipe(
    repeat(),
    map((_, index) => index),
  );
}

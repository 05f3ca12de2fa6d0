import { defer, map, type OperatorFunction, type SchedulerLike, tap } from 'rxjs';
import { debounceMax } from './debounce-max.ts';

/** Like `debounceMax`, but emits all values that came in since the last emission, in order and never none. */
export function bufferDebounce<T>(quiet: number, max: number, scheduler?: SchedulerLike): OperatorFunction<T, T[]> {
  return source =>
    defer(() => {
      const waiting: T[] = [];
      return source.pipe(
        tap(value => waiting.push(value)),
        debounceMax(quiet, max, scheduler),
        map(() => waiting.splice(0)),
      );
    });
}

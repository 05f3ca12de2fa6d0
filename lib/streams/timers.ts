import { asyncScheduler, concatMap, type Observable, type SchedulerLike, timer } from 'rxjs';

/** Longest delay a timer of Node (and so of RxJS) can hold, in ms. A longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls `f` once after `ms`, however long that is. Returns the function that cancels it. */
export function afterMs(ms: number, f: () => void): () => void {
  let remaining = ms;
  let handle: NodeJS.Timeout;
  const next = () => {
    if (remaining <= MAX_TIMER_MS) {
      handle = setTimeout(f, remaining);
      return;
    }
    remaining -= MAX_TIMER_MS;
    handle = setTimeout(next, MAX_TIMER_MS);
  };
  next();
  return () => clearTimeout(handle);
}

/** RxJS's `timer` for a single emission, without its upper bound: emits 0 after `ms` and completes. */
export function longTimer(ms: number, scheduler: SchedulerLike = asyncScheduler): Observable<0> {
  if (ms <= MAX_TIMER_MS) return timer(ms, scheduler);
  return timer(MAX_TIMER_MS, scheduler).pipe(concatMap(() => longTimer(ms - MAX_TIMER_MS, scheduler)));
}

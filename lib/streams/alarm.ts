import type { SchedulerLike, Subscription } from 'rxjs';
import type { SteadyClock } from './steady-clock.ts';
import { MAX_TIMER_MS } from './timers.ts';

/** One timer for the earliest of many instants. It may ring too early, never too late: look again, then set it again. */
export interface Alarm {
  /** Ring at `instant` of the clock or before; `undefined` leaves no timer behind. */
  set(instant: number | undefined): void;
}

/** `ring` is called from a timer, never from within `set`. */
export function alarm(scheduler: SchedulerLike, clock: SteadyClock, ring: () => void): Alarm {
  let timer: Subscription | undefined;
  let armedFor = 0;
  const cancel = () => {
    timer?.unsubscribe();
    timer = undefined;
  };
  return {
    set(instant) {
      if (instant === undefined) return cancel();
      // A later instant keeps the earlier timer: one spare wake-up is cheaper than a new timer for each event.
      if (timer !== undefined && armedFor <= instant) return;
      cancel();
      const now = clock.now();
      armedFor = Math.min(instant, now + MAX_TIMER_MS);
      const fired = () => {
        timer = undefined;
        clock.reach(armedFor);
        ring();
      };
      timer = scheduler.schedule(fired, Math.max(0, armedFor - now));
    },
  };
}

import type { TimestampProvider } from 'rxjs';

/** A scheduler's clock that never goes back, in ms. */
export interface SteadyClock {
  now(): number;
  /** Moves the clock forward to `instant` when a timer proves that it has passed. */
  reach(instant: number): void;
}

/**
 * RxJS schedulers read the wall clock, which may be set back (NTP, a resumed virtual machine), and Node's timers may fire a
 * millisecond early. Without this, a key due in one second would wait for an hour after the clock was set back by one.
 * The price of a clock set forward is only that delays end early.
 */
export function steadyClock(source: TimestampProvider): SteadyClock {
  let offset = 0;
  let last = source.now();
  const now = () => {
    const instant = source.now() + offset;
    if (instant < last) offset += last - instant;
    else last = instant;
    return last;
  };
  return {
    now,
    reach(instant) {
      last = Math.max(now(), instant);
    },
  };
}

/** The two clocks of the process, injected so that specs can run in virtual time. */
export interface Clock {
  /** Wall clock in ms since the epoch. Only for what leaves the process (logs, leases, events): it may jump. */
  now(): number;
  /** ms on a clock that never goes back. For ages, deadlines and freshness. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

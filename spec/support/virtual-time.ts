import type { TestContext } from 'node:test';
import { binaryHeap, type HeapItem } from '../../lib/streams/binary-heap.ts';
import type { Clock } from '../../lib/streams/clock.ts';

/** Time of one spec that passes only when it is told to: timers fire one by one, and after each one all promises go as far as they can. */
export interface VirtualTime {
  /** ms since the epoch, whatever was done to the wall clock. */
  now(): number;
  /** For what is under test. */
  readonly clock: Clock;
  /** Lets `ms` pass. Costs as much as the timers that fire in it, not as its length. */
  advance(ms: number): Promise<void>;
  /** Goes from timer to timer until `done` holds; returns how many ms that took. @throws after `most` ms, naming `what` */
  until(what: string, done: () => boolean, most?: number): Promise<number>;
  /** Lets time pass until the promise is settled. @throws what it throws, and after `most` ms */
  settled<T>(promise: Promise<T>, most?: number): Promise<T>;
  /** Sets the wall clock forward or back (NTP, a resumed machine); timers and the monotonic clock do not notice. */
  setWallClock(byMs: number): void;
  /** How many timers wait. */
  timers(): number;
}

interface Timer extends HeapItem {
  at: number;
  readonly order: number;
  readonly every: number | undefined;
  readonly run: () => void;
  alive: boolean;
}

const MAX_DELAY = 2 ** 31 - 1;
const HOUR = 3_600_000;

/** As Node.js does: no delay, one below 1 or one too long is 1 ms. */
const delayOf = (ms: unknown): number => {
  const delay = Number(ms);
  return delay >= 1 && delay <= MAX_DELAY ? Math.trunc(delay) : 1;
};

/** The part of a spec that virtual time needs; a program without specs has `mock` of `node:test`. */
export type VirtualTimeContext = Pick<TestContext, 'mock'> & { after(end: () => unknown): void };

/**
 * Replaces Date and the timers for the rest of the spec.
 *
 * @param place decides among timers of one instant, the lowest first; without it they fire in the order they were set
 */
export const useVirtualTime = (
  t: VirtualTimeContext,
  start = Date.UTC(2026, 10, 1),
  place?: () => number,
): VirtualTime => {
  const real = { setTimeout, setInterval, clearTimeout, clearInterval, setImmediate };
  const queue = binaryHeap<Timer>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  let [now, wallOffset, order] = [start, 0, 0];

  t.mock.timers.enable({ apis: ['Date'], now });
  const moveTo = (instant: number): void => {
    now = Math.max(now, instant);
    t.mock.timers.setTime(now + wallOffset);
  };

  const nextOrder = (): number => place?.() ?? ++order;
  const handles = new WeakMap<object, Timer>();
  const schedule = (run: () => void, ms: unknown, repeats: boolean): object => {
    const delay = delayOf(ms);
    const timer: Timer = {
      at: now + delay,
      order: nextOrder(),
      every: repeats ? delay : undefined,
      run,
      alive: true,
      index: 0,
    };
    queue.push(timer);
    const handle = { ref: () => handle, unref: () => handle, hasRef: () => true };
    handles.set(handle, timer);
    return handle;
  };
  /** False for a timer from before, which is a real one. */
  const cancel = (handle: object): boolean => {
    const timer = handles.get(handle);
    if (timer?.alive === true) queue.remove(timer);
    if (timer !== undefined) timer.alive = false;
    return timer !== undefined;
  };
  Object.assign(globalThis, {
    setTimeout: (run: (...args: unknown[]) => void, ms?: unknown, ...args: unknown[]) =>
      schedule(() => run(...args), ms, false),
    setInterval: (run: (...args: unknown[]) => void, ms?: unknown, ...args: unknown[]) =>
      schedule(() => run(...args), ms, true),
    clearTimeout: (handle: NodeJS.Timeout) => void (cancel(Object(handle)) || real.clearTimeout(handle)),
    clearInterval: (handle: NodeJS.Timeout) => void (cancel(Object(handle)) || real.clearInterval(handle)),
  });
  t.after(() => Object.assign(globalThis, real));

  /** Promises and ticks all run before an immediate; streams that are torn down use one immediate themselves. */
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 2; turn++) await new Promise<void>(resolve => real.setImmediate(resolve));
  };

  const fire = (timer: Timer): void => {
    queue.pop();
    moveTo(timer.at);
    if (timer.every === undefined) timer.alive = false;
    else queue.push(Object.assign(timer, { at: timer.at + timer.every, order: nextOrder() }));
    timer.run();
  };

  const runUntil = async (deadline: number, done: () => boolean): Promise<boolean> => {
    await settle();
    while (!done()) {
      const timer = queue.peek();
      if (timer === undefined || timer.at > deadline) {
        moveTo(deadline);
        await settle();
        return done();
      }
      fire(timer);
      await settle();
    }
    return true;
  };

  const until: VirtualTime['until'] = async (what, done, most = HOUR) => {
    const from = now;
    if (await runUntil(from + most, done)) return now - from;
    throw new Error(`${what}: not within ${most} virtual ms`);
  };

  return {
    now: () => now,
    clock: { now: () => Date.now(), monotonic: () => now - start },
    advance: async ms => void (await runUntil(now + ms, () => false)),
    until,
    settled: async (promise, most) => {
      let open = true;
      const close = (): void => {
        open = false;
      };
      promise.then(close, close);
      await until('the promise is settled', () => !open, most);
      return promise;
    },
    timers: () => queue.size,
    setWallClock: byMs => {
      wallOffset += byMs;
      moveTo(now);
    },
  };
};

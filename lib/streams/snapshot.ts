import {
  asyncScheduler,
  defer,
  Observable,
  ReplaySubject,
  type SchedulerLike,
  type Subscriber,
  Subscription,
} from 'rxjs';
import type { Clock } from './clock.ts';
import { MAX_TIMER_MS } from './timers.ts';

/** An external read, with the instant it speaks for at the earliest. */
export interface Snapshot<T> {
  readonly value: T;
  /** `clock.monotonic()` at which its request was sent. */
  readonly requestedAt: number;
}

/** A shared external read whose readers say how fresh it must be (design rule 3). */
export interface SnapshotSource<T> {
  /**
   * One snapshot that was requested at or after `instant` (of `clock.monotonic()`), then completes; at once if there is one.
   * Errors with the error of the fetch it waited for. When the last waiter of a fetch unsubscribes, the fetch is aborted.
   */
  notBefore(instant: number): Observable<Snapshot<T>>;
  /** The newest one so far. */
  latest(): Snapshot<T> | undefined;
  /** Each new snapshot, the newest first of all. Fetches nothing by itself. */
  readonly changes$: Observable<Snapshot<T>>;
}

export interface SnapshotOptions<T> {
  /** Its last value counts, once it has completed: a half-read answer is thrown away whole. Unsubscribing aborts it. */
  readonly fetch: () => Observable<T>;
  readonly clock: Clock;
  /** ms after a failed fetch before the next is sent; waiters wait. `failuresInARow` is at least 1. */
  readonly errorHoldOff: (failuresInARow: number) => number;
  /** Least ms between the sending of two fetches. Default 0. */
  readonly minInterval?: number;
  readonly scheduler?: SchedulerLike;
  /** Called when a fetch has ended; not when it was aborted. */
  readonly onFetch?: (result: { readonly ok: boolean; readonly durationMs: number }) => void;
}

interface Flight<T> {
  readonly requestedAt: number;
  readonly waiters: Set<Subscriber<Snapshot<T>>>;
  readonly subscription: Subscription;
}

/**
 * Single flight: at most one fetch at a time. Who needs a newer answer than the one in flight waits for the next fetch, which
 * is shared by all such waiters. Errors reach the waiters of their fetch only and never replace the last good snapshot.
 * No timer and no request is left when nobody waits.
 */
export function snapshotSource<T>(options: SnapshotOptions<T>): SnapshotSource<T> {
  const { fetch, clock, errorHoldOff, minInterval = 0, scheduler = asyncScheduler, onFetch } = options;
  const changes = new ReplaySubject<Snapshot<T>>(1);
  /** Those whom no fetch in flight can serve, with their instants. */
  const waiting = new Map<Subscriber<Snapshot<T>>, number>();
  let latest: Snapshot<T> | undefined;
  let flight: Flight<T> | undefined;
  let failures = 0;
  /** No fetch is sent before. */
  let sendableAt = Number.NEGATIVE_INFINITY;
  let timer: Subscription | undefined;
  let timerAt = Number.POSITIVE_INFINITY;

  const cancelTimer = () => {
    timer?.unsubscribe();
    timer = undefined;
    timerAt = Number.POSITIVE_INFINITY;
  };

  /** Sends a fetch now, or sets the timer, if anyone who waits could be served by a fetch sent at `at`. */
  const sendAt = (at: number) => {
    const now = clock.monotonic();
    if (at <= now) return send(now);
    if (timerAt <= at) return;
    cancelTimer();
    timerAt = at;
    // Rounded up: a timer that fires a fraction too early would only be set again.
    timer = scheduler.schedule(sendWhenDue, Math.min(Math.ceil(at - now), MAX_TIMER_MS));
  };

  const sendWhenDue = () => {
    cancelTimer();
    if (flight !== undefined || waiting.size === 0) return;
    let earliest = Number.POSITIVE_INFINITY;
    for (const instant of waiting.values()) earliest = Math.min(earliest, instant);
    sendAt(Math.max(earliest, sendableAt));
  };

  const send = (requestedAt: number) => {
    cancelTimer();
    const current: Flight<T> = { requestedAt, waiters: new Set(), subscription: new Subscription() };
    for (const [waiter, instant] of waiting) {
      if (instant > requestedAt) continue;
      waiting.delete(waiter);
      current.waiters.add(waiter);
    }
    flight = current;
    sendableAt = requestedAt + minInterval;
    let answer: { readonly value: T } | undefined;
    current.subscription.add(
      defer(fetch).subscribe({
        next: value => {
          answer = { value };
        },
        error: err => fail(current, err),
        complete: () => {
          if (answer === undefined) fail(current, new Error('Fetch of a snapshot completed without a value'));
          else succeed(current, answer.value);
        },
      }),
    );
  };

  const land = (current: Flight<T>, ok: boolean) => {
    flight = undefined;
    onFetch?.({ ok, durationMs: clock.monotonic() - current.requestedAt });
  };

  const succeed = (current: Flight<T>, value: T) => {
    const snapshot = { value, requestedAt: current.requestedAt };
    failures = 0;
    latest = snapshot;
    land(current, true);
    // Views that are derived from the changes are up to date before a waiter goes on.
    changes.next(snapshot);
    for (const waiter of current.waiters) {
      waiter.next(snapshot);
      waiter.complete();
    }
    sendWhenDue();
  };

  const fail = (current: Flight<T>, err: unknown) => {
    failures += 1;
    sendableAt = Math.max(sendableAt, clock.monotonic() + errorHoldOff(failures));
    land(current, false);
    for (const waiter of current.waiters) waiter.error(err);
    sendWhenDue();
  };

  const leave = (waiter: Subscriber<Snapshot<T>>) => {
    waiting.delete(waiter);
    if (flight?.waiters.delete(waiter) && flight.waiters.size === 0) {
      const { subscription } = flight;
      flight = undefined;
      subscription.unsubscribe();
      sendWhenDue();
    }
    if (waiting.size === 0) cancelTimer();
  };

  return {
    latest: () => latest,
    changes$: changes.asObservable(),
    notBefore: instant =>
      new Observable(waiter => {
        if (latest !== undefined && latest.requestedAt >= instant) {
          waiter.next(latest);
          waiter.complete();
          return;
        }
        waiter.add(() => leave(waiter));
        if (flight !== undefined && flight.requestedAt >= instant) {
          flight.waiters.add(waiter);
          return;
        }
        waiting.set(waiter, instant);
        if (flight === undefined) sendAt(Math.max(instant, sendableAt));
      }),
  };
}

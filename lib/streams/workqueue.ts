import { asyncScheduler, Observable, type OperatorFunction, type SchedulerLike, Subscription, takeWhile } from 'rxjs';
import { alarm } from './alarm.ts';
import { type Entry, keyedBacklog, type Retry } from './keyed-backlog.ts';
import type { Outcome } from './outcome.ts';
import { startRun } from './start-run.ts';
import { steadyClock } from './steady-clock.ts';

/** A key that should be looked at. */
export interface Trigger {
  readonly key: string;
  /** Why; for logs only. */
  readonly reason: string;
  /** Higher first, default 0. */
  readonly priority?: number;
  /** ms from now before it may run; default 0; the earliest wins. */
  readonly after?: number;
}

/** What a run is told. */
export interface RunContext {
  readonly key: string;
  readonly reason: string;
  /** Failures in a row before this run. */
  readonly attempt: number;
}

/** A run that is over. */
export interface Run extends RunContext {
  readonly outcome: Outcome;
  /** ms it was ready before it was started. */
  readonly waited: number;
  /** ms */
  readonly duration: number;
  /** ms until the key runs again by itself; undefined when it waits for a trigger. */
  readonly retryIn: number | undefined;
}

/** How many keys are in which state. */
export interface WorkqueueStats {
  readonly ready: number;
  readonly delayed: number;
  readonly running: number;
}

export interface WorkqueueOptions {
  /** Most runs at a time, at least 1. */
  readonly concurrency: number;
  /** ms to wait after a failure; `attempt` counts the failures in a row before that one, from 0. */
  readonly backoff: (attempt: number) => number;
  /** true: accept and dedupe, but start nothing; also until its first value. Without it, never held. */
  readonly hold$?: Observable<boolean>;
  /** A ready key gains one priority level per this many ms, so that no priority can starve another. Default 10,000. */
  readonly ageing?: number;
  readonly scheduler?: SchedulerLike;
  /** Called after each change of the numbers, and with zeros at the end. */
  readonly onStats?: (stats: WorkqueueStats) => void;
}

/**
 * The keyed work queue: triggers in, finished runs out.
 *
 * - One key never runs twice at once. Triggers during its run cause exactly one more.
 * - Waiting duplicates collapse: the highest priority, the earliest run time and the first reason win.
 * - Higher priorities go first, equal ones in order of arrival; who waits gains priority (see `ageing`).
 * - `done` and `rejected` forget the key and its attempts. `again` looks again later (reason "requeued"), attempts at 0.
 *   `failed` runs again after its own delay or by `backoff`, with the same reason and one attempt more.
 * - A trigger for a key in backoff runs it at once but keeps the attempts: something has changed, so trying is worth it.
 * - A run is an Observable whose first value is the outcome; unsubscribing aborts it. A run that throws or errors has failed.
 * - When the triggers complete, what is ready or running is finished, delayed keys are dropped, then the result completes.
 *   An error of the triggers or of `hold$` cancels all runs.
 *
 * Nothing is kept of a key that is done.
 */
export function workqueue(
  run: (ctx: RunContext) => Observable<Outcome>,
  options: WorkqueueOptions,
): OperatorFunction<Trigger, Run> {
  const { concurrency, backoff, hold$, ageing = 10_000, scheduler = asyncScheduler, onStats } = options;
  if (!(concurrency >= 1)) throw new RangeError(`Work queue: concurrency is ${concurrency}, must be at least 1`);

  return trigger$ =>
    new Observable<Run>(subscriber => {
      const clock = steadyClock(scheduler);
      const backlog = keyedBacklog(ageing);
      const running = new Map<Entry, Subscription>();
      const report = reportChanges(onStats);
      let held = hold$ !== undefined;
      let completed = false;
      let closed = false;
      /** Set while runs are started or results handed out: whoever comes back in then leaves the work to the outer call. */
      let busy = false;

      const retryAlarm = alarm(scheduler, clock, () => {
        backlog.promote(clock.now());
        startReady();
      });

      const stop = () => {
        if (closed) return;
        closed = true;
        retryAlarm.set(undefined);
        report(0, 0, 0);
        const all = new Subscription();
        for (const subscription of running.values()) all.add(subscription);
        running.clear();
        all.unsubscribe();
      };

      const fail = (err: unknown) => {
        stop();
        subscriber.error(err);
      };

      const startReady = () => {
        if (busy || closed) return;
        busy = true;
        while (!closed && !held && backlog.running < concurrency) {
          const entry = backlog.take();
          if (entry === undefined) break;
          start(entry);
        }
        busy = false;
        if (closed) return;
        retryAlarm.set(backlog.nextDue());
        report(backlog.ready, backlog.delayed, backlog.running);
        if (completed && backlog.ready === 0 && backlog.running === 0) subscriber.complete();
      };

      const start = (entry: Entry) => {
        const { key, reason, attempt, priority } = entry;
        const startedAt = clock.now();
        const waited = startedAt - entry.runAt;
        const subscription = startRun(run, { key, reason, attempt }, outcome => {
          if (closed) return;
          running.delete(entry);
          const now = clock.now();
          let retry: Retry | undefined;
          try {
            retry = retryOf(outcome, { reason, priority }, () => backoff(attempt));
            backlog.release(entry, outcome.kind === 'failed' ? attempt + 1 : 0, retry, now);
          } catch (err) {
            return fail(err);
          }
          emit({ key, reason, attempt, outcome, waited, duration: now - startedAt, retryIn: retry?.after });
        });
        if (closed) subscription.unsubscribe();
        else if (!subscription.closed) running.set(entry, subscription);
      };

      const emit = (result: Run) => {
        const outer = busy;
        busy = true;
        subscriber.next(result);
        busy = outer;
        startReady();
      };

      subscriber.add(stop);
      if (hold$ !== undefined) {
        const setHeld = (value: boolean) => {
          held = value;
          startReady();
        };
        subscriber.add(hold$.subscribe({ next: setHeld, error: fail }));
        if (closed) return;
      }
      // takeWhile ends a synchronous source too, when the consumer leaves in the middle of it.
      const upstream = trigger$.pipe(takeWhile(() => !closed)).subscribe({
        next: trigger => {
          backlog.add(trigger, clock.now());
          startReady();
        },
        error: fail,
        complete: () => {
          completed = true;
          startReady();
        },
      });
      subscriber.add(upstream);
    });
}

/** When to run again after `outcome`, if at all. */
function retryOf(outcome: Outcome, base: Omit<Retry, 'after'>, backoff: () => number): Retry | undefined {
  if (outcome.kind === 'again') return { ...base, reason: 'requeued', after: outcome.after };
  if (outcome.kind === 'failed') return { ...base, after: outcome.after ?? backoff() };
  return undefined;
}

/** Calls the hook only when a number differs from the last call. */
function reportChanges(
  onStats: WorkqueueOptions['onStats'],
): (ready: number, delayed: number, running: number) => void {
  let last: WorkqueueStats = { ready: 0, delayed: 0, running: 0 };
  return (ready, delayed, running) => {
    if (ready === last.ready && delayed === last.delayed && running === last.running) return;
    last = { ready, delayed, running };
    onStats?.(last);
  };
}

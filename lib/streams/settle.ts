import { asyncScheduler, catchError, type Observable, of, type SchedulerLike, timeout } from 'rxjs';
import { fromAbortable } from './from-abortable.ts';
import { failed, type Outcome } from './outcome.ts';
import { MAX_TIMER_MS } from './timers.ts';
import type { RunContext } from './workqueue.ts';

export interface SettleOptions {
  /** Most ms for a run; then its signal fires and it has failed. Default: no limit. */
  readonly timeout?: number;
  readonly scheduler?: SchedulerLike;
}

/** Makes a run for the work queue out of an async function, so that whatever it throws ends as `failed` (design rule 6). */
export function settle(
  f: (ctx: RunContext, signal: AbortSignal) => Promise<Outcome>,
  { timeout: limit, scheduler = asyncScheduler }: SettleOptions = {},
): (ctx: RunContext) => Observable<Outcome> {
  return ctx => {
    const run$ = fromAbortable(signal => f(ctx, signal));
    const late = () => of(failed(new Error(`Run of ${ctx.key} took longer than ${limit} ms`)));
    const limited$ =
      limit === undefined ? run$ : run$.pipe(timeout({ first: Math.min(limit, MAX_TIMER_MS), scheduler, with: late }));
    return limited$.pipe(catchError(err => of(failed(err))));
  };
}

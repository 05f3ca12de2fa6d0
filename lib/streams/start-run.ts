import { defer, type Observable, type Subscription } from 'rxjs';
import { failed, type Outcome } from './outcome.ts';
import type { RunContext } from './workqueue.ts';

/**
 * Subscribes to one run and reports its outcome, once: the first value. An error, a throw, a completion without a value
 * and a value that is no outcome are failures. It reports after the run has been torn down, so that what comes
 * next never overlaps with it; unsubscribed, it reports nothing.
 */
export function startRun(
  run: (ctx: RunContext) => Observable<Outcome>,
  ctx: RunContext,
  report: (outcome: Outcome) => void,
): Subscription {
  let outcome: Outcome | undefined;
  let running: Subscription | undefined;

  const close = (subscription: Subscription, result: Outcome) => {
    try {
      subscription.unsubscribe();
    } catch (err) {
      return report(failed(err));
    }
    report(result);
  };
  const settle = (result: Outcome) => {
    if (outcome !== undefined) return;
    outcome = result;
    if (running !== undefined) close(running, result);
  };

  running = defer(() => run(ctx)).subscribe({
    next: value =>
      settle(isOutcome(value) ? value : failed(new Error(`Run of ${ctx.key} gave something else than an outcome`))),
    error: err => settle(failed(err)),
    complete: () => {
      // Asked first, because making an Error costs more than all the rest of a run.
      if (outcome === undefined) settle(failed(new Error(`Run of ${ctx.key} completed without an outcome`)));
    },
  });
  if (outcome !== undefined) close(running, outcome);
  return running;
}

const kinds: ReadonlySet<unknown> = new Set<Outcome['kind']>(['done', 'again', 'failed', 'rejected']);

/** The compiler promises it, but a value from a wrong cast would leave the key running for ever. */
const isOutcome = (value: Outcome | undefined | null) => kinds.has(value?.kind);

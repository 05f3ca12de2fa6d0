import { type Observable, tap } from 'rxjs';
import { isConflict } from '../kubernetes/errors.ts';
import type { Logger } from '../observability/logger.ts';
import { reconcileID } from '../observability/reconcile-id.ts';
import type { Outcome } from '../streams/outcome.ts';
import { settle } from '../streams/settle.ts';
import { type Run, type RunContext, type Trigger, type WorkqueueOptions, workqueue } from '../streams/workqueue.ts';

/** What one run of one key works with. */
export interface Reconcile {
  readonly key: string;
  /** Failures in a row before this run. */
  readonly attempt: number;
  /** Aborted when the term of leadership ends or the process stops; every call and write carries it. */
  readonly signal: AbortSignal;
  /** Adds controller, reconcileID and reason to each line. */
  readonly log: Logger;
}

export interface QueueStats {
  readonly ready: number;
  readonly delayed: number;
  readonly running: number;
}

/** What a controller tells metrics. */
export interface ControllerHooks {
  readonly onTrigger: (controller: string) => void;
  readonly onRun: (controller: string, run: Run) => void;
  readonly onStats: (controller: string, stats: QueueStats) => void;
}

export interface ControllerOptions extends Omit<WorkqueueOptions, 'onStats'> {
  readonly name: string;
  readonly triggers$: Observable<Trigger>;
  /** One level-triggered look at one key: reads the present state and converges it. A throw counts as failed. */
  readonly reconcile: (run: Reconcile) => Promise<Outcome>;
  readonly logger: Logger;
  readonly hooks: ControllerHooks;
}

/**
 * A controller: triggers go through the work queue into runs, and each run ends in an outcome. How runs end is logged
 * here once, failures with the wait before the next try, so that no controller has to.
 */
export function controller(options: ControllerOptions): Observable<Run> {
  const { name, triggers$, reconcile, logger, hooks, ...queue } = options;
  const log = logger.child({ controller: name });
  const run = settle((ctx: RunContext, signal: AbortSignal): Promise<Outcome> => {
    const fields = { reconcileID: reconcileID(), reason: ctx.reason, ...(ctx.attempt > 0 && { attempt: ctx.attempt }) };
    return reconcile({ key: ctx.key, attempt: ctx.attempt, signal, log: log.child(fields) });
  });
  return triggers$.pipe(
    tap(() => hooks.onTrigger(name)),
    workqueue(run, { ...queue, onStats: stats => hooks.onStats(name, stats) }),
    tap(r => {
      hooks.onRun(name, r);
      logRun(log, r);
    }),
  );
}

/** So often in a row somebody else (a kubelet, another controller) may have written at the same moment without a word about it. */
const ordinaryConflicts = 3;

function logRun(log: Logger, { key, reason, attempt, outcome, duration, retryIn }: Run): void {
  switch (outcome.kind) {
    case 'failed': {
      const level = isConflict(outcome.err) && attempt < ordinaryConflicts ? 'debug' : 'warn';
      log[level]('Failed to reconcile, will try again', { key, reason, attempt, after: retryIn, err: outcome.err });
      break;
    }
    case 'rejected':
      log.error('Failed to reconcile, waiting for a change', { key, reason, err: outcome.err });
      break;
    default:
      if (log.isEnabled('debug'))
        log.debug('Reconciled', { key, reason, after: retryIn, durationMs: Math.round(duration) });
  }
}

import type { Action } from '../hetzner/types.ts';
import type { Clock } from '../streams/clock.ts';

/**
 * Sends one step of a change; its action is awaited before the next step of that change.
 * Undefined: nothing to wait for.
 */
export type Step = (signal: AbortSignal) => Promise<Action | undefined>;

/**
 * The one way changes reach a network. Hetzner's API takes changes of one network side by side at times and at other
 * times refuses them (`locked`, `conflict`) while an action runs on it. The pipeline starts careful (two at once),
 * widens as the API accepts a change while another runs, and goes one at a time once a change was refused.
 */
export interface Pipeline {
  /** Applies the steps of one change in order. Rejects with the API's error; `locked` only after `maxTries`. */
  run(steps: readonly Step[], signal: AbortSignal): Promise<void>;
}

export interface PipelineOptions {
  readonly waitForAction: (action: Action, signal: AbortSignal) => Promise<void>;
  readonly isLocked: (err: unknown) => boolean;
  readonly clock: Clock;
  /** Refusals of one step before its change fails. */
  readonly maxTries?: number;
  readonly onRefused?: () => void;
}

/** Widest window of changes in flight; a network holds 100 routes. */
const maxWindow = 100;
/**
 * Waits between tries while somebody else holds the network, in ms. The last one repeats. Ten tries reach beyond 45 s, and
 * a network that is free again is found within 7 s.
 */
const lockDelays = [1_000, 2_000, 4_000, 6_000, 7_000] as const;
/** How long a refusal is remembered before changes go side by side again, in ms. */
const serialFor = 600_000;

interface Job {
  readonly steps: readonly Step[];
  readonly signal: AbortSignal;
  readonly resolve: () => void;
  readonly reject: (err: unknown) => void;
  next: number;
  tries: number;
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { waitForAction, isLocked, clock, maxTries = 10, onRefused } = options;
  const waiting: Job[] = [];
  /** Changes being worked on, and those of them whose action runs at Hetzner. */
  let active = 0;
  let running = 0;
  let window = 2;
  let serialUntil = Number.NEGATIVE_INFINITY;
  /** Refusals in a row while none of our own actions held the network. */
  let foreignRefusals = 0;
  let held: NodeJS.Timeout | undefined;

  const mayStart = (): boolean => {
    if (held !== undefined) return false;
    return clock.monotonic() < serialUntil ? active === 0 : active < window;
  };

  const pump = (): void => {
    while (waiting.length > 0 && mayStart()) {
      const job = waiting.shift() as Job;
      if (job.signal.aborted) {
        job.reject(job.signal.reason);
        continue;
      }
      active += 1;
      void work(job).finally(() => {
        active -= 1;
        pump();
      });
    }
  };

  const work = async (job: Job): Promise<void> => {
    try {
      for (; job.next < job.steps.length; job.next += 1) {
        const step = job.steps[job.next] as Step;
        const action = await step(job.signal);
        foreignRefusals = 0;
        job.tries = 0;
        if (action === undefined) continue;
        if (running > 0 && action.status === 'running') widen();
        running += 1;
        try {
          await waitForAction(action, job.signal);
        } finally {
          running -= 1;
        }
      }
      job.resolve();
    } catch (err) {
      job.tries += 1;
      if (!isLocked(err) || job.tries >= maxTries || job.signal.aborted) job.reject(err);
      else refused(job);
    }
  };

  /** Two actions run at once, so the API took one beside the other, in whatever order their answers came. */
  const widen = (): void => {
    window = Math.min(window * 2, maxWindow);
    pump();
  };

  /** The change goes back to the head of the line, to be sent when nothing of ours runs and a wait has passed. */
  const refused = (job: Job): void => {
    onRefused?.();
    serialUntil = clock.monotonic() + serialFor;
    window = 2;
    waiting.unshift(job);
    if (active > 1) return;
    const delay = lockDelays[Math.min(foreignRefusals, lockDelays.length - 1)] as number;
    foreignRefusals += 1;
    clearTimeout(held);
    held = setTimeout(() => {
      held = undefined;
      pump();
    }, delay);
  };

  return {
    run(steps, signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const job: Job = { steps, signal, resolve, reject, next: 0, tries: 0 };
      const onAbort = () => {
        const i = waiting.indexOf(job);
        if (i >= 0) waiting.splice(i, 1);
        if (waiting.length === 0) {
          clearTimeout(held);
          held = undefined;
        }
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      waiting.push(job);
      pump();
      return promise.finally(() => signal.removeEventListener('abort', onAbort));
    },
  };
}

import type { Clock } from '../streams/clock.ts';

/** One span of leadership. */
export interface Term {
  readonly identity: string;
  /** Aborts when the term ends, always before another can hold the lease. Every write carries it. */
  readonly signal: AbortSignal;
  /** Whether writes are allowed now, by the monotonic clock: false at once when the process was paused for too long. */
  isValid(): boolean;
}

export interface HeldTerm {
  readonly term: Term;
  /** The lease was renewed by a request sent at `sentAt` (monotonic): from then on others count. */
  renewed(sentAt: number): void;
  end(reason: string): void;
}

/** A term that lasts until `renewDeadline` ms after the sending of the last request that renewed the lease. */
export const createTerm = (options: {
  readonly identity: string;
  readonly clock: Clock;
  readonly renewDeadline: number;
  readonly sentAt: number;
}): HeldTerm => {
  const { identity, clock, renewDeadline } = options;
  const controller = new AbortController();
  const { signal } = controller;
  let deadline = options.sentAt + renewDeadline;
  let timer: NodeJS.Timeout | undefined;

  const end = (reason: string): void => {
    clearTimeout(timer);
    controller.abort(new Error(`leadership ended: ${reason}`));
  };
  const isValid = (): boolean => {
    if (!signal.aborted && clock.monotonic() >= deadline) end('the lease could not be renewed in time');
    return !signal.aborted;
  };
  const arm = (): void => {
    clearTimeout(timer);
    timer = setTimeout(
      () => {
        // A timer may be a millisecond early.
        if (isValid()) arm();
      },
      Math.max(1, deadline - clock.monotonic()),
    );
  };

  arm();
  return {
    term: { identity, signal, isValid },
    renewed: sentAt => {
      if (!isValid()) return;
      deadline = Math.max(deadline, sentAt + renewDeadline);
      arm();
    },
    end,
  };
};

/** A term that lasts until it is ended: leadership without an election. */
export const createEndlessTerm = (identity: string): Omit<HeldTerm, 'renewed'> => {
  const controller = new AbortController();
  const { signal } = controller;
  return {
    term: { identity, signal, isValid: () => !signal.aborted },
    end: reason => controller.abort(new Error(`leadership ended: ${reason}`)),
  };
};

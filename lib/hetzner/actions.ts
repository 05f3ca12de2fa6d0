import type { Clock } from '../streams/clock.ts';
import type { Cloud } from './cloud.ts';
import { classOf } from './errors.ts';
import { createExpectation } from './expectation.ts';
import { type Action, type CallOptions, type Priority, priorities } from './types.ts';

/**
 * An action did not succeed, or nobody can tell: its own code and message, `action_not_found`, `action_timeout`, or
 * `action_unknown` where Hetzner does not answer to that question, or not as it should.
 */
export class ActionError extends Error {
  override readonly name = 'ActionError';
  readonly code: string;
  readonly actionID: number;
  readonly command: string;

  constructor(action: Action, code: string, message: string) {
    super(`action ${action.command || 'unknown'} failed: ${message} (${code})`);
    this.code = code;
    this.actionID = action.id;
    this.command = action.command;
  }
}

export interface ActionsOptions {
  readonly cloud: Pick<Cloud, 'getActions'>;
  readonly clock: Clock;
  /** ms after which waiting for an action is given up. */
  readonly deadline?: number;
  /** ms without an answer to a poll after which waiting is given up with its error: the state itself tells more then. */
  readonly patience?: number;
  /** ms that a poll is put off for others that become due meanwhile. */
  readonly mergeWindow?: number;
}

export interface Actions {
  /** Resolves when the action succeeded; rejects with an ActionError or the signal's reason. */
  wait(action: Action, o: CallOptions): Promise<void>;
}

interface Waiter {
  readonly priority: Priority;
  readonly resolve: () => void;
  readonly reject: (err: unknown) => void;
}

interface Watched {
  readonly action: Action;
  readonly since: number;
  readonly waiters: Set<Waiter>;
  dueAt: number;
  /** ms between the last two polls. */
  delay: number;
  polls: number;
  polling: Poll | undefined;
  /** Since when no poll is answered; undefined while they are. */
  failingSince: number | undefined;
}

interface Poll {
  readonly abort: AbortController;
  readonly watched: readonly Watched[];
}

const longestDelay = 5_000;
/** Actions under way that make polls wait for as long again, and the most of such waits. */
const busy = 4;
const longestWait = 3;
/** ms between polls while none is answered: each one has been tried several times already. */
const outageDelay = 10_000;

/** Waits for actions; all that are due are looked up in one request, each at first when it should just be finished. */
export const createActions = (options: ActionsOptions): Actions => {
  const { cloud, clock, deadline = 600_000, patience = 60_000, mergeWindow = 100 } = options;
  const expectation = createExpectation();
  const all = new Map<number, Watched>();
  /** No poll before this instant. */
  let heldUntil = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  const settle = (watched: Watched, end: (waiter: Waiter) => void): void => {
    if (all.get(watched.action.id) === watched) all.delete(watched.action.id);
    for (const waiter of [...watched.waiters]) end(waiter);
    watched.waiters.clear();
    releasePoll(watched);
  };

  /** A poll that nobody waits for any more is ended. */
  const releasePoll = ({ polling }: Watched): void => {
    if (polling?.watched.every(({ waiters }) => waiters.size === 0)) polling.abort.abort();
  };

  const schedule = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const dues = [...all.values()]
      .filter(watched => watched.polling === undefined)
      .map(watched => Math.max(watched.dueAt, heldUntil));
    const first = Math.min(...dues);
    // Of many that end one after the other each waits a little longer, or each would have a poll.
    const window = mergeWindow * Math.min(1 + Math.floor(all.size / busy), longestWait);
    const together = Math.max(...dues.filter(due => due <= first + window));
    const ends = Math.min(...[...all.values()].map(watched => watched.since + deadline));
    const next = Math.min(dues.length > 0 ? together : Number.POSITIVE_INFINITY, ends);
    if (next === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(tick, Math.max(1, Math.ceil(next - clock.monotonic())));
  };

  const tick = (): void => {
    const now = clock.monotonic();
    for (const watched of [...all.values()]) {
      if (now < watched.since + deadline) continue;
      const err = new ActionError(watched.action, 'action_timeout', `not finished after ${deadline} ms`);
      settle(watched, waiter => waiter.reject(err));
    }
    // Timers of Node may fire a millisecond early; whoever is due then is not worth a poll of its own.
    const due = [...all.values()].filter(
      watched => watched.polling === undefined && Math.max(watched.dueAt, heldUntil) <= now + 1,
    );
    if (due.length > 0) void poll(due);
    schedule();
  };

  const poll = async (due: readonly Watched[]): Promise<void> => {
    const polling: Poll = { abort: new AbortController(), watched: due };
    for (const watched of due) watched.polling = polling;
    const asked = new Set(due.flatMap(({ waiters }) => [...waiters].map(({ priority }) => priority)));
    const priority = priorities.find(candidate => asked.has(candidate)) ?? 'refresh';
    let err: unknown;
    let found: readonly Action[] | undefined;
    try {
      const ids = due.map(({ action }) => action.id);
      found = await cloud.getActions(ids, { priority, signal: polling.abort.signal });
    } catch (failure) {
      err = failure;
    }
    const now = clock.monotonic();
    if (err !== undefined && classOf(err) === 'transient') heldUntil = now + outageDelay;
    const byID = new Map(found?.map(action => [action.id, action]));
    for (const watched of due) {
      watched.polling = undefined;
      // Settled meanwhile by its deadline, or left by all who waited.
      if (watched.waiters.size === 0) continue;
      if (found !== undefined) look(watched, byID.get(watched.action.id));
      else if (mayStillAnswer(watched, err, now)) later(watched);
      else settle(watched, waiter => waiter.reject(unknownEnd(watched.action, err)));
    }
    schedule();
  };

  const mayStillAnswer = (watched: Watched, err: unknown, now: number): boolean => {
    if (classOf(err) === 'rateLimited') return true;
    watched.failingSince ??= now;
    return classOf(err) === 'transient' && now - watched.failingSince < patience;
  };

  const look = (watched: Watched, action: Action | undefined): void => {
    if (action === undefined) {
      const err = new ActionError(watched.action, 'action_not_found', 'Hetzner does not know the action');
      settle(watched, waiter => waiter.reject(err));
      return;
    }
    watched.polls += 1;
    watched.failingSince = undefined;
    if (watched.polls === 1) expectation.learn(action, clock.monotonic() - watched.since);
    const outcome = outcomeOf(action);
    if (outcome === 'running') later(watched);
    else settle(watched, waiter => (outcome === 'success' ? waiter.resolve() : waiter.reject(outcome)));
  };

  const later = (watched: Watched): void => {
    watched.dueAt = clock.monotonic() + watched.delay;
    watched.delay = Math.min(longestDelay, watched.delay * 1.5);
  };

  const watch = (action: Action): Watched => {
    const known = all.get(action.id);
    if (known !== undefined) return known;
    const since = clock.monotonic();
    const first = expectation.firstPoll(action.command);
    const watched: Watched = {
      action,
      since,
      waiters: new Set(),
      dueAt: since + first,
      delay: first / 2,
      polls: 0,
      polling: undefined,
      failingSince: undefined,
    };
    all.set(action.id, watched);
    return watched;
  };

  const wait = (action: Action, { priority, signal }: CallOptions): Promise<void> =>
    new Promise((resolve, reject) => {
      const outcome = outcomeOf(action);
      if (signal.aborted) return reject(signal.reason);
      if (outcome === 'success') return resolve();
      if (outcome !== 'running') return reject(outcome);
      const watched = watch(action);
      const leave = (): void => {
        signal.removeEventListener('abort', onAbort);
        watched.waiters.delete(waiter);
      };
      const onAbort = (): void => {
        leave();
        reject(signal.reason);
        if (watched.waiters.size > 0) return;
        settle(watched, () => {});
        schedule();
      };
      const waiter: Waiter = {
        priority,
        resolve: () => {
          leave();
          resolve();
        },
        reject: err => {
          leave();
          reject(err);
        },
      };
      watched.waiters.add(waiter);
      signal.addEventListener('abort', onAbort);
      schedule();
    });

  return { wait };
};

/** Of its own kind: a poll that is refused as locked or invalid says nothing about the change. */
const unknownEnd = (action: Action, err: unknown): ActionError =>
  new ActionError(action, 'action_unknown', `it cannot be followed: ${err instanceof Error ? err.message : err}`);

const outcomeOf = (action: Action): 'running' | 'success' | ActionError => {
  if (action.status !== 'error') return action.status;
  return new ActionError(
    action,
    action.error?.code ?? 'action_failed',
    action.error?.message ?? 'Hetzner gave no reason',
  );
};

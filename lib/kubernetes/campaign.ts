import type { Logger } from '../observability/logger.ts';
import type { Clock } from '../streams/clock.ts';
import { isAlreadyExists, isConflict, isForbidden, isNotFound } from './errors.ts';
import { annotationsOf, claimedSpec, decide, graceAfter, type LeaseView, observe } from './lease.ts';
import type { Call, LeaseAPI } from './lease-api.ts';
import { linkedController, wait } from './wait.ts';

export interface ElectionDeps {
  readonly api: LeaseAPI;
  readonly clock: Clock;
  readonly identity: string;
  readonly logger: Logger;
  readonly random: () => number;
  /** ms, all three. */
  readonly leaseDuration: number;
  readonly renewDeadline: number;
  readonly retryPeriod: number;
  /** Told before each request after which the Lease may name us, whether or not an answer comes. */
  readonly onClaim: () => void;
  /** Told at each turn of the loops that campaign and renew, at least once in our `leaseDuration`. */
  readonly onTurn: () => void;
  /** Told who else holds the lease, and what its annotations say. */
  readonly onOther: (holder: string, annotations: Readonly<Record<string, unknown>>) => void;
}

/** The Lease is ours by a request sent at `sentAt` (monotonic). */
export interface Claim {
  readonly view: LeaseView;
  readonly sentAt: number;
}

/** A lost race or a lost object: look again. Anything else is trouble with the API server. */
export const isRace = (err: unknown): boolean => isConflict(err) || isAlreadyExists(err) || isNotFound(err);

/** Races in a row that are taken for bad luck. */
const ordinaryRaces = 3;

/** Counts refusals that look like a lost race: where they go on, nobody else is faster, something is wrong. */
export const raceCounter = (): { readonly isRace: (err: unknown) => boolean; readonly forget: () => void } => {
  let races = 0;
  return {
    isRace: err => {
      races = isRace(err) ? races + 1 : 0;
      return races > 0 && races <= ordinaryRaces;
    },
    forget: () => {
      races = 0;
    },
  };
};

/** ms: `retryPeriod`, up to a quarter shorter, so that contenders do not move in step. */
export const jittered = (deps: Pick<ElectionDeps, 'retryPeriod' | 'random'>): number =>
  deps.retryPeriod * (1 - 0.25 * deps.random());

/** A request that hangs must leave time for others before the deadline. */
export const callFor = (deps: Pick<ElectionDeps, 'renewDeadline'>, signal: AbortSignal): Call => ({
  signal,
  timeout: Math.max(100, deps.renewDeadline / 3),
});

/** Takes the lease: creates it, or updates what was seen. Fails with a conflict when someone was faster. */
export const claim = async (deps: ElectionDeps, view: LeaseView | undefined, signal: AbortSignal): Promise<Claim> => {
  const sentAt = deps.clock.monotonic();
  const { identity, leaseDuration: duration } = deps;
  const spec = claimedSpec(view, { identity, duration, now: deps.clock.now() });
  deps.onClaim();
  const call = callFor(deps, signal);
  const latest = view === undefined ? await deps.api.create(spec, call) : await deps.api.update(view, spec, call);
  return { view: latest, sentAt };
};

/**
 * Waits until the lease is free and takes it. The lease is watched, so that a release is noticed at once; while the watch does
 * not work it is read every `retryPeriod`. Resolves with undefined when `signal` aborts; never rejects.
 */
export const campaign = async (deps: ElectionDeps, signal: AbortSignal): Promise<Claim | undefined> => {
  const { api, clock, identity, logger } = deps;
  let view: LeaseView | undefined;
  let grace = Number.NEGATIVE_INFINITY;
  /** The view may be decided on: it comes from a watch that works, or was just read. */
  let current = false;
  let watching = false;
  /** Counts what the watch said. */
  let news = 0;
  let wake = (): void => undefined;
  let leader = '';
  let troubled = false;
  let denied = false;
  const races = raceCounter();

  const see = (seen: LeaseView | undefined): void => {
    grace = graceAfter(grace, view, seen, identity);
    view = seen === undefined ? undefined : observe(view, seen);
    const holder = view?.record.holder ?? '';
    if (holder !== leader && holder !== '' && holder !== identity) {
      logger.info('Observed another leader', { leader: holder });
      deps.onOther(holder, seen === undefined ? {} : annotationsOf(seen));
    }
    leader = holder;
  };

  const follow = () => {
    let listed: LeaseView | undefined;
    let blind = false;
    return api.watch().subscribe(event => {
      switch (event.type) {
        case 'init':
          listed = undefined;
          return;
        case 'initApply':
          listed = event.object;
          return;
        case 'error':
          watching = false;
          // A missing right does not mend itself like a broken connection: somebody should know, once.
          if (isForbidden(event.err) && !denied) {
            denied = true;
            logger.warn('Was not allowed to watch the lease', { err: event.err });
          } else {
            const level = blind || denied ? 'debug' : 'warn';
            logger[level]('Lost the watch of the lease', { err: event.err, after: event.willRetryIn });
          }
          blind = true;
          break;
        case 'initDone':
          watching = true;
          see(listed);
          break;
        case 'apply':
          watching = true;
          blind = false;
          see(event.object);
          break;
        case 'delete':
          see(undefined);
          break;
      }
      news += 1;
      current = watching;
      wake();
    });
  };

  let watch: ReturnType<typeof follow> | undefined;
  try {
    while (!signal.aborted) {
      deps.onTurn();
      let pause = 0;
      let mayWake = true;
      try {
        if (!current) {
          const before = news;
          const read = await api.get(callFor(deps, signal));
          // What the watch said meanwhile is at least as new; the answer could hide a release from us.
          if (news === before) see(read);
          current = watching;
        }
        const decision = decide(view, identity, clock.monotonic(), grace);
        if (decision.do !== 'wait') return await claim(deps, view, signal);
        // Also where the record grants its holder more: who looks at `onTurn` must not take us for dead.
        pause = Math.min(decision.lapsesIn, watching ? deps.leaseDuration : jittered(deps));
        troubled = false;
        races.forget();
      } catch (err) {
        if (signal.aborted) return undefined;
        current = false;
        // What the watch tells may be our own claim, whose answer was lost: no reason to claim again at once.
        mayWake = false;
        // Someone was faster: his record decides what to do next.
        const raced = races.isRace(err);
        pause = raced ? 0.02 * jittered(deps) : jittered(deps);
        if (!raced) {
          logger[troubled ? 'debug' : 'warn']('Could not reach the lease', { err, after: Math.round(pause) });
          troubled = true;
        }
      }
      watch ??= follow();
      const pausing = linkedController(signal);
      if (mayWake) wake = () => pausing.controller.abort();
      await wait(pause, pausing.controller.signal);
      wake = () => undefined;
      pausing.unlink();
    }
    return undefined;
  } finally {
    watch?.unsubscribe();
  }
};

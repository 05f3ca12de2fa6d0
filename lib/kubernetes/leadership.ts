import { Observable } from 'rxjs';
import type { Logger } from '../observability/logger.ts';
import type { Settings } from '../settings/settings.ts';
import type { Clock } from '../streams/clock.ts';
import { campaign, type ElectionDeps } from './campaign.ts';
import type { KubeClient } from './client.ts';
import { isConflict } from './errors.ts';
import { type LeaseAnnotations, type LeaseView, releasedSpec } from './lease.ts';
import { createLeaseAPI } from './lease-api.ts';
import { renew } from './renewal.ts';
import { createEndlessTerm, createTerm, type Term } from './term.ts';
import { wait } from './wait.ts';

export type { Term } from './term.ts';

export interface LeadershipOptions extends Partial<Pick<ElectionDeps, 'onTurn' | 'onOther'>> {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly settings: Settings['leaderElection'];
  /** Unique among all contenders. */
  readonly identity: string;
  readonly logger: Logger;
  /** Of the Lease. */
  readonly annotations?: LeaseAnnotations;
  readonly random?: () => number;
  /** ms for all of the release; the next leader should not wait longer than for a lapse. */
  readonly releaseTimeout?: number;
}

export interface Leadership {
  /**
   * A Term when the lease was acquired, undefined when it was lost; then it contends again. For one subscriber.
   * Unsubscribing ends the term and releases the lease.
   */
  readonly term$: Observable<Term | undefined>;
  /**
   * Ends the term, if there is one, completes `term$` and gives the lease away. Resolves when that is done or was given up
   * (within `releaseTimeout`); never rejects. Call it when the guarded work has ended.
   */
  release(): Promise<void>;
}

const releaseAttempts = 4;

/**
 * Leader election on a Lease, after client-go's leaderelection: others judge a holder by when they last saw the record change,
 * on their own monotonic clocks; the holder stops `renewDeadline` after the sending of its last good renewal. Where the election
 * is off there is one term without an end.
 */
export const createLeadership = (options: LeadershipOptions): Leadership =>
  options.settings.enabled ? elected(options) : unopposed(options.identity);

const unopposed = (identity: string): Leadership => {
  const { term, end } = createEndlessTerm(identity);
  return {
    term$: new Observable(subscriber => {
      const complete = (): void => subscriber.complete();
      term.signal.addEventListener('abort', complete);
      if (term.signal.aborted) complete();
      else subscriber.next(term);
      return () => {
        term.signal.removeEventListener('abort', complete);
        end('stopped');
      };
    }),
    release: async () => end('released'),
  };
};

const elected = (options: LeadershipOptions): Leadership => {
  const { client, clock, settings, identity, releaseTimeout = 2000 } = options;
  const { leaseDuration, renewDeadline, retryPeriod, resourceName: name, resourceNamespace: namespace } = settings;
  const logger = options.logger.child({ identity, lease: `${namespace}/${name}` });
  const api = createLeaseAPI({
    client,
    clock,
    namespace,
    name,
    ...(options.annotations !== undefined && { annotations: options.annotations }),
  });
  const stop = new AbortController();
  /** The Lease may name us, for all we know. */
  let claimed = false;
  let lastView: LeaseView | undefined;
  let running: Promise<void> | undefined;
  let releasing: Promise<void> | undefined;
  const deps: ElectionDeps = {
    api,
    clock,
    identity,
    logger,
    random: options.random ?? Math.random,
    leaseDuration,
    renewDeadline,
    retryPeriod,
    onClaim: () => {
      claimed = true;
    },
    onTurn: options.onTurn ?? (() => undefined),
    onOther: options.onOther ?? (() => undefined),
  };

  const lead = async (emit: (term: Term | undefined) => void): Promise<void> => {
    while (!stop.signal.aborted) {
      const claim = await campaign(deps, stop.signal);
      if (claim === undefined) return;
      const held = createTerm({ identity, clock, renewDeadline, sentAt: claim.sentAt });
      const end = (): void => held.end('stopped');
      stop.signal.addEventListener('abort', end);
      if (stop.signal.aborted) end();
      lastView = claim.view;
      if (held.term.isValid()) {
        logger.info('Became the leader');
        emit(held.term);
        await renew(deps, claim, held, view => {
          lastView = view;
        });
        const reason = held.term.signal.reason;
        if (!stop.signal.aborted)
          logger.warn('Lost the leadership', { reason: reason instanceof Error ? reason.message : '' });
        emit(undefined);
      }
      stop.signal.removeEventListener('abort', end);
    }
  };

  /** Empties the holder, unless the Lease names another by now. */
  const giveAway = async (signal: AbortSignal): Promise<void> => {
    let view = lastView;
    for (let attempt = 0; attempt < releaseAttempts && !signal.aborted; attempt++) {
      const call = { signal, timeout: releaseTimeout / 2 };
      try {
        view ??= await api.get(call);
        if (view?.record.holder !== identity) return;
        await api.update(view, releasedSpec(view, clock.now()), call);
        logger.info('Released the lease');
        return;
      } catch (err) {
        // The last renewal may have come through without our seeing its answer.
        view = undefined;
        logger.debug('Could not release the lease', { err, attempt });
        if (!isConflict(err)) await wait(100, signal);
      }
    }
  };

  const release = (): Promise<void> => {
    releasing ??= (async () => {
      stop.abort();
      await running;
      if (!claimed) return;
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), releaseTimeout);
      await giveAway(deadline.signal);
      clearTimeout(timer);
    })();
    return releasing;
  };

  return {
    term$: new Observable(subscriber => {
      running = lead(term => subscriber.next(term)).then(
        () => subscriber.complete(),
        err => subscriber.error(err),
      );
      return () => void release();
    }),
    release,
  };
};

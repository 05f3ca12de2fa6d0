import { type Claim, callFor, claim, type ElectionDeps, isRace, jittered, raceCounter } from './campaign.ts';
import type { LeaseView } from './lease.ts';
import type { HeldTerm } from './term.ts';
import { wait } from './wait.ts';

/**
 * Renews the lease until the term ends. A renewal is one PUT with the resourceVersion of the one before; only when that
 * conflicts is the Lease read. `onView` is told each state of the Lease that was written. Never rejects.
 */
export const renew = async (
  deps: ElectionDeps,
  acquired: Claim,
  held: HeldTerm,
  onView: (view: LeaseView) => void,
): Promise<void> => {
  const { identity, api, logger } = deps;
  const { term } = held;
  let view: LeaseView | undefined = acquired.view;
  let troubled = false;
  /** The Lease is another than the one that was seen last. */
  let stale = false;
  let raced = false;
  const races = raceCounter();
  while (term.isValid()) {
    deps.onTurn();
    // After a race at once, but not in a tight loop.
    await wait(raced ? 0.02 * jittered(deps) : jittered(deps), term.signal);
    if (!term.isValid()) return;
    try {
      if (stale) {
        view = await api.get(callFor(deps, term.signal));
        const holder = view?.record.holder ?? '';
        if (holder !== '' && holder !== identity) {
          held.end(`the lease was taken by ${holder}`);
          return;
        }
        stale = false;
      }
      const renewed = await claim(deps, view, term.signal);
      view = renewed.view;
      onView(view);
      held.renewed(renewed.sentAt);
      troubled = false;
      raced = false;
      races.forget();
    } catch (err) {
      if (term.signal.aborted) return;
      raced = races.isRace(err);
      stale ||= isRace(err);
      if (raced) continue;
      logger[troubled ? 'debug' : 'warn']('Could not renew the lease', { err });
      troubled = true;
    }
  }
};

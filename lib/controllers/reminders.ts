import type { Clock } from '../streams/clock.ts';

/** What stays wrong is spoken of again after this, in ms: events are kept for an hour. */
export const remindAfter = 3_600_000;

/** What was said of whom, so that it is not said again for an hour. */
export interface Reminders {
  /** True when that was not said of this object lately; from then on it was. */
  isNews(object: string, what: string): boolean;
  /** Whatever comes next of this object is new. */
  forget(object: string): void;
}

export function createReminders(clock: Pick<Clock, 'monotonic'>): Reminders {
  const said = new Map<string, Map<string, number>>();
  /** Of objects that nobody says anything of any more nothing is kept. */
  const dropOld = (now: number): void => {
    for (const [object, whats] of said) {
      if ([...whats.values()].every(at => now - at >= remindAfter)) said.delete(object);
    }
  };
  return {
    isNews: (object, what) => {
      const now = clock.monotonic();
      const ofObject = said.get(object) ?? new Map<string, number>();
      const before = ofObject.get(what);
      if (before !== undefined && now - before < remindAfter) return false;
      dropOld(now);
      said.set(object, ofObject.set(what, now));
      return true;
    },
    forget: object => void said.delete(object),
  };
}

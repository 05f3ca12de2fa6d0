/**
 * Objects as our own writes left them, until the watch brings them: a run that starts in between must not decide on what
 * it has just changed. Keyed by the stored object itself, so that whatever the watch brings next ends the entry.
 */
export interface OwnWrites<T extends object> {
  /** The newest known state of an object from the store. */
  latest(stored: T): T;
  /** Our write turned `before` into `after`, as the API server answered. */
  record(before: T, after: T): void;
}

export function createOwnWrites<T extends object>(): OwnWrites<T> {
  const after = new WeakMap<T, T>();
  return {
    latest(stored) {
      let newest = stored;
      for (let next = after.get(newest); next !== undefined; next = after.get(newest)) newest = next;
      return newest;
    },
    record(before, written) {
      if (before !== written) after.set(before, written);
    },
  };
}

import type { Clock } from '../streams/clock.ts';

/** A value that may change while the process runs, such as credentials. */
export interface Changing<T> {
  readonly read: () => T;
  /** Monotonic ms at which it was first read as it is now (which it is by this); -Infinity while it never changed. */
  readonly since: () => number;
}

/** Notes when what `source` gives turns out to be another, as told by `textOf`. */
export const sinceChange = <T>(
  source: () => T,
  textOf: (value: T) => string,
  clock: Pick<Clock, 'monotonic'>,
): Changing<T> => {
  let last: string | undefined;
  let changedAt = Number.NEGATIVE_INFINITY;
  const read = (): T => {
    const value = source();
    const text = textOf(value);
    if (last !== undefined && text !== last) changedAt = clock.monotonic();
    last = text;
    return value;
  };
  return {
    read,
    since: () => {
      read();
      return changedAt;
    },
  };
};

import { readFileSync, statSync } from 'node:fs';
import type { Clock } from '../streams/clock.ts';

export interface TokenOptions {
  readonly token: string;
  /** File the token was read from; undefined when it cannot change. */
  readonly file: string | undefined;
  readonly clock: Clock;
  /** Told when the file cannot be used; the last good token stays. Once for each time it breaks. */
  readonly onError?: (err: Error) => void;
}

/** ms between two looks at the file. */
const interval = 1_000;

/** The API token at present. Looks at the file when it is asked, so an idle process does no work for it. */
export const createToken = ({ token, file, clock, onError }: TokenOptions): (() => string) => {
  if (file === undefined) return () => token;
  let current = token;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let version = '';
  let broken = false;

  const look = (): void => {
    try {
      // A mounted Secret is swapped by a symlink: the new file may be older than the one before.
      const { mtimeMs, ino, size } = statSync(file);
      const found = `${mtimeMs} ${ino} ${size}`;
      if (found === version) return;
      const text = readFileSync(file, 'utf8').trim();
      if (text === '') throw new Error(`token file ${file} is empty`);
      current = text;
      version = found;
      broken = false;
    } catch (err) {
      if (!broken) onError?.(err instanceof Error ? err : new Error(String(err)));
      broken = true;
    }
  };

  return () => {
    const now = clock.monotonic();
    if (now - checkedAt >= interval) {
      checkedAt = now;
      look();
    }
    return current;
  };
};

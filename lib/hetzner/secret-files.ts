import { readFileSync, statSync } from 'node:fs';
import type { Clock } from '../streams/clock.ts';

export interface SecretFilesOptions<K extends string> {
  /** Values at the start, by what they are, such as `token`. */
  readonly initial: Readonly<Record<K, string>>;
  /** Files they were read from; a value without one cannot change. */
  readonly files: { readonly [P in K]?: string | undefined };
  readonly clock: Clock;
  /** Told when the files cannot be used; the last good values stay. Once for each time they break. */
  readonly onError?: (err: Error) => void;
  /** Told when they can be used again. */
  readonly onRecovered?: () => void;
}

/** ms between two looks at the files. */
const interval = 1_000;
/** Reads of files that are being replaced under our hands before the next look has to do. */
const readings = 3;

/**
 * Secrets at present. Their files are looked at when somebody asks, so an idle process does no work for them. Values
 * belong together: never is a new one given with the old one of another file that was replaced at the same time.
 */
export const createSecretFiles = <K extends string>(
  options: SecretFilesOptions<K>,
): (() => Readonly<Record<K, string>>) => {
  const { initial, clock, onError, onRecovered } = options;
  const files = Object.entries<string | undefined>(options.files).filter(entry => entry[1] !== undefined) as [
    K,
    string,
  ][];
  if (files.length === 0) return () => initial;
  let current = initial;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let version = '';
  let broken = false;

  // A mounted Secret is swapped by a symlink: the new file may be older than the one before.
  const present = (): string =>
    files
      .map(([, file]) => statSync(file))
      .map(({ mtimeMs, ino, size }) => `${mtimeMs} ${ino} ${size}`)
      .join(', ');

  const look = (): void => {
    try {
      for (let reading = 0, found = present(); reading < readings && found !== version; reading += 1) {
        const texts = files.map(([key, file]) => [key, textOf(key, file)] as const);
        const after = present();
        if (after === found) {
          current = { ...current, ...(Object.fromEntries(texts) as Partial<Record<K, string>>) };
          version = found;
        }
        found = after;
      }
      if (broken) onRecovered?.();
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

const textOf = (what: string, file: string): string => {
  const text = readFileSync(file, 'utf8').trim();
  if (text === '') throw new Error(`${what} file ${file} is empty`);
  return text;
};

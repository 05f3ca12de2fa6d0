import type { Clock } from '../streams/clock.ts';
import { createSecretFiles } from './secret-files.ts';

export interface TokenOptions {
  readonly token: string;
  /** File the token was read from; undefined when it cannot change. */
  readonly file: string | undefined;
  readonly clock: Clock;
  /** Told when the file cannot be used; the last good token stays. Once for each time it breaks. */
  readonly onError?: (err: Error) => void;
  /** Told when it can be used again. */
  readonly onRecovered?: () => void;
}

/** The API token at present; its file is read again when it changes. */
export const createToken = ({ token, file, ...options }: TokenOptions): (() => string) => {
  const secrets = createSecretFiles({ initial: { token }, files: { token: file }, ...options });
  return () => secrets().token;
};

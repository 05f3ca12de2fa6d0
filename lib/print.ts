import { FatalError } from './fatal-error.ts';
import { complain, writeText } from './observability/stdout.ts';

/** The reader of standard output has enough, as `head` does after its lines: the end, and no mistake that anybody is to be told of. */
export class ReaderGone extends Error {
  override readonly name = 'ReaderGone';
}

/** What a failed write to standard output means to a command whose result it is. */
export const printError = (err: unknown): ReaderGone | FatalError => {
  if (err instanceof Error && 'code' in err && err.code === 'EPIPE') return new ReaderGone();
  return new FatalError(`Standard output: ${err instanceof Error ? err.message : err}`, { cause: err });
};

/**
 * Prints the result of a command, and returns when the system has it.
 *
 * @throws ReaderGone where nobody reads it, FatalError where it can't be written
 */
export const print = (text: string): void => {
  try {
    writeText(text);
  } catch (err) {
    throw printError(err);
  }
};

/** Says on standard error why a command failed: one line where users can mend it. */
export const explain = (err: unknown): void => {
  if (err instanceof ReaderGone) return;
  complain(err instanceof FatalError ? err.message : String((err instanceof Error && err.stack) || err));
};

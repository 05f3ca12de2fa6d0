import type { LogFields } from './log-keys.ts';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/**
 * Structured log of the process. `msg` is a constant sentence in the past tense without a full stop ("Created route");
 * everything variable goes into `fields`, whose keys come from the table in log-keys.ts.
 */
export interface Logger {
  error(msg: string, fields?: LogFields): void;
  warn(msg: string, fields?: LogFields): void;
  info(msg: string, fields?: LogFields): void;
  debug(msg: string, fields?: LogFields): void;
  /** True when lines of this level are written; guards work that only a log line needs. */
  isEnabled(level: LogLevel): boolean;
  /** The same log with `fields` on each line. */
  child(fields: LogFields): Logger;
}

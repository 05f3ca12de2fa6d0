import assert from 'node:assert/strict';
import { logKeys } from '../../lib/observability/log-keys.ts';
import type { LogLevel } from '../../lib/observability/logger.ts';
import { createLogger, type RootLogger } from '../../lib/observability/winston-logger.ts';

export type LogRecord = Readonly<Record<string, unknown>> & {
  readonly ts: string;
  readonly level: LogLevel;
  readonly msg: string;
};

const fixed = ['ts', 'level', 'msg'];

/** Parses one log line and asserts what holds for each: one line of JSON, `ts level msg` first, only known keys. */
export const assertKnownKeys = (line: string): LogRecord => {
  assert.doesNotMatch(line, /[\p{Cc}\u2028\u2029]/u, 'one line, no control characters');
  const record = JSON.parse(line) as LogRecord;
  const keys = Object.keys(record);
  assert.deepEqual(keys.slice(0, 3), fixed, `starts with ts, level, msg: ${line}`);
  assert.match(record.ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(['error', 'warn', 'info', 'debug'].includes(record.level), `level ${record.level}`);
  assert.match(record.msg, /^[A-Z].*[^.]$/, 'a sentence without its full stop');
  const unknown = keys.slice(3).filter(key => !Object.hasOwn(logKeys, key));
  assert.deepEqual(unknown, [], `keys that are not in log-keys.ts: ${line}`);
  return record;
};

/** Parses captured lines (or whole output), each held to `assertKnownKeys`; no line may contain one of `secrets`. */
export const parseLogLines = (output: string | readonly string[], secrets: readonly string[] = []): LogRecord[] => {
  const lines = typeof output === 'string' ? output.split('\n').filter(line => line !== '') : output;
  return lines.map(line => {
    for (const secret of secrets) assert.ok(!line.includes(secret), `a secret in the log: ${line.slice(0, 200)}`);
    return assertKnownKeys(line);
  });
};

/** A real logger whose lines are kept. */
export const captureLogger = (
  level: LogLevel = 'debug',
  secrets: readonly string[] = [],
): { logger: RootLogger; lines: string[]; records: () => LogRecord[] } => {
  const lines: string[] = [];
  const logger = createLogger({ level, secrets: () => secrets, write: line => lines.push(line) });
  return { logger, lines, records: () => parseLogLines(lines, secrets) };
};

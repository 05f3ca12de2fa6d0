import createWinston from 'winston/lib/winston/create-logger.js';
import Transport from 'winston-transport';
import { type Clock, systemClock } from '../streams/clock.ts';
import { createLineEncoder, type Entry } from './line-encoder.ts';
import type { LogFields } from './log-keys.ts';
import type { Logger, LogLevel } from './logger.ts';
import { createRedactor } from './redact.ts';
import { writeLine } from './stdout.ts';

/** Winston's rank: the lower the more severe. */
const ranks: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 };

/** The keys by which winston's stream finds the level and the finished line. */
const LEVEL = Symbol.for('level');
const MESSAGE = Symbol.for('message');

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Takes one line without its end; must be done with it when it returns. Default: standard output, synchronously. */
  readonly write?: (line: string) => void;
  /** What must never be written. Asked for each line, as secrets in files change. */
  readonly secrets: () => readonly string[];
  readonly clock?: Pick<Clock, 'now'>;
}

/** The root of the log: its level holds for all children and can be changed at any time. */
export interface RootLogger extends Logger {
  setLevel(level: LogLevel): void;
  level(): LogLevel;
}

const entriesOf = (fields: LogFields): [string, unknown][] => {
  const reserved = (key: string) => key === 'ts' || key === 'level' || key === 'msg';
  return Object.keys(fields)
    .filter(key => !reserved(key))
    .map(key => {
      // An own getter may throw; a log line must not.
      try {
        return [key, Reflect.get(fields, key)];
      } catch {
        return [key, '[threw]'];
      }
    });
};

/**
 * The JSON lines log of the process, over winston. Winston drops or mutates Error objects and sorts keys, so the line is
 * made here and winston only carries it. Logging never throws: a line that cannot be written is lost.
 */
export const createLogger = (options: LoggerOptions): RootLogger => {
  const { write = line => writeLine(line), clock = systemClock } = options;
  const encode = createLineEncoder(createRedactor(options.secrets));
  let level = options.level;

  const winston = createWinston({
    level: 'debug',
    levels: { ...ranks },
    exitOnError: false,
    format: { transform: info => info },
    transports: [
      new Transport({
        log: (info: Record<symbol, string>, next: () => void) => {
          try {
            write(info[MESSAGE] ?? '');
          } catch {
            // Nobody is left to be told.
          }
          next();
        },
      }),
    ],
  });

  const isEnabled = (asked: LogLevel): boolean => ranks[asked] <= ranks[level];

  const build = (context: ReadonlyMap<string, unknown>): Logger => {
    const log = (at: LogLevel, msg: string, fields: LogFields | undefined): void => {
      if (!isEnabled(at)) return;
      const entries: Entry[] = [
        ['ts', new Date(clock.now()).toISOString()],
        ['level', at],
        ['msg', msg],
        ...(fields === undefined ? context : new Map([...context, ...entriesOf(fields)])),
      ];
      winston.write({ level: at, message: msg, [LEVEL]: at, [MESSAGE]: encode(entries) });
    };
    return {
      error: (msg, fields) => log('error', msg, fields),
      warn: (msg, fields) => log('warn', msg, fields),
      info: (msg, fields) => log('info', msg, fields),
      debug: (msg, fields) => log('debug', msg, fields),
      isEnabled,
      child: fields => build(new Map([...context, ...entriesOf(fields)])),
    };
  };

  return {
    ...build(new Map()),
    setLevel: next => {
      level = next;
    },
    level: () => level,
  };
};

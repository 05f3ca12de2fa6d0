import type { Verb } from './route.ts';

/** One request as the API saw it. Tokens are not kept. */
export interface JournalEntry {
  /** ms since the epoch. */
  readonly at: number;
  readonly user: string;
  readonly userAgent: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Undefined for what is no resource (health, version, unknown paths). */
  readonly verb: Verb | undefined;
  readonly body: string;
}

export interface Journal {
  add(entry: JournalEntry): void;
  all(): readonly JournalEntry[];
  /** Only what changes something. */
  writes(): readonly JournalEntry[];
  clear(): void;
}

const READS: readonly (Verb | undefined)[] = ['get', 'list', 'watch', undefined];

/** Keeps the last `limit` requests. */
export const createJournal = (limit = 10_000): Journal => {
  let entries: JournalEntry[] = [];
  return {
    add: entry => {
      entries.push(entry);
      if (entries.length > 2 * limit) entries = entries.slice(-limit);
    },
    all: () => entries.slice(-limit),
    writes: () => entries.slice(-limit).filter(entry => !READS.includes(entry.verb)),
    clear: () => {
      entries = [];
    },
  };
};

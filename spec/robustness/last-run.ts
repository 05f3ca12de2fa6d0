import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import type { Result } from '../bench/figures.ts';
import type { Soak } from '../scale/growth.ts';
import type { QuotaWeek } from '../scale/quota-week.ts';
import type { RowSummary } from './results.ts';

/** The figures of the last runs of what takes too long for `make test`, committed for the docs. */

/** One part, when and where it ran. */
export interface Kept<T> {
  readonly date: string;
  readonly machine: string;
  readonly minutes: number;
  readonly result: T;
}

/** What has run so far. */
export interface LastRun {
  readonly matrix?: Kept<readonly RowSummary[]>;
  readonly soak?: Kept<Soak>;
  readonly quotaWeek?: Kept<QuotaWeek>;
  /** Rows of `make bench`. */
  readonly bench?: Kept<readonly Result[]>;
}

const file = new URL('last-run.json', import.meta.url);

export const lastRun = (): LastRun => JSON.parse(readFileSync(file, 'utf8')) as LastRun;

/** Keeps a part that began at `from` (of `performance.now()`) in the place of its last run. */
export const keep = <P extends keyof LastRun>(
  part: P,
  result: NonNullable<LastRun[P]>['result'],
  from: number,
): void => {
  const kept = {
    date: new Date().toISOString().slice(0, 10),
    machine: `${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}, Node.js ${process.versions.node}`,
    minutes: Math.round((performance.now() - from) / 60_000),
    result,
  };
  writeFileSync(file, `${JSON.stringify({ ...lastRun(), [part]: kept }, undefined, 2)}\n`);
};

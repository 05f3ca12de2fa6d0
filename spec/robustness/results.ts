import type { CellResult } from './cell.ts';
import { cells, nameOf } from './matrix.ts';

/** What a full run of the fault matrix came to for one call. */
export interface RowSummary {
  readonly operation: string;
  readonly cells: number;
  readonly passed: number;
  /** Most calls in a minute over all faults. */
  readonly perMinute: number;
  /** s until all was right after the fault, at most. */
  readonly recovery: number;
  readonly writes: number;
}

const most = (values: readonly number[]): number => values.reduce((max, value) => Math.max(max, value), 0);

/** A row for each call of the matrix; what did not run did not pass. */
export const summarise = (results: readonly CellResult[]): RowSummary[] =>
  [...Map.groupBy(cells, ({ operation }) => operation)].map(([operation, wanted]) => {
    const found = results.filter(result => result.operation === operation.name);
    return {
      operation: operation.name,
      cells: wanted.length,
      passed: found.filter(({ failures }) => failures.length === 0).length,
      perMinute: most(found.map(({ perMinute }) => perMinute)),
      recovery: Math.round(most(found.map(({ recovery }) => recovery)) / 1_000),
      writes: most(found.map(({ writes }) => writes)),
    };
  });

/** A table in Markdown. */
export const table = (head: readonly string[], rows: ReadonlyArray<readonly (string | number)[]>): string =>
  [head, head.map(() => '---'), ...rows].map(row => `| ${row.join(' | ')} |`).join('\n');

/** The table of a run. */
export const renderRows = (rows: readonly RowSummary[]): string =>
  table(
    [
      'Call',
      'Faults',
      'Passed',
      'Calls a minute, at most',
      'Right again after, at most',
      'Changes at Hetzner, at most',
    ],
    rows.map(row => [row.operation, row.cells, row.passed, row.perMinute, `${row.recovery} s`, row.writes]),
  );

/** Names of fields that failed or did not run. */
export const missing = (results: readonly CellResult[]): string[] => {
  const ran = new Map(results.map(result => [`${result.operation} x ${result.fault}`, result]));
  return cells.flatMap(cell => {
    const result = ran.get(nameOf(cell));
    if (result === undefined) return [`${nameOf(cell)}: did not run`];
    return result.failures.length === 0 ? [] : [`${nameOf(cell)}: ${result.failures.join('; ')}`];
  });
};

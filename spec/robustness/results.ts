import type { CellResult } from './cell.ts';
import { limits } from './cell.ts';
import { type Cell, cells, faults, nameOf, representative } from './matrix.ts';
import type { Operation } from './operations.ts';

/** What a full run of the fault matrix came to, one line a call; kept in `last-run.json` for the docs. */
export interface RunSummary {
  readonly date: string;
  readonly machine: string;
  readonly minutes: number;
  readonly rows: readonly RowSummary[];
}

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

const table = (head: readonly string[], rows: ReadonlyArray<readonly (string | number)[]>): string =>
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

const callsWith = (own: readonly Cell[]): string => {
  const operations = own.map(({ operation }) => operation);
  const sides = new Map<Operation['side'], number>();
  for (const { side } of operations) sides.set(side, (sides.get(side) ?? 0) + 1);
  if (operations.length <= 2) return operations.map(({ name }) => name).join(', ');
  return [...sides].map(([side, count]) => `${count} of ${side === 'hetzner' ? 'Hetzner' : 'Kubernetes'}`).join(', ');
};

/** docs/robustness.md, from the tables of the matrix and its last full run. */
export const renderRobustness = ({ date, machine, minutes, rows }: RunSummary): string => `# Robustness

What the program survives, shown by a matrix of faults and calls over the whole program, with a simulated Hetzner and Kubernetes
in virtual time. \`make robustness\` runs all ${cells.length} fields and prints the table below; \`make scenarios\` runs ${representative.length} of them, with
each fault and each call at least once.

## What happens in each field

Nodes join (one with a route that somebody else has made), leave, lose their servers and turn not ready; Services with load balancers
are created, changed in every way and deleted; certificates are issued, fail and are replaced; watches are cut. All this goes on for
six minutes with the fault in one call, then the program is started anew with the fault still there, and after four more minutes
the fault ends. In each field holds:

- within ${limits.recovery / 60_000} minutes after the end of the fault all nodes, taints, routes, load balancers, targets, listeners, certificates,
  reverse DNS and statuses are right, and ten more minutes change nothing
- no node with a server, no load balancer in use, nothing that belongs to somebody else was deleted at any time
- at most ${limits.perMinute} tries of the call in any minute, and at most ${limits.writes} accepted changes at Hetzner in all
- the program does not end, except with a message that names a refused token or a missing network, and goes on when started again
- no rejected promise is left unhandled
- the log names the cause at \`warn\` or \`error\` (code, status or network error), for events at \`debug\`
- the token is in no line of the log, at \`debug\`, although refusals echo it

## Faults

${table(
  ['Fault', 'Calls'],
  faults.map(fault => [fault.name, callsWith(cells.filter(cell => cell.fault === fault))]),
)}

## Last full run

${date}, ${machine}, ${minutes} minutes: ${rows.reduce((sum, row) => sum + row.passed, 0)} of ${cells.length} fields passed.

${renderRows(rows)}

## More

| what | where | figures |
| --- | --- | --- |
| random life of nodes with faults, 10,000 steps | \`make scenarios\` (life-at-random; SEED, STEPS) | no node with a machine deleted |
| random changes and faults of load balancers | \`make scenarios\` (load-balancer-random; SEED, RUNS) | at rest at what is wanted |
| leadership under stress | \`make scenarios\` (replicas) | never two writers |
| a week with 1,000 nodes while others use the quota up every few hours, for up to ten minutes | \`make scale\` (quota-week; DAYS, NODES, SEED) | 55 bursts of joins: all initialised within 58 s of the quota's return, 253 of 7,733 requests refused |
| a month with churn, 60 nodes and 12 Services | \`make scale\` (soak; DAYS, NODES, SERVICES) | heap 30, 31, 33 MiB after 10, 20, 30 days; 13 timers, 2 watches and 404 series each time |
| text and JSON from outside | \`make scenarios\` (hostile-input) | 15 readers of text, 14 of JSON: none throws what is not declared, time in proportion to size |
`;

/** Names of fields that failed or did not run. */
export const missing = (results: readonly CellResult[]): string[] => {
  const ran = new Map(results.map(result => [`${result.operation} x ${result.fault}`, result]));
  return cells.flatMap(cell => {
    const result = ran.get(nameOf(cell));
    if (result === undefined) return [`${nameOf(cell)}: did not run`];
    return result.failures.length === 0 ? [] : [`${nameOf(cell)}: ${result.failures.join('; ')}`];
  });
};

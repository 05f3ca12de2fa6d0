import type { RequestEntry } from './journal.ts';

/** Checks for "one writer at a time" over the request log. */

/** An unbroken run of writes by one writer. */
export interface Turn {
  readonly writer: string;
  readonly from: number;
  readonly to: number;
  readonly writes: number;
}

const writes = (log: readonly RequestEntry[]): RequestEntry[] => log.filter(one => one.writer !== undefined);

/** Who wrote when, in order. With one writer at a time a name comes back only after a real hand-over. */
export function turns(log: readonly RequestEntry[]): Turn[] {
  const found: Turn[] = [];
  for (const { writer = '', at } of writes(log)) {
    const last = found.at(-1);
    if (last?.writer === writer) found[found.length - 1] = { ...last, to: at, writes: last.writes + 1 };
    else found.push({ writer, from: at, to: at, writes: 1 });
  }
  return found;
}

/** Pairs of writes by different writers of which the later came before the earlier one's action ended (or within `grace` ms). */
export function overlappingWrites(log: readonly RequestEntry[], grace = 0): [RequestEntry, RequestEntry][] {
  const all = writes(log);
  const open: RequestEntry[] = [];
  const pairs: [RequestEntry, RequestEntry][] = [];
  const end = (one: RequestEntry): number => Math.max(one.action?.ends ?? one.at, one.at + grace);
  for (const later of all) {
    open.splice(0, open.length, ...open.filter(one => end(one) > later.at));
    for (const earlier of open) if (earlier.writer !== later.writer) pairs.push([earlier, later]);
    open.push(later);
  }
  return pairs;
}

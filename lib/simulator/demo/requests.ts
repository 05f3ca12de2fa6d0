import type { JournalEntry } from '../kubernetes/journal.ts';
import { parseRoute } from '../kubernetes/route.ts';
import type { RequestFigure } from './reference.ts';

/** Number of requests by "METHOD route". */
export type Counts = Readonly<Record<string, number>>;

const actionPolls = 'GET /actions';

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** All requests, with and without the polls of actions. */
export function figureOf(counts: Counts): RequestFigure {
  const polls = Object.entries(counts).filter(([route]) => route.startsWith(actionPolls));
  const withActions = sum(Object.values(counts));
  return { withActions, withoutActions: withActions - sum(polls.map(([, count]) => count)) };
}

/** Requests to the Kubernetes API by verb and resource. */
export function countKubernetes(entries: readonly JournalEntry[]): Counts {
  const counts: Record<string, number> = {};
  for (const { method, path, verb } of entries) {
    const route = parseRoute(method, path);
    const name = typeof route === 'string' ? `${method} ${path}` : `${verb} ${route.resource.plural}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

import { getEventListeners } from 'node:events';
import { queryObjects } from 'node:v8';
import type { FakeKubernetes } from '../../lib/simulator/kubernetes/fake.ts';
import type { VirtualApp, VirtualController } from '../support/virtual-app.ts';

/** What a process holds at one moment, after a collection of its garbage. The simulated APIs are in it. */
export interface Held {
  /** KiB */
  readonly heap: number;
  readonly timers: number;
  readonly watches: number;
  /** Listeners of the process. */
  readonly listeners: number;
  /** Lines of the exposition. */
  readonly series: number;
  /** Entries of all Maps and Sets that there are. */
  readonly entries: number;
  /** Functions, which listeners and promises that nobody settles keep alive. */
  readonly closures: number;
}

/** What a simulated time of churn came to. */
export interface Soak {
  readonly days: number;
  readonly nodes: number;
  readonly services: number;
  /** After a third, two thirds and the whole, each at rest. */
  readonly samples: readonly Held[];
  /** Requests to Hetzner in each third. */
  readonly requests: readonly number[];
  /** What is not as it should be in the end. */
  readonly wrong: readonly string[];
}

/** What has grown by more than work under way explains, since the end of the first third. */
export const growth = ({ days, nodes, samples }: Soak): string[] => {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return ['no samples'];
  // One node an hour: their names stay, up to a bound, in the one table of strings that many objects share.
  const names = days * 16;
  const more: Record<keyof Held, number> = {
    heap: first.heap / 20 + names,
    timers: 5,
    watches: 0,
    listeners: 0,
    series: 5,
    entries: names + nodes / 20 + 30,
    closures: 150,
  };
  return (Object.keys(more) as (keyof Held)[])
    .filter(key => last[key] > first[key] + more[key])
    .map(key => `${key}: ${samples.map(one => one[key]).join(', ')}`);
};

/** One line for each instance: `Map(3) {...`. */
const entriesOf = (collection: typeof Map | typeof Set): number =>
  queryObjects(collection, { format: 'summary' })
    .map(text => Number(/^[^(]*\((\d+)\)/.exec(text)?.[1] ?? 0))
    .reduce((sum, count) => sum + count, 0);

const eventsPath = '/api/v1/namespaces/default/events';

/** As the API server does: it keeps events for an hour, and what changed for a few minutes. */
export const expire = (kubernetes: FakeKubernetes): void => {
  const events = kubernetes.list(eventsPath) as unknown as readonly { metadata: { name: string } }[];
  for (const { metadata } of events) kubernetes.delete(`${eventsPath}/${metadata.name}`);
  kubernetes.journal.clear();
  kubernetes.compact();
};

/** Expires what the simulated API keeps, and looks. */
export const look = async (v: VirtualApp, controller: VirtualController): Promise<Held> => {
  expire(v.kubernetes);
  const series = (await controller.metrics()).split('\n').length;
  // Each query collects garbage first.
  const entries = entriesOf(Map) + entriesOf(Set);
  const closures = queryObjects(Function, { format: 'count' });
  return {
    heap: Math.round(process.memoryUsage().heapUsed / 1_024),
    timers: v.timers(),
    watches: v.kubernetes.openWatches().length,
    listeners: process.eventNames().reduce((sum, name) => sum + getEventListeners(process, name).length, 0),
    series,
    entries,
    closures,
  };
};

import { isInitialised, networkUnavailable } from '../support/scenario.ts';
import type { Project } from './project.ts';

/** Instants in ms; undefined for what did not happen. */
interface Story {
  joined?: number;
  initialised?: number;
  route?: number;
  available?: number;
}

export interface Latencies {
  /** Seconds from the join to each step, sorted. */
  readonly initialised: readonly number[];
  readonly route: readonly number[];
  readonly available: readonly number[];
}

export interface Observer {
  /** Stops looking. */
  finish(): Latencies;
}

/** Value below which `share` of the sorted `values` lie; NaN when there are none. */
export const percentile = (values: readonly number[], share: number): number =>
  values[Math.min(values.length - 1, Math.ceil(values.length * share) - 1)] ?? Number.NaN;

/** ms between two looks at the routes of the fake. */
const lookEvery = 5;

/**
 * Times what happens to the Nodes that join from now on: their steps by a watch of the bench's own, their routes by the
 * state of the fake, where a route is present from the end of its action.
 */
export const observe = async ({ cluster, hetzner, networkID }: Project): Promise<Observer> => {
  const stories = new Map<string, Story>();
  const list = await cluster.client.must('GET', '/api/v1/nodes');
  const before = new Set(list.items.map(node => node.metadata.name));
  const watch = await cluster.client.watch(`/api/v1/nodes?watch=true&resourceVersion=${list.metadata.resourceVersion}`);
  const follow = async (): Promise<void> => {
    for (let event = await watch.next(3_600_000); event !== undefined; event = await watch.next(3_600_000)) {
      const { name } = event.object.metadata;
      if (before.has(name)) continue;
      const now = Date.now();
      const story = stories.get(name) ?? {};
      stories.set(name, story);
      story.joined ??= now;
      if (isInitialised(event.object)) story.initialised ??= now;
      if (networkUnavailable(event.object) === 'False') story.available ??= now;
    }
  };
  const following = follow();
  const arrivals = new Map<string, number>();
  const look = setInterval(() => {
    for (const { destination } of hetzner.networks.get(networkID)?.routes ?? []) {
      if (!arrivals.has(destination)) arrivals.set(destination, Date.now());
    }
  }, lookEvery);

  const since = (pick: (story: Story) => number | undefined): number[] =>
    [...stories.values()]
      .map(story => (pick(story) ?? Number.POSITIVE_INFINITY) - (story.joined ?? 0))
      .map(ms => ms / 1_000)
      .toSorted((a, b) => a - b);

  return {
    finish: () => {
      clearInterval(look);
      watch.close();
      void following;
      for (const [name, story] of stories) {
        const at = arrivals.get(`10.244.${name.slice(1)}.0/24`);
        if (at !== undefined) story.route = at;
      }
      return {
        initialised: since(story => story.initialised),
        route: since(story => story.route),
        available: since(story => story.available),
      };
    },
  };
};

/** p50 and p99. */
export const spread = (values: readonly number[]): number[] => [percentile(values, 0.5), percentile(values, 0.99)];

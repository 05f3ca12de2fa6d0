import type { FakeHetznerOptions } from '../../lib/simulator/hetzner/fake.ts';
import { type Cluster, eventually } from '../support/cluster.ts';
import type { ControllerProcess } from '../support/controller-process.ts';
import { freePorts } from '../support/free-ports.ts';
import {
  createScenario,
  isInitialised,
  networkUnavailable,
  type Scenario,
  type StartOptions,
} from '../support/scenario.ts';

/** What a group of rows works with. */
export interface Bench {
  readonly cluster: Cluster;
  /** Shorter waits: figures are rougher. */
  readonly quick: boolean;
  /** Where the controller keeps its compiled code, as the image does. */
  readonly compileCache: string;
}

/** Requests at the fake: without and with `GET /actions`. */
export interface Requests {
  readonly without: number;
  readonly all: number;
  readonly byRoute: string;
}

/** One project with its cluster emptied, and a controller that runs as in the image. */
export interface Project extends Scenario {
  launch(options?: StartOptions): Promise<ControllerProcess>;
  /** Waits until these nodes are initialised, routed and say so. */
  converged(nodes: readonly number[], timeout?: number): Promise<void>;
  /** Creates Nodes 10 at a time: 99 TLS handshakes at once would be what is measured. */
  joinAll(nodes: readonly number[]): Promise<void>;
  /** Requests since the last `clearRequests`, when none came for a while. */
  settledRequests(): Promise<Requests>;
}

export const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

/** The whole numbers from `first` to `last`. */
export const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i);

/** Does the jobs, so many at a time. */
export const inParallel = async (lanes: number, jobs: readonly (() => Promise<unknown>)[]): Promise<void> => {
  const rest = [...jobs];
  const lane = async (): Promise<void> => {
    for (let job = rest.shift(); job !== undefined; job = rest.shift()) await job();
  };
  await Promise.all(range(1, lanes).map(lane));
};

/** Gives `run` a fresh project and cleans up after it. */
export const withProject = async <T>(
  bench: Bench,
  options: FakeHetznerOptions,
  run: (project: Project) => Promise<T>,
): Promise<T> => {
  const endings: (() => Promise<void>)[] = [];
  const scenario = await createScenario({ after: end => endings.push(end) }, bench.cluster, {
    answerDelay: 20,
    actionDuration: 400,
    ...options,
  });
  const { cluster, hetzner } = scenario;

  const launch = async ({ args = [], env = {}, ...more }: StartOptions = {}): Promise<ControllerProcess> => {
    const [port = 0] = await freePorts(1);
    return scenario.start({
      ...more,
      args: [`--secure-port=${port}`, '--bind-address=127.0.0.1', ...args],
      env: { NODE_COMPILE_CACHE: bench.compileCache, ...env },
    });
  };

  const settledRequests = async (): Promise<Requests> => {
    const quiet = bench.quick ? 3_000 : 10_000;
    await eventually(
      'no more requests',
      async () => (Date.now() - (hetzner.requests.at(-1)?.at ?? 0) > quiet ? true : undefined),
      120_000,
    );
    const counts = hetzner.counts();
    const sum = (routes: readonly [string, number][]): number => routes.reduce((total, [, count]) => total + count, 0);
    const entries = Object.entries(counts);
    const without = sum(entries.filter(([route]) => !route.startsWith('GET /actions')));
    return { without, all: sum(entries), byRoute: entries.map(([route, count]) => `${count} ${route}`).join(', ') };
  };

  try {
    return await run({
      ...scenario,
      launch,
      settledRequests,
      joinAll: nodes =>
        inParallel(
          10,
          nodes.map(i => () => scenario.join(i)),
        ),
      converged: async (nodes, timeout = 60_000) => {
        const missing = async (): Promise<true | undefined> => {
          const { items } = await cluster.client.must('GET', '/api/v1/nodes');
          const done = items.filter(node => isInitialised(node) && networkUnavailable(node) === 'False');
          return done.length >= nodes.length && scenario.routes().length >= nodes.length ? true : undefined;
        };
        await eventually(`${nodes.length} nodes routed`, missing, timeout);
      },
    });
  } finally {
    for (const end of endings) await end();
  }
};

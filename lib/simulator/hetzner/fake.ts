import type { ActionRecord } from './actions.ts';
import { type CertificatesByHand, certificatesByHand } from './by-hand/certificates.ts';
import { type LoadBalancersByHand, loadBalancersByHand } from './by-hand/load-balancers.ts';
import { type NetworksByHand, networksByHand } from './by-hand/networks.ts';
import { type RobotByHand, robotByHand } from './by-hand/robot.ts';
import { type ServersByHand, serversByHand } from './by-hand/servers.ts';
import { createCloudSurface } from './cloud-surface.ts';
import { answerInstead, dispose } from './disposition.ts';
import { createFaultBook, type Faults } from './faults.ts';
import { type CountFilter, createJournal, identify, type RequestEntry } from './journal.ts';
import { defaultLoadBalancerSettings, type LoadBalancerSettings } from './lb-settings.ts';
import { createMetadataSurface } from './metadata-surface.ts';
import { createRateLimit } from './rate-limit.ts';
import { type PodNetworks, type Unreachable, unreachablePods } from './reachability.ts';
import { createRobotState, type RobotSettings } from './robot-state.ts';
import { createRobotSurface } from './robot-surface.ts';
import type { Surface } from './surface.ts';
import type { FakeAnswer, FakeRequest } from './wire.ts';
import { createWorld, type FakeSettings, type World } from './world.ts';

export interface FakeHetznerOptions extends Partial<FakeSettings> {
  /** Clock in ms since the epoch. The fake has no timers: it catches up with this clock at each use. */
  readonly now?: () => number;
  /** Requests an hour. */
  readonly limit?: number;
  /** How many requests the log keeps. */
  readonly keepRequests?: number;
  /** How many actions are remembered. */
  readonly keepActions?: number;
  readonly robot?: Partial<RobotSettings>;
}

/** One project at Hetzner Cloud and one account at Robot, in memory. */
export interface FakeHetzner {
  /** Answers one request: changes the state and says what is to be sent, and how. Never throws for bad requests. */
  handle(request: FakeRequest): FakeAnswer;
  /** May be changed while it runs. */
  readonly settings: FakeSettings;
  readonly servers: ServersByHand;
  readonly networks: NetworksByHand;
  readonly loadBalancers: LoadBalancersByHand;
  readonly certificates: CertificatesByHand;
  readonly robot: RobotByHand;
  readonly faults: Faults;
  /** Pairs of servers between whose pods nothing gets through, by the routes of the networks there are now. */
  unreachablePods(pods: PodNetworks): Unreachable[];
  /** Actions, newest last. */
  actions(): ActionRecord[];
  /** The server that the metadata service answers for; undefined for none. */
  metadataFor(serverId: number | undefined): void;
  setRateLimit(to: { remaining?: number; limit?: number }): void;
  /** Other users of the project take `tokens` (all by default), and all that is refilled in the next `forMs`. */
  drain(others?: { tokens?: number; forMs?: number }): void;
  /** Log of the requests, oldest first. */
  readonly requests: readonly RequestEntry[];
  count(filter?: CountFilter): number;
  /** Number of requests by "METHOD route template". */
  counts(filter?: CountFilter): Record<string, number>;
  clearRequests(): void;
}

/** The surface of a path and the path inside it; the Cloud API also refuses what belongs to nobody. */
function locate(
  surfaces: readonly Surface[],
  cloud: Surface,
  path: string,
): { surface: Surface; inner: string; known: boolean } {
  for (const surface of surfaces)
    if (path === surface.prefix || path.startsWith(`${surface.prefix}/`))
      return { surface, inner: path.slice(surface.prefix.length), known: true };
  return { surface: cloud, inner: path, known: false };
}

/** The settings, as far as given, and defaults for the rest. */
const chosen = (defaults: LoadBalancerSettings, given: Partial<LoadBalancerSettings>): LoadBalancerSettings => ({
  ...defaults,
  ...Object.fromEntries(Object.entries(given).filter(([key, value]) => key in defaults && value !== undefined)),
});

/** The same functions; after each one the watchers look at what has become of the state. */
function noticed<T extends object>(world: World, byHand: T): T {
  const entries = Object.entries(byHand).map(([name, change]: [string, (...args: unknown[]) => unknown]) => [
    name,
    (...args: unknown[]) => {
      const result = change(...args);
      world.changed(world.settle());
      return result;
    },
  ]);
  return Object.fromEntries(entries);
}

export function createFakeHetzner(options: FakeHetznerOptions = {}): FakeHetzner {
  const now = options.now ?? Date.now;
  const settings: FakeSettings = {
    answerDelay: options.answerDelay ?? 0,
    actionDuration: options.actionDuration ?? 400,
    token: options.token ?? 'x'.repeat(64),
    readOnly: options.readOnly ?? false,
    networkChanges: options.networkChanges ?? 'parallel',
    gateways: options.gateways ?? 'in-range',
    ...chosen(defaultLoadBalancerSettings, options),
  };
  const world = createWorld(settings, now, options.keepActions);
  const quota = createRateLimit(options.limit ?? 3600, now());
  const faults = createFaultBook(now);
  const journal = createJournal(options.keepRequests ?? 100_000);
  let metadataServer: number | undefined;
  const cloud = createCloudSurface(quota);
  const meta = createMetadataSurface(() => metadataServer);
  const robot = createRobotState(options.robot ?? {});
  const robotSurface = createRobotSurface(robot);

  return {
    handle(request) {
      const at = world.settle();
      const { surface, inner, known } = locate([cloud, meta, robotSurface], cloud, request.path);
      const match = known ? surface.match(inner) : undefined;
      const path = surface === cloud ? inner : request.path;
      const template = match && (surface === cloud ? match.template : surface.prefix + match.template);
      const fault = faults.take(at, request, path, template);
      const actions: ActionRecord[] = [];
      const draft = answerInstead(fault) ?? surface.answer({ world, at, request, match, fault, actions });
      world.changed(at);
      journal.record({
        at,
        method: request.method,
        path,
        query: request.query.toString(),
        route: template ?? path,
        status: draft.status,
        code: draft.code,
        ...identify(request),
        action: actions[0],
        fault: fault?.kind,
      });
      return dispose(draft, fault, settings.answerDelay);
    },
    settings,
    servers: noticed(world, serversByHand(world)),
    networks: noticed(world, networksByHand(world)),
    loadBalancers: noticed(world, loadBalancersByHand(world)),
    certificates: noticed(world, certificatesByHand(world)),
    robot: robotByHand(robot, world),
    faults: { add: faults.add, clear: faults.clear },
    unreachablePods(pods) {
      world.settle();
      return unreachablePods(world, pods);
    },
    actions() {
      world.settle();
      return [...world.actions.list()];
    },
    metadataFor(serverId) {
      metadataServer = serverId;
    },
    setRateLimit: to => quota.set(now(), to),
    drain: others => quota.drain(now(), others),
    requests: journal.requests,
    count: journal.count,
    counts: journal.counts,
    clearRequests: journal.clear,
  };
}

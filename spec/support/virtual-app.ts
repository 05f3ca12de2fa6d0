import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createApp } from '../../lib/app.ts';
import { createClients } from '../../lib/clients.ts';
import type { RobotLogin } from '../../lib/hetzner/robot-login.ts';
import { createHealth, type Health } from '../../lib/observability/health.ts';
import { createMetrics } from '../../lib/observability/metrics.ts';
import { createLogger, type RootLogger } from '../../lib/observability/winston-logger.ts';
import { loadSettings } from '../../lib/settings/load.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { createFakeHetzner, type FakeHetzner, type FakeHetznerOptions } from '../../lib/simulator/hetzner/fake.ts';
import { type Exchanger, InProcessDispatcher } from '../../lib/simulator/kubernetes/dispatcher.ts';
import { createFakeKubernetes, type FakeKubernetes } from '../../lib/simulator/kubernetes/fake.ts';
import type { Run } from '../../lib/streams/workqueue.ts';
import { exchangerOf } from './hetzner-exchanger.ts';
import type { Interleaving } from './interleaving.ts';
import { inProcessClient, type KubeAccess, type KubeObject } from './kube-client.ts';
import { type LogRecord, parseLogLines } from './log-lines.ts';
import { createNode, heartbeat, type NodeOptions, nodePath } from './nodes.ts';
import { numbers } from './random.ts';
import { addServer, clusterCIDR, isInitialised, networkUnavailable, routesOf, type ServerOptions } from './scenario.ts';
import { useVirtualTime, type VirtualTime, type VirtualTimeContext } from './virtual-time.ts';

export interface VirtualStartOptions {
  /** Added to the usual flags; a later flag wins. The election is off unless `--leader-elect=true`: a day of it is 50,000 requests. */
  readonly args?: readonly string[];
  /** Added to the usual variables; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Keeps no runs and only the last thousand lines of the log, so that memory is that of the program. */
  readonly forgets?: boolean;
}

/** The application in this process. What the process around it does (signals, servers, exit) is not here. */
export interface VirtualController {
  readonly settings: Settings;
  readonly logger: RootLogger;
  readonly health: Health;
  /** User of its requests to the Kubernetes API, to aim faults and to filter the journal. */
  readonly user: string;
  lines(): readonly LogRecord[];
  /** How runs ended, of all controllers. */
  readonly runs: readonly Run[];
  /** What ended it; undefined while it runs and after `stop`. */
  error(): unknown;
  /** The exposition of its metrics. */
  metrics(): Promise<string>;
  /** As SIGTERM does; lets the time pass that it takes. */
  stop(): Promise<void>;
  /** As SIGKILL does: nothing of it is heard any more, the lease is not released. */
  kill(): Promise<void>;
}

/** Requests at Hetzner; `polls` are those to `GET /actions`, which are part of `all`. */
export interface Spent {
  readonly all: number;
  readonly polls: number;
  readonly writes: number;
}

/** One fake project, one fake cluster and the controllers between them, in one process and in virtual time: days pass in seconds. */
export interface VirtualApp
  extends Pick<VirtualTime, 'now' | 'advance' | 'until' | 'settled' | 'setWallClock' | 'timers'>,
    KubeAccess {
  readonly kubernetes: FakeKubernetes;
  readonly hetzner: FakeHetzner;
  /** Network `k8s`, 10.0.0.0/8 with the subnet 10.0.0.0/16. */
  readonly networkID: number;
  start(options?: VirtualStartOptions): VirtualController;
  /** As in a scenario: server w<i>, attached with 10.0.1.<i>. */
  addServer(i: number, options?: ServerOptions): number;
  /** As in a scenario: node w<i> with the pod CIDR 10.244.<i>.0/24. */
  join(i: number, options?: Partial<NodeOptions>): Promise<KubeObject>;
  node(name: string): KubeObject | undefined;
  /** Lets time pass until the node is initialised, has its route and says so; returns how many ms that took. */
  untilRouted(i: number, most?: number): Promise<number>;
  routes(): string[];
  eventsOf(name: string): KubeObject[];
  /** From now on each kubelet reports its status every `every` ms, by default as often as an unchanged one does. */
  startHeartbeats(every?: number): void;
  /** The token that is read from now on, as from a file that was replaced. It may be that of another project. */
  rotateToken(to: string, project?: FakeHetzner): void;
  /** The login to Robot that is read from now on. */
  rotateLogin(to: RobotLogin): void;
  /** Requests to Hetzner since the instant `since` (of `now`). */
  spent(since?: number): Spent;
}

const ADMIN = 'admin-token';

/**
 * Virtual time for the rest of the spec, with both fakes in it: Hetzner answers in 20 ms and its actions take 400 ms,
 * the Kubernetes API answers in 2 ms, `Math.random` is the same in each run. When the spec ends the controllers are stopped and what they wrote is checked: known
 * keys, and nowhere the token.
 */
export function virtualApp(
  t: VirtualTimeContext,
  options: FakeHetznerOptions = {},
  interleaving?: Interleaving,
): VirtualApp {
  const controllers: { kill(): Promise<void>; lines(): unknown }[] = [];
  // Before virtual time takes its leave, which is in the order of registration.
  t.after(async () => {
    for (const controller of controllers) await controller.kill();
    for (const controller of controllers) controller.lines();
  });
  // Not as a mock, which keeps each call with its stack.
  const { random } = Math;
  // The same in each run, so that jitter does not decide about a spec.
  Math.random = (interleaving?.random ?? numbers(1)).next;
  t.after(() => {
    Math.random = random;
  });
  const time = useVirtualTime(t, undefined, interleaving?.random.next);
  const { now, clock } = time;
  const token = randomBytes(32).toString('hex');
  const users: Record<string, string> = { [ADMIN]: 'admin' };
  const kubernetes = createFakeKubernetes({ tokens: users });
  const hetzner = createFakeHetzner({ token, now, answerDelay: 20, actionDuration: 400, ...options });
  const { id: networkID } = hetzner.networks.create({ name: 'k8s', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/16'] });
  const projects = new Map([[token, hetzner]]);
  let [currentToken, rotatedLogin] = [token, undefined as RobotLogin | undefined];
  const robotLoginOf = ({ robot: { enabled, user, password } }: Settings): (() => RobotLogin) | undefined =>
    enabled && user !== undefined && password !== undefined ? () => rotatedLogin ?? { user, password } : undefined;
  /** What answers the requests of a controller: the project of the token it shows. */
  const exchangerFor = (user: string): Exchanger => ({
    exchange: (request, answer) => {
      const shown = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
      return exchangerOf(projects.get(shown) ?? hetzner, user).exchange(request, answer);
    },
  });
  const between: Interleaving['between'] = interleaving?.between ?? ((_, exchanger) => exchanger);
  const access: KubeAccess = { client: inProcessClient(kubernetes.handle, ADMIN) };

  const load = ({ args = [], env = {} }: VirtualStartOptions): Settings => {
    const variables: Record<string, string | undefined> = {
      HCLOUD_TOKEN: token,
      HCLOUD_ENDPOINT: 'http://hetzner/v1',
      HCLOUD_NETWORK: 'k8s',
      HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: 'true',
      ...env,
    };
    const usual = ['--cloud-provider=hcloud', '--allow-untagged-cloud', `--cluster-cidr=${clusterCIDR}`];
    const argv = [...usual, '--leader-elect=false', ...args];
    const loaded = loadSettings({ argv, env: variables, readFile: path => assert.fail(`reads ${path}`) });
    if ('errors' in loaded) throw new Error(loaded.errors.join('\n'));
    return loaded.settings;
  };

  const start = (more: VirtualStartOptions = {}): VirtualController => {
    const settings = load(more);
    const user = `controller-${controllers.length + 1}`;
    users[`${user}-token`] = user;
    const written: string[] = [];
    const runs: Run[] = [];
    const logger = createLogger({
      level: settings.log.level,
      secrets: () => [...projects.keys()],
      clock,
      write: line => {
        written.push(line);
        if (more.forgets === true && written.length > 1_000) written.shift();
      },
    });
    const [metrics, health] = [createMetrics(), createHealth()];
    const dispatcher = new InProcessDispatcher(between('hetzner', exchangerFor(user)));
    const kubeDispatcher = new InProcessDispatcher(between('kubernetes', kubernetes), 2);
    const connection = {
      server: 'http://kubernetes',
      namespace: undefined,
      authorization: () => Promise.resolve(`Bearer ${user}-token`),
      tls: () => ({}),
    };
    const clients = createClients({
      settings,
      token: () => currentToken,
      robotLogin: robotLoginOf(settings),
      clock,
      logger,
      metrics,
      connection,
      dispatcher,
      kubeDispatcher,
    });
    const app = createApp({ settings, ...clients, clock, logger, metrics, health, identity: user });
    let error: unknown;
    const subscription = app.runs$.subscribe({
      next: run => {
        if (more.forgets !== true) runs.push(run);
      },
      error: err => {
        error = err;
      },
    });
    const cut = async (): Promise<void> => {
      await Promise.all([kubeDispatcher.destroy(), dispatcher.destroy()]);
    };
    const controller = {
      settings,
      logger,
      health,
      user,
      lines: () => parseLogLines(written, [...projects.keys()]),
      runs,
      error: () => error,
      metrics: () => metrics.render(),
      stop: async () => {
        subscription.unsubscribe();
        await time.settled(app.close());
        await cut();
      },
      kill: async () => {
        kubernetes.faults.add({ user, fault: { kind: 'hang' } });
        subscription.unsubscribe();
        await cut();
        await time.settled(app.close());
      },
    };
    controllers.push(controller);
    return controller;
  };

  const node = (name: string) => kubernetes.get(nodePath(name)) as KubeObject | undefined;
  return {
    ...time,
    ...access,
    kubernetes,
    hetzner,
    networkID,
    start,
    addServer: (i, server) => addServer(hetzner, networkID, i, server),
    join: (i, more = {}) => createNode(access, { name: `w${i}`, podCIDRs: [`10.244.${i}.0/24`], ...more }),
    node,
    untilRouted: (i, most) =>
      time.until(
        `w${i} is routed`,
        () => {
          const found = node(`w${i}`);
          return found !== undefined && isInitialised(found) && networkUnavailable(found) === 'False';
        },
        most,
      ),
    routes: () => routesOf(hetzner, networkID),
    eventsOf: name =>
      (kubernetes.list('/api/v1/namespaces/default/events') as unknown as KubeObject[]).filter(
        event => event.involvedObject?.name === name,
      ),
    startHeartbeats: (every = 300_000) => {
      const beat = (): void => {
        for (const { metadata } of kubernetes.list('/api/v1/nodes') as unknown as KubeObject[])
          void heartbeat(access, metadata.name);
      };
      setInterval(beat, every);
    },
    rotateToken: (to, project = hetzner) => {
      projects.set(to, project);
      currentToken = to;
    },
    rotateLogin: to => {
      rotatedLogin = to;
    },
    spent: (since = 0) => {
      const all = hetzner.count({ since });
      return {
        all,
        polls: hetzner.count({ since, method: 'GET', route: '/actions' }),
        writes: all - hetzner.count({ since, method: 'GET' }),
      };
    },
  };
}

import { type Observable, Subject } from 'rxjs';
import type { Dispatcher } from 'undici';
import { createHetzner, type Hetzner } from './hetzner/hetzner.ts';
import { createRobot, type Robot } from './hetzner/robot.ts';
import type { RobotLogin } from './hetzner/robot-login.ts';
import { createKubeClient, type KubeClient } from './kubernetes/client.ts';
import type { KubeConnection } from './kubernetes/credentials.ts';
import type { Logger } from './observability/logger.ts';
import { hetznerHooks, kubeHooks } from './observability/metric-hooks.ts';
import type { Metrics } from './observability/metrics.ts';
import type { Settings } from './settings/settings.ts';
import type { Clock } from './streams/clock.ts';
import { userAgent } from './version.ts';

export interface ClientsDeps {
  readonly settings: Settings;
  readonly token: () => string;
  /** Login to the Robot web service; undefined where Robot is not in use. */
  readonly robotLogin: (() => RobotLogin) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly connection: KubeConnection;
  /** To Hetzner. */
  readonly dispatcher: Dispatcher;
  /** To Kubernetes, instead of connections of its own. */
  readonly kubeDispatcher?: Dispatcher;
}

/** Credentials that were refused, by the setting they are from. */
export interface Refusal {
  readonly setting: string;
  readonly err: unknown;
}

export interface Clients {
  readonly hetzner: Hetzner;
  readonly robot: Robot | undefined;
  readonly client: KubeClient;
  /** Credentials that Hetzner refuses while the process runs. */
  readonly refusals$: Observable<Refusal>;
}

/** The clients of both sides, wired to the metrics. */
export function createClients(deps: ClientsDeps): Clients {
  const { settings, token, clock, logger, metrics, connection, dispatcher, kubeDispatcher } = deps;
  const hooks = hetznerHooks(metrics);
  const refusals = new Subject<Refusal>();
  const tell = (api: 'cloud' | 'robot', setting: string, err: unknown): void => {
    metrics.credentialsRefused.set({ api }, err === undefined ? 0 : 1);
    if (err !== undefined) refusals.next({ setting, err });
  };
  const hetzner = createHetzner({
    endpoint: settings.hcloud.endpoint,
    token,
    debug: settings.hcloud.debug,
    userAgent,
    clock,
    logger,
    dispatcher,
    hooks: {
      onRequest: hooks.onRequest,
      onInFlight: hooks.onInFlight,
      onBudget: hooks.onHeaders,
      onLookup: hit =>
        metrics.serverCacheRequests.inc({ subsystem: 'instances_v2', mode: 'all', result: hit ? 'hit' : 'miss' }),
      onOperation: op => metrics.operations.inc({ op }),
      onActions: count => metrics.actionsInFlight.set({}, count),
      onToken: err => tell('cloud', 'HCLOUD_TOKEN', err),
    },
  });
  metrics.onRender(() => {
    const list = hetzner.servers.latest();
    if (list !== undefined) metrics.serverSnapshotAge.set({}, (clock.monotonic() - list.requestedAt) / 1_000);
  });
  const client = createKubeClient({
    connection,
    userAgent,
    clock,
    ...(kubeDispatcher !== undefined && { dispatcher: kubeDispatcher }),
    ...kubeHooks(metrics, new URL(connection.server).host),
  });
  return { hetzner, robot: robotOf(deps, err => tell('robot', 'ROBOT_PASSWORD', err)), client, refusals$: refusals };
}

function robotOf(
  { settings, robotLogin, clock, logger, dispatcher, metrics }: ClientsDeps,
  onLogin: (refusal: unknown) => void,
): Robot | undefined {
  if (robotLogin === undefined) return undefined;
  const { endpoint, cacheTimeout, rateLimitWaitTime } = settings.robot;
  return createRobot({
    endpoint,
    login: robotLogin,
    userAgent,
    clock,
    logger,
    dispatcher,
    cacheTimeout,
    rateLimitWaitTime,
    debug: settings.hcloud.debug,
    onLoginRefused: err => onLogin(err),
    onLoginAccepted: () => onLogin(undefined),
    onRequest: ({ route, method, code }) =>
      metrics.robotRequests.inc({ route, method: method.toLowerCase(), code: String(code) }),
  });
}

import type { Dispatcher } from 'undici';
import { createHetzner, type Hetzner } from './hetzner/hetzner.ts';
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
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly connection: KubeConnection;
  /** To Hetzner. */
  readonly dispatcher: Dispatcher;
  /** To Kubernetes, instead of connections of its own. */
  readonly kubeDispatcher?: Dispatcher;
}

/** The clients of both sides, wired to the metrics. */
export function createClients(deps: ClientsDeps): { readonly hetzner: Hetzner; readonly client: KubeClient } {
  const { settings, token, clock, logger, metrics, connection, dispatcher, kubeDispatcher } = deps;
  const hooks = hetznerHooks(metrics);
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
  return { hetzner, client };
}

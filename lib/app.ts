import {
  combineLatest,
  EMPTY,
  filter,
  finalize,
  first,
  ignoreElements,
  merge,
  type Observable,
  switchMap,
  tap,
} from 'rxjs';
import { nodeController } from './controllers/node/node-controller.ts';
import { networkRoutes } from './controllers/route/network-routes.ts';
import { type Contact, firstContact } from './first-contact.ts';
import { fencedCloud } from './hetzner/fence.ts';
import type { Hetzner } from './hetzner/hetzner.ts';
import type { KubeClient } from './kubernetes/client.ts';
import { KubeError } from './kubernetes/errors.ts';
import { createEventRecorder } from './kubernetes/events.ts';
import { fencedClient } from './kubernetes/fence.ts';
import { createLeadership } from './kubernetes/leadership.ts';
import { listWatch } from './kubernetes/list-watch.ts';
import { pruneNode } from './kubernetes/prune.ts';
import { createReflector } from './kubernetes/reflector.ts';
import type { Term } from './kubernetes/term.ts';
import type { KubeNode } from './kubernetes/types.ts';
import { leadershipHealth } from './leadership-health.ts';
import type { Health } from './observability/health.ts';
import type { Logger } from './observability/logger.ts';
import { controllerHooks, watchHooks } from './observability/metric-hooks.ts';
import type { Metrics } from './observability/metrics.ts';
import type { Settings } from './settings/settings.ts';
import { exponentialBackoff } from './streams/backoff.ts';
import type { Clock } from './streams/clock.ts';
import type { Run } from './streams/workqueue.ts';

export interface AppDeps {
  readonly settings: Settings;
  readonly client: KubeClient;
  readonly hetzner: Hetzner;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly health: Health;
  /** Unique among the replicas. */
  readonly identity: string;
}

export interface App {
  /** The whole system; subscribing runs it. Errors only with what must end the process. */
  readonly runs$: Observable<Run>;
  /** After the end: hands the lease over and sends what events are left. */
  close(): Promise<void>;
}

/** A short, bounded label for what cut a watch. */
const causeOf = (err: unknown): string => (err instanceof KubeError ? err.reason || String(err.status) : 'cut');

/** The composition root: stores stay warm on every replica, controllers run while this one leads. */
export function createApp({ settings, client, hetzner, clock, logger, metrics, health, identity }: AppDeps): App {
  const backoff = exponentialBackoff({ initial: 5_000, max: 300_000, jitter: 'equal' });
  const quickBackoff = exponentialBackoff({ initial: 1_000, max: 60_000, jitter: 'equal' });
  const hooks = controllerHooks(metrics, clock);
  const watch = watchHooks(metrics, 'nodes');
  const nodes = createReflector<KubeNode>({
    events$: listWatch({ client, path: '/api/v1/nodes', prune: pruneNode, clock }).pipe(tap(() => watch.onEvent())),
    clock,
  });
  const election = leadershipHealth(health, clock, settings.leaderElection);
  const leadership = createLeadership({
    client,
    clock,
    settings: settings.leaderElection,
    identity,
    logger,
    onTurn: election.onTurn,
    onOther: election.onOther,
  });
  const events = createEventRecorder({
    client,
    component: 'hcloud-cloud-controller-manager',
    instance: identity,
    clock,
    logger,
  });
  health.setCheck('nodes', () => (nodes.store.synced ? undefined : 'the list of nodes is not complete yet'), 'ready');

  const stores$ = nodes.run$.pipe(
    tap(({ err, willRetryIn }) => {
      watch.onRestart(causeOf(err));
      logger.warn('Lost the watch of the Kubernetes API, will try again', {
        resource: 'nodes',
        after: willRetryIn,
        err,
      });
    }),
    ignoreElements(),
  );

  /** All that happens in one term of leadership; unsubscribing, which the end of the term does, stops it. */
  const runTerm = (term: Term): Observable<Run> => {
    const fenced = { client: fencedClient(client, term.isValid), cloud: fencedCloud(hetzner.cloud, term.isValid) };
    const synced$ = nodes.store.synced$.pipe(filter(Boolean), first());
    const contact$ = firstContact({ settings, ...hetzner, clock, logger, backoff: quickBackoff });
    return combineLatest([contact$, synced$]).pipe(switchMap(([contact]) => controllers(contact, fenced)));
  };

  const controllers = (
    { network }: Contact,
    fenced: { client: KubeClient; cloud: typeof hetzner.cloud },
  ): Observable<Run> => {
    const common = { nodes: nodes.store, servers: hetzner.servers, events, clock, logger, ...fenced };
    const { maxAge } = settings.serverCache;
    const node$ = nodeController({
      ...common,
      settings: {
        family: settings.instances.addressFamily,
        zoneLabelEnabled: settings.instances.zoneLabelEnabled,
        networkID: network?.value.id,
      },
      maxAge,
      refreshEvery: settings.nodes.statusUpdateFrequency,
      hooks: {
        ...hooks,
        onInitialised: node => {
          const seconds = Math.max(0, clock.now() - node.creationTimestamp) / 1_000;
          metrics.initialSyncDelay.observe({}, seconds);
          metrics.taintRemovalDelay.observe({}, seconds);
        },
      },
      backoff: quickBackoff,
    });
    const route$ =
      network === undefined
        ? EMPTY
        : networkRoutes({
            ...common,
            network,
            actions: hetzner.actions,
            settings: settings.routes,
            maxAge,
            hooks,
            metrics,
            backoff,
          });
    const running = (name: string, run$: Observable<Run>): Observable<Run> => {
      metrics.runningControllers.set({ name, manager: 'hcloud-reactive-controller' }, 1);
      return run$.pipe(
        finalize(() => metrics.runningControllers.set({ name, manager: 'hcloud-reactive-controller' }, 0)),
      );
    };
    return merge(
      settings.controllers.node ? running('node', node$) : EMPTY,
      settings.controllers.route ? running('route', route$) : EMPTY,
    );
  };

  const terms$ = leadership.term$.pipe(
    tap(election.onTerm),
    tap(term => metrics.leader.set({ name: settings.leaderElection.resourceName }, term === undefined ? 0 : 1)),
    switchMap(term => (term === undefined ? EMPTY : runTerm(term))),
  );
  return {
    runs$: merge(stores$, terms$),
    close: async () => {
      await leadership.release();
      await events.close();
    },
  };
}

import {
  combineLatest,
  defer,
  EMPTY,
  first,
  ignoreElements,
  merge,
  type Observable,
  of,
  retry,
  Subject,
  switchMap,
  tap,
  throwError,
} from 'rxjs';
import type { Refusal } from './clients.ts';
import { clusterNetworks } from './cluster-networks.ts';
import { createInstances } from './controllers/instances.ts';
import { holdsOneOf } from './controllers/load-balancer/identity.ts';
import { createProject } from './controllers/project.ts';
import { createWitness } from './controllers/witness.ts';
import { controllers } from './controllers.ts';
import { firstContact } from './first-contact.ts';
import { isReadOnlyToken } from './hetzner/errors.ts';
import { fencedHetzner } from './hetzner/fence.ts';
import type { Hetzner } from './hetzner/hetzner.ts';
import { serversInNetworks } from './hetzner/networks.ts';
import { readWrite } from './hetzner/refusal.ts';
import type { Robot } from './hetzner/robot.ts';
import type { Network } from './hetzner/types.ts';
import type { KubeClient } from './kubernetes/client.ts';
import { KubeError } from './kubernetes/errors.ts';
import type { EventReason } from './kubernetes/event-reasons.ts';
import { createEventRecorder } from './kubernetes/events.ts';
import { fencedClient } from './kubernetes/fence.ts';
import { createLeadership } from './kubernetes/leadership.ts';
import { listWatch } from './kubernetes/list-watch.ts';
import { pruneNode } from './kubernetes/prune.ts';
import { pruneService } from './kubernetes/prune-service.ts';
import { createReflector } from './kubernetes/reflector.ts';
import { selectorAnnotation } from './kubernetes/rivals.ts';
import type { Store } from './kubernetes/store.ts';
import type { Term } from './kubernetes/term.ts';
import type { KubeObject } from './kubernetes/types.ts';
import { leadershipHealth } from './leadership-health.ts';
import { NetworkReplaced, networkGuard } from './network-guard.ts';
import { createNetworkListReport } from './network-list-report.ts';
import type { Health } from './observability/health.ts';
import type { Logger } from './observability/logger.ts';
import { controllerHooks, watchHooks } from './observability/metric-hooks.ts';
import type { Metrics } from './observability/metrics.ts';
import { createSelection, tellOtherSelector } from './selection.ts';
import type { Settings } from './settings/settings.ts';
import { exponentialBackoff } from './streams/backoff.ts';
import type { Clock } from './streams/clock.ts';
import type { Snapshot } from './streams/snapshot.ts';
import type { Run } from './streams/workqueue.ts';

export interface AppDeps {
  readonly settings: Settings;
  readonly client: KubeClient;
  readonly hetzner: Hetzner;
  /** Undefined where Robot is not in use. */
  readonly robot: Robot | undefined;
  /** Credentials that Hetzner refuses while the process runs. */
  readonly refusals$: Observable<Refusal>;
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
export function createApp(deps: AppDeps): App {
  const { settings, client, robot, clock, logger, metrics, health, identity } = deps;
  const warn = (reason: EventReason, message: string): void => events.event(lease, 'Warning', reason, message);
  const onMissing = (network: string, isMissing: boolean): void =>
    metrics.networkMissing.set({ network }, isMissing ? 1 : 0);
  const networks =
    settings.hcloud.furtherNetworks &&
    clusterNetworks(settings.hcloud, deps.hetzner.networks, createNetworkListReport({ logger, warn, onMissing }));
  const hetzner: Hetzner =
    networks === undefined
      ? deps.hetzner
      : { ...deps.hetzner, servers: serversInNetworks(deps.hetzner.servers, deps.hetzner.networks) };
  const quickBackoff = exponentialBackoff({ initial: 1_000, max: 60_000, jitter: 'equal' });
  const hooks = controllerHooks(metrics, clock);
  const nodes = reflect('nodes', '/api/v1/nodes', pruneNode, deps);
  const services = reflect('services', '/api/v1/services', pruneService, deps);
  const stores = settings.controllers.loadBalancer ? [nodes, services] : [nodes];
  const instances = createInstances(hetzner, robot, clock);
  const election = leadershipHealth(health, clock, settings.leaderElection);
  const leadership = createLeadership({
    client,
    clock,
    settings: settings.leaderElection,
    identity,
    logger,
    onTurn: election.onTurn,
    onOther: (holder, annotations) => {
      election.onOther(holder);
      tellOtherSelector(settings, holder, annotations, logger);
    },
    annotations: { [selectorAnnotation]: settings.nodes.selector },
  });
  const events = createEventRecorder({
    client,
    component: 'hcloud-cloud-controller-manager',
    instance: identity,
    clock,
    logger,
  });
  // The lease is the one object that stands for the controller itself, and its leader is who asks Hetzner.
  const { resourceName: name, resourceNamespace: namespace } = settings.leaderElection;
  const lease = { kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', name, namespace, uid: '' };
  const selection = createSelection({
    settings,
    all: nodes.store,
    client,
    lease,
    events,
    clock,
    logger,
    backoff: quickBackoff,
  });
  const witness = createWitness(selection.nodes.list, instances.credentialsSince, since => {
    const known = hetzner.loadBalancerSnapshot.latest();
    return known !== undefined && known.requestedAt >= since && holdsOneOf(known.loadBalancers, services.store.list());
  });
  const project = createProject({ witness, instances, warn, clock, logger });
  /** All that happens in one term of leadership; unsubscribing, which the end of the term does, stops it. */
  const runTerm = (term: Term): Observable<Run> => {
    /** The network that has taken the place of the one that was found at first. */
    let replacement: Snapshot<Network> | undefined;
    const contact$ = defer(() =>
      replacement === undefined
        ? firstContact({ settings, ...hetzner, clock, logger, backoff: quickBackoff })
        : of({ network: replacement }),
    );
    const synced$ = combineLatest(stores.map(({ store }) => store.synced$)).pipe(first(all => all.every(Boolean)));
    const started$ = combineLatest([contact$, synced$, selection.lookout$]);
    return started$.pipe(
      switchMap(([{ network }]) => {
        const missed$ = new Subject<void>();
        const runs$ = controllers({
          settings,
          network,
          networks,
          nodes: selection.nodes,
          allNodes: nodes.store,
          services: services.store,
          instances,
          hetzner: { ...hetzner, ...fencedHetzner(hetzner, term.isValid) },
          client: fencedClient(client, term.isValid),
          events,
          witness,
          project,
          clock,
          logger,
          metrics,
          hooks,
          onNetworkMissed: () => missed$.next(),
        });
        return network === undefined || networks !== undefined
          ? runs$
          : merge(runs$, untilReplaced(network.value, missed$));
      }),
      retry({
        delay: err => {
          if (!(err instanceof NetworkReplaced)) return throwError(() => err);
          replacement = err.network;
          return of(undefined);
        },
      }),
    );
  };

  /** Where there are several networks their list is followed; the one and only is part of all that a term is made of. */
  const untilReplaced = (network: Network, missed$: Observable<unknown>): Observable<never> => {
    const { cloud, servers } = hetzner;
    const guard$ = networkGuard({
      network,
      wanted: settings.hcloud.network ?? network.name,
      cloud,
      servers,
      project,
      missed$,
      clock,
      logger,
      warn,
      onMissing: isMissing => onMissing(network.name, isMissing),
      backoff: exponentialBackoff({ initial: 10_000, max: 300_000, jitter: 'equal' }),
    });
    return guard$.pipe(switchMap(found => throwError(() => new NetworkReplaced(found))));
  };

  const terms$ = leadership.term$.pipe(
    tap(election.onTerm),
    tap(term => metrics.leader.set({ name: settings.leaderElection.resourceName }, term === undefined ? 0 : 1)),
    switchMap(term => (term === undefined ? EMPTY : runTerm(term))),
  );
  const refused$ = deps.refusals$.pipe(
    tap(({ setting, err }) => {
      const text = err instanceof Error ? err.message : String(err);
      const what = isReadOnlyToken(err) ? `${setting} can only read, ${readWrite}` : `Hetzner refuses ${setting}`;
      events.event(lease, 'Warning', 'CredentialsRefused', `${what}: ${text}`);
    }),
    ignoreElements(),
  );
  return {
    runs$: merge(selection.run$, ...stores.map(({ run$ }) => run$), refused$, terms$),
    close: async () => {
      await leadership.release();
      await events.close();
    },
  };
}

/** A store of one kind of object and what keeps it in step; readiness waits for its first list. */
function reflect<T extends KubeObject>(
  resource: string,
  path: string,
  prune: (raw: unknown) => T,
  { client, clock, metrics, health, logger }: AppDeps,
): { readonly store: Store<T>; readonly run$: Observable<never> } {
  const watch = watchHooks(metrics, resource);
  const events$ = listWatch({ client, path, prune, clock }).pipe(
    tap(({ type }) => {
      if (type === 'apply' || type === 'delete') watch.onEvent();
    }),
  );
  const { store, run$ } = createReflector<T>({ events$, clock });
  health.setCheck(resource, () => (store.synced ? undefined : `the list of ${resource} is not complete yet`), 'ready');
  const logged$ = run$.pipe(
    tap(({ err, willRetryIn }) => {
      watch.onRestart(causeOf(err));
      logger.warn('Lost the watch of the Kubernetes API, will try again', { resource, after: willRetryIn, err });
    }),
    ignoreElements(),
  );
  return { store, run$: logged$ };
}

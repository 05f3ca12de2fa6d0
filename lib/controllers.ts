import { concat, defer, EMPTY, finalize, merge, type Observable, of, Subject } from 'rxjs';
import { type ClusterNetworks, forEachNetwork, listedAgain } from './cluster-networks.ts';
import type { ControllerHooks } from './controllers/controller.ts';
import type { Instances } from './controllers/instances.ts';
import type { RangeSettings } from './controllers/ipam/desired.ts';
import { ipamController } from './controllers/ipam/ipam-controller.ts';
import { lifecycleController } from './controllers/lifecycle/lifecycle-controller.ts';
import { createCertificateKeeper } from './controllers/load-balancer/certificate-keeper.ts';
import { loadBalancerController } from './controllers/load-balancer/load-balancer-controller.ts';
import type { NameOfNetwork, NodeNetworks } from './controllers/networks.ts';
import type { NodeSettings } from './controllers/node/desired.ts';
import { nodeController } from './controllers/node/node-controller.ts';
import type { Project } from './controllers/project.ts';
import { networkRoutes } from './controllers/route/network-routes.ts';
import { createNodeIndex } from './controllers/route/node-index.ts';
import { summedStats } from './controllers/summed-stats.ts';
import type { Witness } from './controllers/witness.ts';
import type { Hetzner } from './hetzner/hetzner.ts';
import type { Network } from './hetzner/types.ts';
import type { KubeClient } from './kubernetes/client.ts';
import type { EventRecorder } from './kubernetes/events.ts';
import type { Store } from './kubernetes/store.ts';
import type { KubeNode, KubeService } from './kubernetes/types.ts';
import type { Logger } from './observability/logger.ts';
import type { Metrics } from './observability/metrics.ts';
import type { Settings } from './settings/settings.ts';
import { exponentialBackoff } from './streams/backoff.ts';
import type { Clock } from './streams/clock.ts';
import { randomInterval } from './streams/random-interval.ts';
import type { Snapshot } from './streams/snapshot.ts';
import type { Run } from './streams/workqueue.ts';

export interface ControllersDeps {
  readonly settings: Settings;
  /** The configured network as the term of leadership found it. */
  readonly network: Snapshot<Network> | undefined;
  /** Where nodes live in several networks. */
  readonly networks?: ClusterNetworks | undefined;
  /** Those this instance looks after. */
  readonly nodes: Store<KubeNode>;
  readonly allNodes: Store<KubeNode>;
  readonly services: Store<KubeService>;
  readonly instances: Instances;
  /** Writes end with the term. */
  readonly hetzner: Hetzner;
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly witness: Witness;
  readonly project: Project;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly hooks: ControllerHooks;
  /** Hetzner says that there is no such network. */
  readonly onNetworkMissed?: () => void;
}

/** The controllers that the settings ask for, side by side. */
export function controllers(deps: ControllersDeps): Observable<Run> {
  const { settings, network, networks, hetzner, metrics } = deps;
  const backoff = exponentialBackoff({ initial: 5_000, max: 300_000, jitter: 'equal' });
  const quickBackoff = exponentialBackoff({ initial: 1_000, max: 60_000, jitter: 'equal' });
  const { maxAge } = settings.serverCache;
  const networkID = network?.value.id;
  const nameOfNetwork: NameOfNetwork = id =>
    [...(hetzner.networks.latest()?.networks ?? []), ...(network ? [network.value] : [])].find(one => one.id === id)
      ?.name;
  const { minResyncPeriod } = settings.routes;
  const safety$ = defer(() => randomInterval(minResyncPeriod, 2 * minResyncPeriod));

  const node$ = nodeController({
    ...deps,
    settings: nodeSettings(settings, networkID, networks, nameOfNetwork),
    maxAge,
    refreshEvery: settings.nodes.statusUpdateFrequency,
    concurrency: settings.nodes.concurrentSyncs,
    hooks: { ...deps.hooks, onInitialised: node => observeDelay(node, deps) },
    backoff: quickBackoff,
  });
  const lifecycle$ = lifecycleController({
    ...deps,
    monitorPeriod: settings.nodes.monitorPeriod,
    backoff: quickBackoff,
  });
  const index = createNodeIndex(deps.allNodes, networks);
  const missed$ = new Subject<void>();
  const routeHooks = summedStats(deps.hooks);
  const routesOf = (one: Snapshot<Network>): Observable<Run> => {
    const hooks = routeHooks();
    const routes$ = networkRoutes({
      ...deps,
      ...(networks !== undefined && { onNetworkMissed: () => missed$.next() }),
      hooks,
      network: one,
      index,
      servers: hetzner.servers,
      cloud: hetzner.cloud,
      actions: hetzner.actions,
      settings: settings.routes,
      safety$: concat(of(0), safety$),
      maxAge,
      backoff,
    });
    return routes$.pipe(finalize(hooks.end));
  };
  const route$ = networks !== undefined ? forEachNetwork(networks, routesOf) : network ? routesOf(network) : EMPTY;
  const loadBalancer$ = loadBalancerController({
    ...deps,
    settings: settings.loadBalancers,
    rules: settings.loadBalancers,
    networkID,
    nameOfNetwork,
    allNetworks: hetzner.networks,
    robotEnabled: settings.robot.enabled,
    api: hetzner.loadBalancers,
    snapshot: hetzner.loadBalancerSnapshot,
    types: hetzner.loadBalancerTypes,
    actions: hetzner.actions,
    certificates: createCertificateKeeper({
      ...deps,
      api: hetzner.loadBalancers,
      snapshot: hetzner.certificateSnapshot,
      actions: hetzner.actions,
    }),
    maxAge,
    drift$: safety$,
    concurrency: settings.services.concurrentSyncs,
    backoff,
  });
  const ipam$ = ipamController({
    ...deps,
    nodes: deps.allNodes,
    servers: hetzner.servers,
    settings: rangeSettings(settings, networks),
    maskSize: settings.ipam.maskSize,
    ranges$: networks?.chosen$ ?? EMPTY,
    maxAge,
    onUsage: (range, { used, size }) => {
      metrics.podCIDRs.set({ range, state: 'used' }, used);
      metrics.podCIDRs.set({ range, state: 'free' }, size - used);
    },
    backoff: quickBackoff,
  });
  const running = (name: keyof Settings['controllers'], run$: Observable<Run>): Observable<Run> =>
    defer(() => {
      if (!settings.controllers[name]) return EMPTY;
      const labels = { name, manager: 'hcloud-reactive-controller' };
      metrics.runningControllers.set(labels, 1);
      return run$.pipe(finalize(() => metrics.runningControllers.set(labels, 0)));
    });
  return merge(
    deps.project.run$,
    networks === undefined ? EMPTY : listedAgain(hetzner.networks, merge(safety$, missed$), deps),
    running('node', node$),
    running('lifecycle', lifecycle$),
    running('route', route$),
    running('loadBalancer', loadBalancer$),
    running('ipam', ipam$),
  );
}

/** The settings of the node controller. */
export const nodeSettings = (
  { instances, robot }: Settings,
  networkID: number | undefined,
  networks?: NodeNetworks,
  nameOfNetwork?: NameOfNetwork,
): NodeSettings => ({
  family: instances.addressFamily,
  zoneLabelEnabled: instances.zoneLabelEnabled,
  forwardInternalIPs: robot.forwardInternalIPs,
  networkID,
  nameOfNetwork,
  ...(networks !== undefined && { networks }),
});

/** Where pod CIDRs come from: with ranges of the networks from these alone. */
export const rangeSettings = ({ ipam, hcloud }: Settings, networks?: NodeNetworks): RangeSettings => ({
  clusterCIDR: ipam.clusterCIDR,
  ...(networks !== undefined && (hcloud.furtherNetworks?.podCIDRs ?? []).length > 0 && { networks }),
});

function observeDelay(node: KubeNode, { clock, metrics }: ControllersDeps): void {
  const seconds = Math.max(0, clock.now() - node.creationTimestamp) / 1_000;
  metrics.initialSyncDelay.observe({}, seconds);
  metrics.taintRemovalDelay.observe({}, seconds);
}

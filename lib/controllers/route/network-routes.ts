import { concatMap, defer, distinct, EMPTY, ignoreElements, merge, type Observable, tap } from 'rxjs';
import type { Actions } from '../../hetzner/actions.ts';
import type { Cloud } from '../../hetzner/cloud.ts';
import { classOf } from '../../hetzner/errors.ts';
import type { Servers } from '../../hetzner/servers.ts';
import type { Network } from '../../hetzner/types.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { EventRecorder } from '../../kubernetes/events.ts';
import { patchNodeStatus } from '../../kubernetes/patches.ts';
import type { Store } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Settings } from '../../settings/settings.ts';
import { exponentialBackoff } from '../../streams/backoff.ts';
import type { Clock } from '../../streams/clock.ts';
import { fromAbortable } from '../../streams/from-abortable.ts';
import type { Snapshot } from '../../streams/snapshot.ts';
import type { Run } from '../../streams/workqueue.ts';
import type { ControllerHooks } from '../controller.ts';
import { parseIPv4CIDR } from '../ip.ts';
import { isNamed, type NodeNetworks } from '../networks.ts';
import { createPipeline } from '../pipeline.ts';
import type { Project } from '../project.ts';
import { createEvidence, type Evidence } from './evidence.ts';
import type { NodeIndex } from './node-index.ts';
import { createRouteReport } from './report.ts';
import { routeController } from './route-controller.ts';
import { createRouteTable, type RouteTable } from './route-table.ts';
import { type RunningShare, selectedShare, shareInNetwork, wholeShare } from './share.ts';

export interface NetworkRoutesDeps {
  readonly network: Snapshot<Network>;
  /** Those this instance looks after. */
  readonly nodes: Store<KubeNode>;
  readonly allNodes: Store<KubeNode>;
  /** Of all nodes. */
  readonly index: NodeIndex;
  /** Where the cluster has several networks. */
  readonly networks?: (NodeNetworks & { readonly chosen$: Observable<unknown> }) | undefined;
  readonly servers: Servers;
  readonly project: Pick<Project, 'doubt'>;
  readonly cloud: Cloud;
  readonly actions: Actions;
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly settings: Settings['routes'];
  /** Time for a pass over all routes; the first at the start. */
  readonly safety$: Observable<unknown>;
  /** How much older than a Node the list of servers may be that tells its address, in ms. */
  readonly maxAge: number;
  /** Hetzner says that there is no such network. */
  readonly onNetworkMissed?: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly hooks: ControllerHooks;
  readonly backoff: (attempt: number) => number;
}

/** Most routes a network of Hetzner holds. */
const routeLimit = 100;

/** The routes of one network with all that belongs to it: its own view, its own pipeline, its own limit. */
export function networkRoutes(deps: NetworkRoutesDeps): Observable<Run> {
  const { network, cloud, actions, client, clock, metrics, settings } = deps;
  const { id, name } = network.value;
  const priority = 'route';
  const read = async (signal: AbortSignal): Promise<Network> => {
    const found = await cloud.getNetwork(id, { priority, signal });
    if (found === undefined) {
      deps.onNetworkMissed?.();
      throw new Error(`Network ${name} (${id}) no longer exists`);
    }
    return found;
  };
  const holdOff = exponentialBackoff({ initial: 1_000, max: 60_000, jitter: 'equal' });
  return defer(() => {
    metrics.routeLimit.set({ network: name }, routeLimit);
    const table = createRouteTable({
      read: () => fromAbortable(read),
      initial: network,
      clock,
      errorHoldOff: failures => holdOff(failures - 1),
      onChange: routes => metrics.routes.set({ network: name }, routes),
    });
    const pipeline = createPipeline({
      waitForAction: (action, signal) => actions.wait(action, { priority, signal }),
      isLocked: err => classOf(err) === 'locked',
      clock,
    });
    const { networks } = deps;
    const evidence =
      networks && createEvidence({ nodes: deps.allNodes.list, servers: deps.servers.latest, networks, networkID: id });
    const own = shareOf(deps, table, evidence);
    const inNetwork = networks && evidence && shareInNetwork(own, networks, id, evidence);
    const share = inNetwork ?? own;
    const report = createRouteReport({
      ...deps,
      networkID: id,
      networkName: name,
      clusterCIDRs: settings.clusterCIDRs,
    });
    const routes$ = routeController({
      ...deps,
      share,
      networkID: id,
      table,
      pipeline,
      report,
      clusterCIDRs: settings.clusterCIDRs.map(parseIPv4CIDR).filter(block => block !== undefined),
      patchCondition: (node, condition, signal) => {
        const now = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
        const conditions = [
          { type: 'NetworkUnavailable', ...condition, lastHeartbeatTime: now, lastTransitionTime: now },
        ];
        return patchNodeStatus(client, node, { conditions }, signal);
      },
    });
    const problems$ = networks && inNetwork ? problemsTold(networks.chosen$, inNetwork.problems, deps) : EMPTY;
    return merge(share.run$, problems$, routes$);
  });
}

/** Says of each way that can't be, once; all others are made. */
function problemsTold(
  chosen$: Observable<unknown>,
  problems: () => readonly string[],
  { logger, network: { value } }: NetworkRoutesDeps,
): Observable<never> {
  return chosen$.pipe(
    concatMap(problems),
    distinct(),
    tap(hint => logger.error('Left out a way between networks', { network: value.name, networkID: value.id, hint })),
    ignoreElements(),
  );
}

/** Which part of the routes is ours: with all nodes, in a network that the settings name, everything. */
function shareOf(
  { nodes, allNodes, servers, network, networks }: NetworkRoutesDeps,
  table: RouteTable,
  evidence: Evidence | undefined,
): RunningShare {
  const isSurelyOurs = networks === undefined || isNamed(networks.current(), network.value.id);
  if (nodes === allNodes && isSurelyOurs) return wholeShare(nodes);
  return selectedShare({
    all: allNodes,
    nodes,
    servers: () => servers.latest()?.servers,
    networkID: network.value.id,
    ...(evidence !== undefined && !isSurelyOurs && { isHome: evidence.hasResidents }),
    onHandedOver: table.invalidate,
  });
}

import { concatMap, defer, from, map, merge, type Observable, pairwise, startWith } from 'rxjs';
import type { ServerList } from '../../hetzner/servers.ts';
import type { Store, StoreChange } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Trigger } from '../../streams/workqueue.ts';
import type { Block } from '../ip.ts';
import { desiredRoutes, routableCIDRs } from './desired.ts';
import { planRoutes } from './plan.ts';
import { type RouteShare, wholeShare } from './share.ts';

/** Queue key of the pass over a whole network; all other keys are destinations. */
export const passKey = 'network';

export interface TriggerSources {
  readonly nodes: Store<KubeNode>;
  /** When not given: all nodes and routes are ours. */
  readonly share?: RouteShare;
  /** Each answered list of servers. */
  readonly servers$: Observable<ServerList>;
  /** Time for the safety pass. */
  readonly safety$: Observable<unknown>;
  readonly networkID: number;
  readonly clusterCIDRs: readonly Block[];
  /** Present routes: destination to gateway. */
  readonly gateways: () => ReadonlyMap<string, string> | undefined;
  /** The nodes that may have routes in this network; all when not given. */
  readonly residents?: (servers: ServerList) => readonly KubeNode[];
  /** Where the cluster has several networks: whether what becomes of a node's destination is no concern of this one. */
  readonly isElsewhere?: ((node: KubeNode, destination: string) => boolean) | undefined;
}

/**
 * What makes the routes of a network be looked at: nodes that come, go or change where their pods live, servers that
 * moved or appeared in a list made for any reason, and the safety pass. Where networks of the cluster come or go the list of
 * servers is told again, so the ways to these are looked at, too. Heartbeats trigger nothing.
 */
export function routeTriggers(sources: TriggerSources): Observable<Trigger> {
  const { nodes, servers$, safety$, networkID, clusterCIDRs, gateways } = sources;
  const share = sources.share ?? wholeShare(nodes);
  const nodes$ = defer(() => nodes.watch()).pipe(concatMap(change => from(triggersOf(change, sources.isElsewhere))));
  /** The changes a list asks for. A trigger is only what the list before did not ask for: what was refused backs off. */
  const changesBy = (servers: ServerList): Map<string, string> => {
    const present = gateways();
    if (present === undefined) return new Map();
    const nodes = sources.residents?.(servers) ?? share.all.list();
    const { byDestination } = desiredRoutes(nodes, servers, networkID, present, share);
    const changes = planRoutes(byDestination, present, clusterCIDRs);
    return new Map(changes.map(change => [change.destination, `${change.kind} ${change.gateway}`]));
  };
  const moved$ = servers$.pipe(
    map(changesBy),
    startWith(new Map<string, string>()),
    pairwise(),
    concatMap(([before, now]) => [...now].filter(([destination, change]) => before.get(destination) !== change)),
    map(([key]) => ({ key, reason: 'server list differs from routes' })),
  );
  const pass$ = safety$.pipe(map(() => ({ key: passKey, reason: 'safety pass', priority: -1 })));
  return merge(nodes$, moved$, pass$);
}

/**
 * The destinations a change of a node concerns. Of several networks, each begins with a pass that picks its own nodes: they
 * would otherwise look at all of them.
 */
function triggersOf(
  { type, object, previous, initial }: StoreChange<KubeNode>,
  isElsewhere: TriggerSources['isElsewhere'],
): Trigger[] {
  if (initial && isElsewhere !== undefined) return [];
  if (type === 'updated' && previous !== undefined && !concernsRoutes(previous, object)) return [];
  const reason = initial ? 'node present at start' : `node ${type}`;
  const destinations = new Set([...routableCIDRs(object), ...(previous === undefined ? [] : routableCIDRs(previous))]);
  const concerned = [...destinations].filter(
    key => !(isElsewhere?.(object, key) && isElsewhere(previous ?? object, key)),
  );
  return concerned.map(key => ({ key, reason, priority: initial ? -1 : 0 }));
}

const concernsRoutes = (before: KubeNode, after: KubeNode): boolean =>
  before.providerID !== after.providerID ||
  before.podCIDRs.join() !== after.podCIDRs.join() ||
  internalIPs(before) !== internalIPs(after);

const internalIPs = (node: KubeNode): string =>
  node.addresses
    .filter(a => a.type === 'InternalIP')
    .map(a => a.address)
    .join();

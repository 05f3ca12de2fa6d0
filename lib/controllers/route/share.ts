import { defer, EMPTY, ignoreElements, merge, type Observable, tap } from 'rxjs';
import { cloudProviderID } from '../../hetzner/provider-id.ts';
import type { Server } from '../../hetzner/types.ts';
import type { Store } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { parseIPv4CIDR } from '../ip.ts';
import type { ChosenNetworks, NodeNetworks } from '../networks.ts';
import { type Aggregates, aggregatesOf, misplacement } from './aggregates.ts';
import { createClaimants } from './claimants.ts';
import { allClaims, type Claims, routableCIDRs } from './desired.ts';
import type { Evidence } from './evidence.ts';

/** What an instance has to do with the routes of a network it may share with other instances. */
export interface RouteShare extends Claims {
  /** All nodes: the pod CIDRs of those that other instances look after are taken, too. */
  readonly all: Pick<Store<KubeNode>, 'list'>;
  /** Why other networks do not reach the pods of a node that this one routes, if so. */
  misplacement?(podCIDR: string): string | undefined;
  /** What is wrong with the ways out of the network, in words. */
  problems?(): readonly string[];
}

/** A share that learns from what happens to the nodes while it is subscribed to. */
export type RunningShare = RouteShare & { readonly run$: Observable<never> };

/** Of one network of several. */
export type ShareInNetwork = RunningShare & Required<Pick<RouteShare, 'aggregates' | 'problems'>>;

/** The share of an instance that looks after all nodes. */
export const wholeShare = (nodes: Pick<Store<KubeNode>, 'list'>): RunningShare => ({
  ...allClaims,
  all: nodes,
  run$: EMPTY,
});

/** True when a route leads to a server of one of these nodes, or, in a network they live in, to no server at all. */
function isNobodyElses(
  gateway: string,
  networkID: number,
  servers: readonly Server[],
  nodes: readonly KubeNode[],
  isHome: () => boolean,
): boolean {
  const server = servers.find(one => one.privateNets.some(net => net.network === networkID && net.ip === gateway));
  return server === undefined ? isHome() : nodes.some(({ providerID }) => providerID === cloudProviderID(server.id));
}

/** The share of an instance that has not all nodes, or not surely the network, to itself, as far as one look tells. */
export const shareAtFirstSight = (
  all: RouteShare['all'],
  isOurs: Claims['isOurs'],
  servers: readonly Server[],
  networkID: number,
  isHome: () => boolean = () => true,
): RunningShare => ({
  all,
  isOurs,
  isLeftOver: (_, gateway) => isNobodyElses(gateway, networkID, servers, all.list().filter(isOurs), isHome),
  run$: EMPTY,
});

export interface SelectedShareDeps {
  readonly all: Store<KubeNode>;
  /** Those of `all` that this instance looks after. */
  readonly nodes: Store<KubeNode>;
  /** The newest list of servers, if there is one. */
  readonly servers: () => readonly Server[] | undefined;
  readonly networkID: number;
  /** Where the network may be another cluster's: whether nodes live in it. */
  readonly isHome?: () => boolean;
  /** A node came from another instance, which may have changed its route. */
  readonly onHandedOver: () => void;
}

/**
 * The share of an instance that looks after some of the nodes, or that can't know whether the network is another cluster's.
 * Routes carry no owner, so one that no node claims is deleted only if its node was seen as ours until its end, if it leads to
 * a server of a node of ours, or if it leads to no server at all, which is of no use to anybody. All else may be another's to
 * delete.
 */
export function selectedShare(deps: SelectedShareDeps): RunningShare {
  const { all, nodes, servers, networkID, isHome = () => true, onHandedOver } = deps;
  /** Pod CIDRs whose last node was ours. */
  const ours = new Set<string>();
  const isOurs = ({ name, uid }: KubeNode): boolean => nodes.get(name)?.uid === uid;

  const leadsToUsOrNowhere = (gateway: string): boolean => {
    const list = servers();
    return list !== undefined && isNobodyElses(gateway, networkID, list, nodes.list(), isHome);
  };
  const others$ = defer(() => all.watch()).pipe(
    tap(({ type, object }) => {
      if (type !== 'deleted' && !isOurs(object)) for (const cidr of routableCIDRs(object)) ours.delete(cidr);
    }),
  );
  const ours$ = defer(() => nodes.watch()).pipe(
    tap(({ type, object, initial }) => {
      const isHandedAway = type === 'deleted' && all.get(object.name)?.uid === object.uid;
      for (const cidr of routableCIDRs(object)) {
        if (isHandedAway) ours.delete(cidr);
        else ours.add(cidr);
      }
      const isNewToUs = (nodes.observedAt(object.name) ?? 0) > (all.observedAt(object.name) ?? 0);
      if (type === 'added' && !initial && isNewToUs) onHandedOver();
    }),
  );
  return {
    all,
    isOurs,
    isLeftOver: (destination, gateway) => ours.has(destination) || leadsToUsOrNowhere(gateway),
    run$: merge(others$, ours$).pipe(ignoreElements()),
  };
}

/**
 * The share of one network of a cluster that has several. Their pods are in one cluster CIDR, so a network also holds the
 * routes that lead to the pods of other networks. Those that are larger than the pod CIDR of any node are the user's unless
 * the settings decide on where they lead, and stay even then while pods are reached by them alone. One to a single node of
 * another network is the user's where it leads through a machine that is no node.
 */
export function shareInNetwork(
  share: RunningShare,
  networks: NodeNetworks,
  networkID: number,
  evidence: Evidence,
): ShareInNetwork {
  const claimantsOf = createClaimants(share.all);
  let known: { readonly nodes: readonly KubeNode[]; readonly shortest: number } | undefined;
  let resolved: { readonly chosen: ChosenNetworks; readonly aggregates: Aggregates } | undefined;
  const home = (chosen: ChosenNetworks) => chosen.all.find(({ id }) => id === networkID);
  const shortestPrefix = (): number => {
    const nodes = share.all.list();
    if (known?.nodes !== nodes) known = { nodes, shortest: Math.min(...nodes.flatMap(routableCIDRs).map(prefixOf)) };
    return known.shortest;
  };
  const ways = (): Aggregates => {
    const chosen = networks.current();
    if (resolved?.chosen !== chosen) {
      const network = home(chosen);
      resolved = { chosen, aggregates: network === undefined ? noAggregates : aggregatesOf(network, chosen) };
    }
    return resolved.aggregates;
  };
  const isPodRoute = (destination: string): boolean => prefixOf(destination) >= shortestPrefix();
  const isDispensable = (destination: string, gateway: string): boolean =>
    ways().isOurs(destination, gateway) && (ways().isClosed(destination) || !evidence.carries(destination, ways()));
  /** Of a pod CIDR whose node lives in another network. */
  const isUsersWay = (destination: string, gateway: string): boolean => {
    const machine = evidence.machineAt(gateway);
    if (machine !== 'other' && machine !== undefined) return false;
    return claimantsOf(destination).length > 0 && !ways().isOurs(destination, gateway);
  };
  return {
    ...share,
    networks,
    aggregates: () => ways().byDestination,
    problems: () => ways().problems,
    isMachine: address => evidence.machineAt(address) !== 'none',
    misplacement: podCIDR => {
      const chosen = networks.current();
      const network = home(chosen);
      return network && misplacement(podCIDR, network, chosen);
    },
    isLeftOver: (destination, gateway) =>
      isPodRoute(destination)
        ? share.isLeftOver(destination, gateway) && !isUsersWay(destination, gateway)
        : isDispensable(destination, gateway),
  };
}

const noAggregates: Aggregates = {
  byDestination: new Map(),
  problems: [],
  isOurs: () => false,
  isClosed: () => false,
  leadsTo: () => false,
};

const prefixOf = (cidr: string): number => parseIPv4CIDR(cidr)?.prefix ?? 0;

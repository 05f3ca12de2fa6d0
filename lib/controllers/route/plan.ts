import { type Block, contains, overlaps, parseIPv4CIDR } from '../ip.ts';
import type { DesiredRoute } from './desired.ts';

/** Whom a route is for: a node, or all pods of another network. */
export type RouteUse = { readonly node: string } | { readonly neighbour: string };

/** One change of a network's routes. */
export type RouteChange =
  | ({ readonly kind: 'create'; readonly destination: string; readonly gateway: string } & RouteUse)
  /** The destination leads elsewhere: the wrong route goes, then the right one comes (the API has no update). */
  | ({
      readonly kind: 'replace';
      readonly destination: string;
      readonly gateway: string;
      readonly previousGateway: string;
    } & RouteUse)
  | { readonly kind: 'delete'; readonly destination: string; readonly gateway: string };

/** The same as fields of their own. */
export const useOf = (use: RouteUse): RouteUse => ('node' in use ? { node: use.node } : { neighbour: use.neighbour });

/** A change that leaves a route behind. */
export type RouteAddition = Exclude<RouteChange, { readonly kind: 'delete' }>;

/**
 * The change one destination needs, if any.
 *
 * A route without a node is deleted only inside the cluster CIDRs: everything else in the network belongs to the user
 * (NAT gateways, VPNs). A destination on hold keeps what it has.
 */
export function planRoute(
  destination: string,
  desired: DesiredRoute | undefined,
  gateway: string | undefined,
  clusterCIDRs: readonly Block[],
): RouteChange | undefined {
  if (desired === undefined) {
    if (gateway === undefined || !isOwned(destination, clusterCIDRs)) return undefined;
    return { kind: 'delete', destination, gateway };
  }
  if (desired.kind === 'hold' || desired.gateway === gateway) return undefined;
  const use = useOf(desired);
  return gateway === undefined
    ? { kind: 'create', destination, gateway: desired.gateway, ...use }
    : { kind: 'replace', destination, gateway: desired.gateway, previousGateway: gateway, ...use };
}

/**
 * All changes a network needs. Deletes come first: they make room under the limit of 100 routes.
 *
 * @param gateways present routes: destination to gateway
 */
export function planRoutes(
  desired: ReadonlyMap<string, DesiredRoute>,
  gateways: ReadonlyMap<string, string>,
  clusterCIDRs: readonly Block[],
): RouteChange[] {
  const destinations = new Set([...gateways.keys(), ...desired.keys()]);
  const changes = [...destinations]
    .map(d => planRoute(d, desired.get(d), gateways.get(d), clusterCIDRs))
    .filter(change => change !== undefined);
  return [...changes.filter(c => c.kind === 'delete'), ...changes.filter(c => c.kind !== 'delete')];
}

/**
 * The route that keeps one to a destination out of a network: Hetzner takes none that overlaps another. The default route
 * does not count.
 */
export function obstacleTo(
  destination: string,
  gateways: ReadonlyMap<string, string>,
): { readonly destination: string; readonly gateway: string } | undefined {
  const block = parseIPv4CIDR(destination);
  for (const [other, gateway] of gateways) {
    const range = other === destination ? undefined : parseIPv4CIDR(other);
    if (block !== undefined && range !== undefined && range.prefix > 0 && overlaps(block, range))
      return { destination: other, gateway };
  }
  return undefined;
}

/** True when the whole destination lies in one of the cluster CIDRs. */
export function isOwned(destination: string, clusterCIDRs: readonly Block[]): boolean {
  const block = parseIPv4CIDR(destination);
  return block !== undefined && clusterCIDRs.some(cidr => contains(cidr, block));
}

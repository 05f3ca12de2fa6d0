import type { KubeNode, NodeCondition } from '../../kubernetes/types.ts';
import { type DesiredRoute, routableCIDRs } from './desired.ts';

/** Reasons of the NetworkUnavailable condition, as Kubernetes' route controller writes them. */
export type NetworkUnavailable =
  | { readonly status: 'False'; readonly reason: 'RouteCreated'; readonly message: string }
  | { readonly status: 'True'; readonly reason: 'NoRouteCreated'; readonly message: string };

/**
 * What NetworkUnavailable should say on a node we route, or undefined to leave it alone (no pod CIDR yet).
 * IPv6 CIDRs don't count: what can be routed is routed.
 *
 * @param hasRoute whether this node's route to the destination is in the network
 */
export function networkUnavailable(
  node: KubeNode,
  hasRoute: (destination: string) => boolean,
): NetworkUnavailable | undefined {
  if (node.podCIDRs.length === 0) return undefined;
  const without = routableCIDRs(node).filter(cidr => !hasRoute(cidr));
  return without.length === 0
    ? { status: 'False', reason: 'RouteCreated', message: 'The network holds the routes of this node' }
    : { status: 'True', reason: 'NoRouteCreated', message: `The network has no route to ${without.join(', ')}` };
}

/** Whether what is wanted at a destination is the route of this node, and is there. */
export const isRouted = (node: string, wanted: DesiredRoute | undefined, gateway: string | undefined): boolean =>
  wanted?.kind === 'route' && wanted.node === node && gateway === wanted.gateway;

/** True when the node's condition already says so; times and messages don't count. */
export const sameCondition = (present: NodeCondition | undefined, wanted: NetworkUnavailable): boolean =>
  present?.status === wanted.status && present.reason === wanted.reason;

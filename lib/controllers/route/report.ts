import { isLimitExceeded } from '../../hetzner/errors.ts';
import type { EventReason } from '../../kubernetes/event-reasons.ts';
import type { EventRecorder } from '../../kubernetes/events.ts';
import type { Store } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { nodeTarget } from '../node-target.ts';
import type { RouteAddition } from './plan.ts';

/** A network without room is tried again after this, in ms, unless a route of ours goes first. */
export const limitRetry = 300_000;

/** Tells users on the Node what keeps its route from being. */
export interface RouteReport {
  /** Says what the API refused; `noRoom` when the network has no room for more routes. */
  notCreated(change: RouteAddition, err: unknown): 'noRoom' | 'refused';
  /** Returns the error of the run. */
  notAttached(destination: string, node: string): Error;
  contested(claim: { readonly destination: string; readonly owner: string; readonly node: string }): void;
  outsideClusterCIDR(destination: string, node: string): void;
  /** Says once why other networks do not reach the pods of a node. */
  misplaced(destination: string, node: string, why: string): void;
}

export interface ReportDeps {
  readonly nodes: Pick<Store<KubeNode>, 'get'>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly networkID: number;
  readonly networkName: string;
  /** As configured, for the message. */
  readonly clusterCIDRs: readonly string[];
}

export function createRouteReport(deps: ReportDeps): RouteReport {
  const network = `network ${deps.networkName} (${deps.networkID})`;
  /** By uid of the node, for as long as the network is looked after. */
  const told = new Set<string>();
  const warn = (name: string, reason: EventReason, message: string): void => {
    const node = deps.nodes.get(name);
    if (node !== undefined) deps.events.event(nodeTarget(node), 'Warning', reason, message);
  };
  return {
    notCreated(change, err) {
      const text = err instanceof Error ? err.message : String(err);
      const route = `route to ${change.destination} via ${change.gateway} in ${network}`;
      const isFull = isLimitExceeded(err);
      if ('node' in change) {
        const why = isFull ? `the network has no room for more routes: ${text}` : text;
        warn(change.node, isFull ? 'RouteLimitReached' : 'FailedToCreateRoute', `Could not create ${route}: ${why}`);
      }
      return isFull ? 'noRoom' : 'refused';
    },
    notAttached(destination, node) {
      const problem = `the server of node ${node} is not attached to ${network}`;
      warn(node, 'FailedToCreateRoute', `Could not create route to ${destination}: ${problem}`);
      return new Error(problem);
    },
    contested({ destination, owner, node }) {
      const message = `Could not create route to ${destination}: node ${owner} has the same pod CIDR and keeps its route`;
      warn(node, 'FailedToCreateRoute', message);
    },
    outsideClusterCIDR(destination, node) {
      const cidrs = deps.clusterCIDRs.join(',');
      const message = `Pod CIDR ${destination} is outside of --cluster-cidr=${cidrs}: its route is created, but will not be deleted with the node`;
      warn(node, 'ClusterCIDRMisconfigured', message);
    },
    misplaced(destination, node, why) {
      const key = `${deps.nodes.get(node)?.uid} ${destination} ${why}`;
      if (told.has(key)) return;
      told.add(key);
      warn(node, 'PodCIDRMisplaced', `Pod CIDR ${destination} ${why}`);
    },
  };
}

import type { KubeNode } from '../../kubernetes/types.ts';
import type { Block } from '../ip.ts';
import type { PlannedChange, PlannedNote, Preview } from '../preview.ts';
import { isRouted, networkUnavailable, sameCondition } from './condition.ts';
import { type Claims, type DesiredRoutes, desiredRoutes, type ServerLookup } from './desired.ts';
import { isOwned, planRoutes, type RouteChange } from './plan.ts';

export interface RoutesInput {
  readonly network: { readonly id: number; readonly name: string };
  /** Present routes: destination to gateway. */
  readonly gateways: ReadonlyMap<string, string>;
  readonly nodes: readonly KubeNode[];
  readonly servers: ServerLookup;
  readonly clusterCIDRs: readonly Block[];
  /** When not given: all nodes and routes are ours. */
  readonly share?: Claims;
  /** Why the project may be that of somebody else, if it may. */
  readonly doubt?: string | undefined;
}

/** What the route controller would do to the routes of a network and to the conditions of nodes. */
export function previewRoutes(input: RoutesInput): Preview {
  const { network, gateways, nodes, servers, clusterCIDRs, share, doubt } = input;
  const object = `Network ${network.name}`;
  const desired = desiredRoutes(nodes, servers, network.id, gateways, share);
  const planned = planRoutes(desired.byDestination, gateways, clusterCIDRs);
  const changes = doubt === undefined ? planned : planned.filter(({ kind }) => kind !== 'delete');
  const after = new Map(gateways);
  for (const change of changes) {
    if (change.kind === 'delete') after.delete(change.destination);
    else after.set(change.destination, change.gateway);
  }
  const outside = changes.filter(c => c.kind !== 'delete' && !isOwned(c.destination, clusterCIDRs));
  return {
    changes: [...changes.map(change => describe(object, change)), ...conditions(nodes, desired, after)],
    notes: [
      ...(changes.length < planned.length ? [{ object, text: `keeps its routes: ${doubt}` }] : []),
      ...notAttached(desired, network.name),
      ...desired.contested.map(({ destination, owner, node }) => ({
        object: `Node ${node}`,
        text: `gets no route to ${destination}: node ${owner} has the same pod CIDR and keeps its route`,
      })),
      ...outside.map(({ destination }) => ({
        object,
        text: `${destination} is outside of --cluster-cidr: its route would not be deleted with the node`,
      })),
    ],
  };
}

const notAttached = ({ byDestination }: DesiredRoutes, network: string): PlannedNote[] =>
  [...byDestination].flatMap(([destination, route]) =>
    route.kind === 'hold' && route.problem === 'notAttached'
      ? [
          {
            object: `Node ${route.node}`,
            text: `gets no route to ${destination}: its server is not attached to network ${network}`,
          },
        ]
      : [],
  );

function describe(object: string, change: RouteChange): PlannedChange {
  const { destination, gateway } = change;
  const at = 'Hetzner';
  switch (change.kind) {
    case 'create': {
      const why = `node ${change.node} has this pod CIDR, and there is no route to it`;
      return { at, object, action: 'create route', details: { destination, gateway, node: change.node }, why };
    }
    case 'replace': {
      const { node, previousGateway } = change;
      const why = `the route leads to ${previousGateway}, which is not the address of node ${node} any more`;
      return { at, object, action: 'replace route', details: { destination, gateway, previousGateway, node }, why };
    }
    case 'delete': {
      const why = 'it lies in --cluster-cidr, and no node has this pod CIDR';
      return { at, object, action: 'delete route', details: { destination, gateway }, why };
    }
  }
}

/** Unavailable is said only of nodes that cannot have their route at all. */
function conditions(
  nodes: readonly KubeNode[],
  { byDestination, contested }: DesiredRoutes,
  gateways: ReadonlyMap<string, string>,
): PlannedChange[] {
  const refused = new Set([
    ...contested.map(({ node }) => node),
    ...[...byDestination.values()].flatMap(r => (r.kind === 'hold' && r.problem === 'notAttached' ? [r.node] : [])),
  ]);
  const routed = new Set([...byDestination.values()].flatMap(route => (route.kind === 'route' ? [route.node] : [])));
  return nodes.flatMap(node => {
    const has = (destination: string): boolean =>
      isRouted(node.name, byDestination.get(destination), gateways.get(destination));
    const condition = networkUnavailable(node, has);
    if (condition === undefined || sameCondition(node.networkUnavailable, condition)) return [];
    if (condition.status === 'False' ? !routed.has(node.name) : !refused.has(node.name)) return [];
    const { status } = condition;
    const object = `Node ${node.name}`;
    const why = status === 'False' ? 'the network holds the routes of this node then' : 'it can have no route';
    return [{ at: 'Kubernetes', object, action: 'set NetworkUnavailable', details: { status }, why }];
  });
}

import type { ServerLookup } from '../../hetzner/server-list.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Block } from '../ip.ts';
import type { PlannedChange, PlannedNote, Preview } from '../preview.ts';
import { isRouted, networkUnavailable, sameCondition } from './condition.ts';
import { type Claims, type DesiredRoutes, desiredRoutes } from './desired.ts';
import { isOwned, obstacleTo, planRoutes, type RouteChange, useOf } from './plan.ts';
import type { RouteShare } from './share.ts';

export interface RoutesInput {
  readonly network: { readonly id: number; readonly name: string };
  /** Present routes: destination to gateway. */
  readonly gateways: ReadonlyMap<string, string>;
  readonly nodes: readonly KubeNode[];
  readonly servers: ServerLookup;
  readonly clusterCIDRs: readonly Block[];
  /** When not given: all nodes and routes are ours. */
  readonly share?: Claims & Pick<RouteShare, 'misplacement' | 'problems'>;
  /** Why the project may be that of somebody else, if it may. */
  readonly doubt?: string | undefined;
}

/** What the route controller would do to the routes of a network and to the conditions of nodes. */
export function previewRoutes(input: RoutesInput): Preview {
  const { network, gateways, nodes, servers, clusterCIDRs, share, doubt } = input;
  const object = `Network ${network.name}`;
  const desired = desiredRoutes(nodes, servers, network.id, gateways, share);
  const planned = planRoutes(desired.byDestination, gateways, clusterCIDRs);
  const allowed = doubt === undefined ? planned : planned.filter(({ kind }) => kind !== 'delete');
  const { changes, refused, after } = foresee(allowed, gateways);
  const outside = changes.filter(c => 'node' in c && !isOwned(c.destination, clusterCIDRs));
  const crossed = new Set(refused.flatMap(({ change }) => ('node' in change ? [change.node] : [])));
  return {
    changes: [
      ...changes.map(change => describe(object, change, share?.aggregates !== undefined)),
      ...conditions(nodes, desired, after, crossed),
    ],
    notes: [
      ...(allowed.length < planned.length ? [{ object, text: `keeps its routes: ${doubt}` }] : []),
      ...notAttached(desired, network.name),
      ...desired.contested.map(({ destination, owner, node }) => ({
        object: `Node ${node}`,
        text: `gets no route to ${destination}: node ${owner} has the same pod CIDR and keeps its route`,
      })),
      ...outside.map(({ destination }) => ({
        object,
        text: `${destination} is outside of --cluster-cidr: its route would not be deleted with the node`,
      })),
      ...refused.map(({ change, obstacle }) => ({
        object: 'node' in change ? `Node ${change.node}` : object,
        text: `gets no route to ${change.destination}: it overlaps the route to ${obstacle.destination} via ${obstacle.gateway}`,
      })),
      ...ways(desired, network.name, share),
      ...(share?.problems?.() ?? []).map(text => ({ object, text })),
    ],
  };
}

interface Foreseen {
  readonly changes: readonly RouteChange[];
  readonly refused: readonly {
    readonly change: RouteChange;
    readonly obstacle: NonNullable<ReturnType<typeof obstacleTo>>;
  }[];
  /** Routes there would be. */
  readonly after: ReadonlyMap<string, string>;
}

/** What would become of a plan: Hetzner takes no route that overlaps another. */
function foresee(plan: readonly RouteChange[], gateways: ReadonlyMap<string, string>): Foreseen {
  const changes: RouteChange[] = [];
  const refused: Foreseen['refused'][number][] = [];
  const after = new Map(gateways);
  for (const change of plan) {
    const obstacle = change.kind === 'delete' ? undefined : obstacleTo(change.destination, after);
    if (obstacle !== undefined) {
      refused.push({ change, obstacle });
      continue;
    }
    changes.push(change);
    if (change.kind === 'delete') after.delete(change.destination);
    else after.set(change.destination, change.gateway);
  }
  return { changes, refused, after };
}

/** What users should know about the ways between networks. */
function ways({ byDestination }: DesiredRoutes, network: string, share: RoutesInput['share']): PlannedNote[] {
  return [...byDestination].flatMap(([destination, route]) => {
    if (route.kind === 'hold' && route.problem === 'crossed') {
      const text = `gets no route to ${destination}: the pods of node ${route.node} are in this range`;
      return [{ object: `Network ${network}`, text }];
    }
    if (route.kind === 'hold' && route.problem === 'noGateway') {
      const text = `keeps its route to ${destination}: no server in it has the address that HCLOUD_NETWORK_GATEWAYS names`;
      return [{ object: `Network ${network}`, text }];
    }
    const why = route.kind === 'route' ? share?.misplacement?.(destination) : undefined;
    return route.kind === 'route' && why !== undefined
      ? [{ object: `Node ${route.node}`, text: `has the pod CIDR ${destination}, which ${why}` }]
      : [];
  });
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

function describe(object: string, change: RouteChange, hasWays: boolean): PlannedChange {
  const { destination, gateway } = change;
  const at = 'Hetzner';
  switch (change.kind) {
    case 'create': {
      const why =
        'node' in change
          ? `node ${change.node} has this pod CIDR, and there is no route to it`
          : `the pods of network ${change.neighbour} have this range, and there is no way to it`;
      return { at, object, action: 'create route', details: { destination, gateway, ...useOf(change) }, why };
    }
    case 'replace': {
      const { previousGateway } = change;
      const why =
        'node' in change
          ? `the route leads to ${previousGateway}, which is not the address of node ${change.node} any more`
          : `the route leads to ${previousGateway}, which is not the gateway to network ${change.neighbour}`;
      const details = { destination, gateway, previousGateway, ...useOf(change) };
      return { at, object, action: 'replace route', details, why };
    }
    case 'delete': {
      const ways = hasWays ? ', nor is it a way to another network by HCLOUD_NETWORK_GATEWAYS' : '';
      const why = `it lies in --cluster-cidr, and no node has this pod CIDR${ways}`;
      return { at, object, action: 'delete route', details: { destination, gateway }, why };
    }
  }
}

/** Unavailable is said only of nodes that cannot have their route at all. */
function conditions(
  nodes: readonly KubeNode[],
  { byDestination, contested }: DesiredRoutes,
  gateways: ReadonlyMap<string, string>,
  crossed: ReadonlySet<string>,
): PlannedChange[] {
  const refused = new Set([
    ...crossed,
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

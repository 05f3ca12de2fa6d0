import { parseProviderID } from '../../hetzner/provider-id.ts';
import type { ServerLookup } from '../../hetzner/server-list.ts';
import type { Server } from '../../hetzner/types.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { byAge } from '../by-age.ts';
import { canonicalIPv4CIDR, overlaps, parseIPv4CIDR } from '../ip.ts';
import type { NodeNetworks } from '../networks.ts';
import type { Aggregate } from './aggregates.ts';

/**
 * What should be in the network for one pod CIDR:
 * - `route`: through this node's address.
 * - `aggregate`: the way to all pods of another network, through a machine that is in both.
 * - `hold`: the CIDR is taken by a node whose machine is not routed by us or not known yet; whatever is there stays.
 *   So does a route that nobody claims but that may be another instance's; it has no node (empty). An aggregate that is not
 *   there yet waits for a node in its range that this network routes, and one that leads elsewhere stays until the machine
 *   is there that it should lead to.
 */
export type DesiredRoute =
  | { readonly kind: 'route'; readonly node: string; readonly gateway: string }
  | ({ readonly kind: 'aggregate' } & Aggregate)
  | { readonly kind: 'hold'; readonly node: string; readonly problem: HoldProblem };

export type HoldProblem =
  | 'notOurs'
  | 'uninitialised'
  | 'serverMissing'
  | 'notAttached'
  | 'attachedNowhere'
  | 'notSelected'
  | 'crossed'
  | 'noGateway';

/** Desired routes by canonical destination, and nodes that could be routed but lost a CIDR to another node. */
export interface DesiredRoutes {
  readonly byDestination: ReadonlyMap<string, DesiredRoute>;
  readonly contested: readonly { readonly destination: string; readonly owner: string; readonly node: string }[];
}

/**
 * The IPv4 pod CIDRs of a node in canonical spelling; IPv6 can't be routed by a private network and is left out. So is
 * the whole address space: no node's pods have it, and its route is the way of the user's network to the outside.
 */
export const routableCIDRs = (node: KubeNode): readonly string[] => {
  const known = routable.get(node);
  if (known !== undefined) return known;
  const cidrs = node.podCIDRs.map(canonicalIPv4CIDR).filter(cidr => cidr !== undefined);
  const result = [...new Set(cidrs)].filter(cidr => !cidr.endsWith('/0'));
  routable.set(node, result);
  return result;
};

/** All nodes are asked for their CIDRs again and again, and none ever changes. */
const routable = new WeakMap<KubeNode, readonly string[]>();

/** The Cloud server of a node, or why none is known. */
export function serverOf(node: KubeNode, servers: ServerLookup): Server | { readonly problem: HoldProblem } {
  if (node.providerID === '') return { problem: 'uninitialised' };
  const id = parseProviderID(node.providerID);
  if (id.kind !== 'cloud') return { problem: 'notOurs' };
  return servers.byID(id.id) ?? { problem: 'serverMissing' };
}

/** The gateway of a node: the primary private address of its Cloud server in the network (alias IPs never count). */
export function gatewayOf(
  node: KubeNode,
  servers: ServerLookup,
  networkID: number,
): { readonly gateway: string } | { readonly problem: HoldProblem } {
  const server = serverOf(node, servers);
  if ('problem' in server) return server;
  const net = server.privateNets.find(n => n.network === networkID);
  return net === undefined ? { problem: 'notAttached' } : { gateway: net.ip };
}

/** The same where the cluster has several networks. A node that another one routes claims nothing in this one. */
function gatewayAmong(
  node: KubeNode,
  servers: ServerLookup,
  networkID: number,
  { homeOf, expectedOf }: NonNullable<Claims['networks']>,
): ReturnType<typeof gatewayOf> | 'elsewhere' {
  const server = serverOf(node, servers);
  if ('problem' in server) return server;
  const home = homeOf(node, server);
  if (home !== undefined) return home.network === networkID ? { gateway: home.ip } : 'elsewhere';
  // One network speaks for a server that is in none.
  return { problem: expectedOf(node).id === networkID ? 'notAttached' : 'attachedNowhere' };
}

/** True when the Node reports internal addresses and the gateway is none of them. */
export const contradicts = (node: KubeNode, gateway: string): boolean => {
  const internal = node.addresses.filter(({ type }) => type === 'InternalIP');
  return internal.length > 0 && internal.every(({ address }) => address !== gateway);
};

/** Which nodes and routes an instance looks after. */
export interface Claims {
  isOurs(node: KubeNode): boolean;
  /** Whether a route that no node claims is surely one that a node of ours has left behind. */
  isLeftOver(destination: string, gateway: string): boolean;
  /** Where the cluster has several networks: the one that routes the node. */
  readonly networks?: Pick<NodeNetworks, 'homeOf' | 'expectedOf'>;
  /** The ways from this network to the pods of others, by destination. */
  readonly aggregates?: () => ReadonlyMap<string, Aggregate>;
  /** Whether a machine has the address in this network, or may have; Hetzner takes no other gateway. */
  isMachine?(address: string): boolean;
}

/** Of an instance that looks after everything. */
export const allClaims: Claims = { isOurs: () => true, isLeftOver: () => true };

/**
 * Desired routes of all nodes. Where two nodes claim one CIDR, the one the present route leads to keeps it, else the
 * older node: a claim must never move a working route back and forth.
 *
 * @param gateways present routes: destination to gateway
 * @param share which nodes and routes are ours to look after
 */
export function desiredRoutes(
  nodes: readonly KubeNode[],
  servers: ServerLookup,
  networkID: number,
  gateways: ReadonlyMap<string, string>,
  share: Claims = allClaims,
): DesiredRoutes {
  const byDestination = new Map<string, Claim>();
  const contested: { destination: string; owner: string; node: string }[] = [];
  for (const node of [...nodes].sort(byAge)) {
    const found = claimedBy(node, servers, networkID, share);
    if (found === 'elsewhere') continue;
    for (const destination of routableCIDRs(node)) {
      const claim: Claim =
        'gateway' in found
          ? { kind: 'route', node: node.name, gateway: found.gateway }
          : { kind: 'hold', node: node.name, problem: found.problem };
      const earlier = byDestination.get(destination);
      if (earlier === undefined) {
        byDestination.set(destination, claim);
        continue;
      }
      const present = gateways.get(destination);
      const takesOver =
        claim.kind === 'route' &&
        claim.gateway === present &&
        !(earlier.kind === 'route' && earlier.gateway === present);
      if (takesOver) byDestination.set(destination, claim);
      const [owner, loser] = takesOver ? [claim, earlier] : [earlier, claim];
      if (loser.kind === 'route') contested.push({ destination, owner: owner.node, node: loser.node });
    }
  }
  /** Nothing is taken away or tried that Hetzner would take nothing in place of. */
  const obstructed = (destination: string, { gateway }: Aggregate): DesiredRoute | undefined => {
    const present = gateways.get(destination);
    if (present === undefined) {
      const crossing = routedWithin(destination, byDestination);
      return crossing === undefined ? undefined : { kind: 'hold', node: crossing, problem: 'crossed' };
    }
    if (present === gateway || share.isMachine?.(gateway) !== false) return undefined;
    return { kind: 'hold', node: '', problem: 'noGateway' };
  };
  const aggregates = new Map<string, DesiredRoute>();
  for (const [destination, aggregate] of share.aggregates?.() ?? []) {
    aggregates.set(destination, obstructed(destination, aggregate) ?? { kind: 'aggregate', ...aggregate });
  }
  const all = new Map<string, DesiredRoute>([...aggregates, ...byDestination]);
  for (const [destination, gateway] of gateways) {
    if (!all.has(destination) && !share.isLeftOver(destination, gateway))
      all.set(destination, { kind: 'hold', node: '', problem: 'notSelected' });
  }
  return { byDestination: all, contested };
}

type Claim = Extract<DesiredRoute, { readonly node: string }>;

/** A node whose route overlaps a destination, which Hetzner does not take beside it. */
function routedWithin(destination: string, claims: ReadonlyMap<string, Claim>): string | undefined {
  const range = parseIPv4CIDR(destination);
  for (const [other, claim] of claims) {
    const block = parseIPv4CIDR(other);
    if (claim.kind === 'route' && range !== undefined && block !== undefined && overlaps(range, block))
      return claim.node;
  }
  return undefined;
}

/** What a node claims in the network; `elsewhere` where another network of the cluster routes it. */
export function claimedBy(node: KubeNode, servers: ServerLookup, networkID: number, { isOurs, networks }: Claims) {
  if (!isOurs(node)) return { problem: 'notSelected' } as const;
  return networks === undefined
    ? gatewayOf(node, servers, networkID)
    : gatewayAmong(node, servers, networkID, networks);
}

import { type Cidr, includes, knownCidr } from './addresses.ts';
import { isShown } from './records.ts';
import type { World } from './world.ts';

/** Pods with native routing: whether what one sends gets to the other, from route table to gateway to route table. */

/** A server and the addresses of its pods. */
export interface PodHost {
  readonly server: number;
  readonly podCIDR: string;
}

export interface PodNetworks {
  readonly hosts: readonly PodHost[];
  /** Servers that pass on what is not for them. */
  readonly forwarders?: readonly number[];
  /** Which pods live in which network: that is where a forwarder sends what is for them. */
  readonly podRanges?: readonly { readonly network: number; readonly range: string }[];
}

export interface Unreachable {
  readonly from: number;
  readonly to: number;
  readonly why: string;
}

/** More machines than any sane way has. */
const mostHops = 8;

interface Network {
  /** Longest prefix first. */
  readonly routes: readonly { readonly block: Cidr; readonly gateway: string }[];
  readonly servers: Map<string, number>;
}

/** All pairs of hosts, in both directions, between whose pods nothing gets through. */
export function unreachablePods(world: World, { hosts, forwarders = [], podRanges = [] }: PodNetworks): Unreachable[] {
  const networks = new Map<number, Network>();
  for (const { id, routes } of world.networks.values()) {
    const blocks = routes
      .filter(isShown)
      .map(({ destination, gateway }) => ({ block: knownCidr(destination), gateway }))
      .sort((a, b) => b.block.prefix - a.block.prefix);
    networks.set(id, { routes: blocks, servers: new Map() });
  }
  const attachments = new Map<number, number[]>();
  for (const server of world.servers.values()) {
    const shown = server.attachments.filter(isShown);
    attachments.set(
      server.id,
      shown.map(({ network }) => network),
    );
    for (const { network, ip } of shown) networks.get(network)?.servers.set(ip, server.id);
  }
  const ranges = podRanges.map(({ network, range }) => ({ network, block: knownCidr(range) }));
  const pods = new Map(hosts.map(({ server, podCIDR }) => [server, knownCidr(podCIDR)]));
  const forwards = new Set(forwarders);

  /** Where a server sends it: the network it is in, or for a forwarder in several that of the pods. */
  const wayOut = (server: number, address: number): number | undefined => {
    const own = attachments.get(server) ?? [];
    const range = ranges.find(({ network, block }) => own.includes(network) && includes(block, address));
    return forwards.has(server) ? range?.network : own[0];
  };

  const problemOf = (from: number, to: number, address: number): string | undefined => {
    let at = from;
    for (let hop = 0; hop < mostHops; hop++) {
      if (at === to) return undefined;
      if (hop > 0 && !forwards.has(at)) return `server ${at} got it and does not forward`;
      const network = networks.get(wayOut(at, address) ?? 0);
      if (network === undefined) return `server ${at} has no network to send it to`;
      const route = network.routes.find(({ block }) => includes(block, address));
      if (route === undefined) return `the network of server ${at} has no route`;
      const next = network.servers.get(route.gateway);
      if (next === undefined) return `no server has the gateway ${route.gateway}`;
      at = next;
    }
    return 'it goes around in circles';
  };

  const found: Unreachable[] = [];
  for (const from of pods.keys()) {
    for (const [to, block] of pods) {
      const why = from === to ? undefined : problemOf(from, to, block.first);
      if (why !== undefined) found.push({ from, to, why });
    }
  }
  return found;
}

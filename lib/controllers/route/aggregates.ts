import { type Block, contains, overlaps, parseIPv4CIDR } from '../ip.ts';
import type { ChosenNetworks, NodeNetwork } from '../networks.ts';

/** The one route by which a network reaches all pods of another. */
export interface Aggregate {
  /** Name of the network it leads to. */
  readonly neighbour: string;
  readonly gateway: string;
}

/** The ways out of one network. */
export interface Aggregates {
  /** By destination: the range of pods of the other network. */
  readonly byDestination: ReadonlyMap<string, Aggregate>;
  /** Ways that are asked for and can't be, in words. */
  readonly problems: readonly string[];
  /** Whether a route that is no node's leads a way that the settings decide on: by a gateway, or to where none should lead. */
  isOurs(destination: string, gateway: string): boolean;
  /** Whether the settings say that nothing leads to this range. */
  isClosed(destination: string): boolean;
  /** Whether the settings ask for a way to the pods of that network. */
  leadsTo(networkID: number): boolean;
}

/** What the settings ask for, as far as it can be. A pair with a rule of its own leaves that for all others aside. */
export function aggregatesOf(network: NodeNetwork, { all, podCIDRs, gateways }: ChosenNetworks): Aggregates {
  const rules = gateways.filter(rule => rule.network === network.id);
  const byDestination = new Map<string, Aggregate>();
  const problems = new Set<string>();
  const closed = new Set<string>();
  const reached = new Set<number>();
  for (const neighbour of all) {
    const rule = rules.find(one => one.neighbour === neighbour.id) ?? rules.find(one => one.neighbour === 'others');
    if (rule === undefined || neighbour.id === network.id) continue;
    const destination = podCIDRs.get(neighbour.id);
    if (rule.address === undefined) {
      if (destination !== undefined) closed.add(destination);
      continue;
    }
    reached.add(neighbour.id);
    const pair = `HCLOUD_NETWORK_GATEWAYS: ${network.name}/${neighbour.name}=${rule.address}`;
    const wrong = wrongWith(rule.address, network);
    if (wrong !== undefined) problems.add(`${pair} ${wrong}`);
    else if (destination === undefined)
      problems.add(`${pair} leads to no range, HCLOUD_NETWORK_POD_CIDRS must have one for ${neighbour.name}`);
    else byDestination.set(destination, { neighbour: neighbour.name, gateway: rule.address });
  }
  const addresses = new Set(rules.map(({ address }) => address));
  return {
    byDestination,
    problems: [...problems],
    isOurs: (destination, gateway) => addresses.has(gateway) || closed.has(destination),
    isClosed: destination => closed.has(destination),
    leadsTo: id => reached.has(id),
  };
}

/** Hetzner takes no gateway from outside of the network, nor the first address, by which the network itself routes. */
function wrongWith(address: string, { name, ipRange }: NodeNetwork): string | undefined {
  const [range, one] = [parseIPv4CIDR(ipRange), parseIPv4CIDR(`${address}/32`)];
  if (range === undefined || one === undefined) return undefined;
  if (!contains(range, one)) return `must be an address in ${ipRange}, the range of network ${name}`;
  return one.first === range.first + 1
    ? `must be another address: it is the own gateway of network ${name}`
    : undefined;
}

/** Why the pods of a node are out of reach for other networks, if they are. */
export function misplacement(
  podCIDR: string,
  home: NodeNetwork,
  { all, podCIDRs }: Pick<ChosenNetworks, 'all' | 'podCIDRs'>,
): string | undefined {
  const block = parseIPv4CIDR(podCIDR);
  if (block === undefined) return undefined;
  const rangeOf = ({ id }: NodeNetwork): Block | undefined => parseIPv4CIDR(podCIDRs.get(id) ?? '');
  const other = all.find(one => one.id !== home.id && overlapsRange(block, rangeOf(one)));
  if (other !== undefined)
    return `overlaps ${podCIDRs.get(other.id)}, the range of network ${other.name}: nobody outside of network ${home.name} reaches these pods, and within it they are in the way of the route to network ${other.name}`;
  const own = rangeOf(home);
  if (own === undefined || contains(own, block)) return undefined;
  return `is outside of ${podCIDRs.get(home.id)}, the range of network ${home.name}: no other network reaches these pods`;
}

const overlapsRange = (block: Block, range: Block | undefined): boolean =>
  range !== undefined && overlaps(block, range);

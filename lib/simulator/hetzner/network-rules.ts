import {
  type Cidr,
  contains,
  formatCidr,
  formatIPv4,
  includes,
  isPrivate,
  knownCidr,
  overlaps,
  parseCidr,
  parseIPv4,
} from './addresses.ts';
import { refuseWhileChanging as exclude } from './exclusion.ts';
import { ApiProblem, invalidInput, overLimit } from './problem.ts';
import type { NetworkRecord, RouteRecord, SubnetRecord } from './records.ts';
import type { World } from './world.ts';

/** What the API demands of networks, subnets and routes (facts, section 8). Each rule throws what the API answers. */

/** Quotas of one network: observed, not documented. */
export const maxRoutes = 100;
export const maxSubnets = 50;
export const maxMembers = 100;

/** Gateway of the public interface of each server; never usable in a network. */
const publicGateway = parseIPv4('172.31.1.1') ?? 0;
const everything = '0.0.0.0/0';

const overlapMessage = 'network route destination overlaps with another subnetwork or network route';

/** First address of a range: the gateway of its cloud subnets. */
const firstHost = (range: Cidr): number => range.first + 1;

/** Whether the address can never be given to a member. */
export function isReserved(network: NetworkRecord, subnet: Cidr, address: number): boolean {
  const gateway = firstHost(knownCidr(network.ipRange));
  return address === gateway || address === publicGateway || address === subnet.first || address === subnet.last;
}

/** Range of a network: RFC 1918, /24 or larger. */
export function networkRange(text: string): string {
  const range = parseCidr(text);
  if (range === undefined) throw invalidInput('ip_range', 'Not a valid IPv4 range.');
  if (!isPrivate(range)) throw invalidInput('ip_range', 'Must be one of the private IPv4 ranges of RFC1918.');
  if (range.prefix > 24) throw invalidInput('ip_range', 'Minimum network size is /24.');
  return text;
}

/** A new range may only grow at its end. */
export function grownRange(network: NetworkRecord, text: string): string {
  const [range, before] = [knownCidr(networkRange(text)), knownCidr(network.ipRange)];
  if (range.first !== before.first || range.last < before.last)
    throw invalidInput('ip_range', 'IP ranges can only be extended at their end.');
  return text;
}

export interface SubnetWish {
  readonly type: string;
  readonly zone: string;
  readonly ipRange?: string | undefined;
  readonly vSwitch?: number | undefined;
}

function firstFreeRange(network: NetworkRecord): string {
  const range = knownCidr(network.ipRange);
  const taken = [...network.subnets.map(one => one.ipRange), ...network.routes.map(one => one.destination)]
    .filter(text => text !== everything)
    .map(knownCidr);
  for (let first = range.first; first <= range.last; first += 256) {
    const candidate = { first, last: first + 255, prefix: 24 };
    if (!taken.some(other => overlaps(other, candidate))) return formatCidr(candidate);
  }
  throw invalidInput('ip_range', 'No free /24 range in the network.');
}

/** A new subnet of the network, checked against all that is there or on its way. */
export function newSubnet(world: World, network: NetworkRecord, wish: SubnetWish): Omit<SubnetRecord, 'phase'> {
  const { type, zone } = wish;
  if (type !== 'cloud' && type !== 'server' && type !== 'vswitch')
    throw invalidInput('type', 'Not one of cloud, server, vswitch.');
  if (network.subnets.length >= maxSubnets) throw overLimit('network_subnets', 'subnet limit exceeded');
  if ((type === 'vswitch') !== (wish.vSwitch !== undefined))
    throw invalidInput('vswitch_id', 'Must be supplied for subnets of type vswitch, and only for them.');
  if (type === 'vswitch' && zone !== 'eu-central')
    throw invalidInput('network_zone', 'vSwitch is not available in this zone.');
  if (network.subnets.some(one => one.zone !== zone))
    throw invalidInput('network_zone', 'All subnets of a network are in one network zone.');
  const used = [...world.networks.values()].flatMap(one => one.subnets).some(one => one.vSwitch === wish.vSwitch);
  if (wish.vSwitch !== undefined && used)
    throw new ApiProblem(422, 'vswitch_id_already_used', 'vSwitch is already used by another subnet');

  const ipRange = wish.ipRange ?? firstFreeRange(network);
  const range = parseCidr(ipRange);
  const whole = knownCidr(network.ipRange);
  if (range === undefined) throw invalidInput('ip_range', 'Not a valid IPv4 range.');
  if (range.prefix > 30) throw invalidInput('ip_range', 'Minimum subnet size is /30.');
  if (!contains(whole, range)) throw invalidInput('ip_range', 'Must be inside the range of the network.');
  if (occupied(network, range))
    throw invalidInput('ip_range', 'subnet overlaps', 'subnet overlaps with another subnet or route');
  const gateway = formatIPv4(firstHost(type === 'vswitch' ? range : whole));
  return { type, ipRange, zone, gateway, vSwitch: wish.vSwitch ?? null };
}

function occupied(network: NetworkRecord, range: Cidr): boolean {
  const destinations = network.routes.map(one => one.destination).filter(text => text !== everything);
  return [...network.subnets.map(one => one.ipRange), ...destinations].some(text => overlaps(knownCidr(text), range));
}

/** A new route of the network, checked against all that is there or on its way. */
export function newRoute(
  world: World,
  network: NetworkRecord,
  destination: string,
  gateway: string,
): Omit<RouteRecord, 'phase'> {
  const range = parseCidr(destination);
  if (range === undefined) throw invalidInput('destination', 'Not a valid IPv4 range.');
  const overlap = (): ApiProblem => invalidInput('destination', overlapMessage, overlapMessage);
  if (destination === everything) {
    if (network.routes.some(one => one.destination === everything)) throw overlap();
  } else {
    if (!isPrivate(range)) throw invalidInput('destination', 'Must be a private IPv4 range of RFC1918 or 0.0.0.0/0.');
    if (includes(range, publicGateway) || occupied(network, range)) throw overlap();
  }
  if (network.routes.length >= maxRoutes) throw overLimit('network_routes', 'route limit exceeded');
  if (!isGateway(world, network, gateway)) throw invalidInput('gateway', 'invalid gateway', 'invalid gateway');
  return { destination, gateway };
}

function isGateway(world: World, network: NetworkRecord, gateway: string): boolean {
  const address = parseIPv4(gateway);
  const range = knownCidr(network.ipRange);
  if (address === undefined || !includes(range, address)) return false;
  if (address === firstHost(range) || address === publicGateway) return false;
  if (network.subnets.some(one => one.type === 'vswitch' && includes(knownCidr(one.ipRange), address))) return false;
  return world.settings.gateways === 'in-range' || network.ledger.has(gateway);
}

const routeCommands = ['add_route', 'delete_route'];
const otherCommands = ['add_subnet', 'delete_subnet', 'change_ip_range'];

/** Refuses a change of the network while another one runs, as far as `networkChanges` says. */
export function refuseWhileChanging(world: World, network: NetworkRecord, at: number, command: string): void {
  exclude(world, { ...network, type: 'network' }, at, command, {
    mode: world.settings.networkChanges,
    always: otherCommands,
    otherwise: routeCommands,
    what: 'network',
  });
}

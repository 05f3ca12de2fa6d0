import { type Cidr, formatIPv4, includes, knownCidr, parseIPv4 } from './addresses.ts';
import { isReserved, maxMembers } from './network-rules.ts';
import { ApiProblem, overLimit } from './problem.ts';
import { type Holder, membersOf, type NetworkRecord } from './records.ts';

/** Gives the addresses of a network to its members. An address is promised when asked for, before the action ends. */

/** Alias addresses of one member in one network (well known, not documented). */
const maxAliases = 5;

const notAvailable = (): ApiProblem => new ApiProblem(422, 'ip_not_available', 'IP not available');
const noSubnet = (): ApiProblem => new ApiProblem(422, 'no_subnet_available', 'no subnet or IP available');

/** Subnets that members of the zone can get addresses from. */
const subnetsFor = (network: NetworkRecord, zone: string): Cidr[] =>
  network.subnets
    .filter(one => one.type !== 'vswitch' && one.zone === zone && one.phase === 'present')
    .map(one => knownCidr(one.ipRange));

/** Takes one address for the holder. Throws `ip_not_available` when it is outside the subnets, reserved or taken. */
function take(network: NetworkRecord, subnets: readonly Cidr[], holder: Holder, ip: string): void {
  const address = parseIPv4(ip);
  const subnet = address === undefined ? undefined : subnets.find(one => includes(one, address));
  if (address === undefined || subnet === undefined || isReserved(network, subnet, address) || network.ledger.has(ip))
    throw notAvailable();
  network.ledger.set(ip, holder);
}

function firstFree(network: NetworkRecord, subnets: readonly Cidr[]): string {
  for (const subnet of subnets)
    for (let address = subnet.first; address <= subnet.last; address++) {
      const ip = formatIPv4(address);
      if (!isReserved(network, subnet, address) && !network.ledger.has(ip)) return ip;
    }
  throw noSubnet();
}

export interface AddressWish {
  readonly ip?: string | undefined;
  /** Subnet to take the address from. */
  readonly ipRange?: string | undefined;
  readonly aliasIPs?: readonly string[] | undefined;
}

/** Promises an address and the aliases to a new member; all or nothing. Returns the address. */
export function admit(network: NetworkRecord, holder: Holder, zone: string, wish: AddressWish): string {
  if (membersOf(network).length >= maxMembers) throw overLimit('network_resources', 'network member limit exceeded');
  const all = subnetsFor(network, zone);
  const wanted = wish.ipRange === undefined ? all : all.filter(one => knownRange(wish.ipRange, one));
  if (wanted.length === 0) throw noSubnet();
  const ip = wish.ip ?? firstFree(network, wanted);
  try {
    take(network, wanted, holder, ip);
    addAliases(network, holder, zone, wish.aliasIPs ?? [], 0);
  } catch (problem) {
    expel(network, holder);
    throw problem;
  }
  return ip;
}

const knownRange = (text: string | undefined, subnet: Cidr): boolean =>
  text === `${formatIPv4(subnet.first)}/${subnet.prefix}`;

/** Promises more aliases to a member that has `before` of them; all or nothing. */
export function addAliases(
  network: NetworkRecord,
  holder: Holder,
  zone: string,
  ips: readonly string[],
  before: number,
): void {
  if (before + ips.length > maxAliases) throw overLimit('alias_ips', 'alias IP limit exceeded');
  const taken: string[] = [];
  try {
    for (const ip of ips) {
      take(network, subnetsFor(network, zone), holder, ip);
      taken.push(ip);
    }
  } catch (problem) {
    for (const ip of taken) network.ledger.delete(ip);
    throw problem;
  }
}

/** Frees all addresses of a member. */
export function expel(network: NetworkRecord, holder: Holder): void {
  for (const [ip, owner] of network.ledger)
    if (owner.type === holder.type && owner.id === holder.id) network.ledger.delete(ip);
}

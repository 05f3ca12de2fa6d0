import { isIPv4 } from 'node:net';
import type { Parsed } from './go-values.ts';
import { quote } from './quote.ts';

/** By which machine pods of one network reach those of another. */
export interface NetworkGateway {
  /** Name or id of the network that the address is in. */
  readonly network: string;
  /** Name or id of the network it leads to; undefined = to all others that no pair of their own names. */
  readonly neighbour: string | undefined;
  /** Undefined = nothing leads there. */
  readonly address: string | undefined;
}

const form =
  'must be network/neighbour=address pairs separated by commas, such as core/pool-a=10.0.0.10,pool-a/*=10.1.0.10; * stands for all other networks, the address none for no way';

/** Each pair once. Names that hold one of the separators are given by id. */
export function parseNetworkGateways(text: string): Parsed<readonly NetworkGateway[]> {
  const value: NetworkGateway[] = [];
  for (const part of text.split(',').map(item => item.trim())) {
    const [, network = '', neighbour = '', address = ''] = /^([^/=]+)\/([^/=]+)=([^/=]+)$/.exec(part) ?? [];
    const gateway = {
      network: network.trim(),
      neighbour: neighbour.trim() === '*' ? undefined : neighbour.trim(),
      address: address.trim() === 'none' ? undefined : address.trim(),
    };
    if (gateway.network === '' || gateway.neighbour === '') return refused(part, 'must have a network and a neighbour');
    if (gateway.network === '*') return refused(part, 'must name its network: an address is in one network only');
    if (gateway.address !== undefined && !isIPv4(gateway.address)) return refused(part, 'must have an IPv4 address');
    if (gateway.network === gateway.neighbour) return refused(part, 'must name two networks');
    if (value.some(one => one.network === gateway.network && one.neighbour === gateway.neighbour))
      return refused(part, 'must be the only gateway of its pair');
    value.push(gateway);
  }
  return { value };
}

const refused = (part: string, why: string) => ({ allowed: `${form}: ${quote(part)} ${why}` });

import { type Block, overlaps, parseIPv4CIDR, sameText } from '../controllers/ip.ts';
import type { Parsed } from './go-values.ts';
import { quote } from './quote.ts';

/** The range that the pods of one network have their addresses from. */
export interface NetworkPodCIDR {
  /** Name or id, as written. */
  readonly network: string;
  /** IPv4, in canonical spelling. */
  readonly cidr: string;
}

const form = 'must be network=CIDR pairs separated by commas, such as core=10.240.0.0/16,pool-a=10.241.0.0/16';

/** One range per network, no two of which overlap: an address tells the network. */
export function parseNetworkPodCIDRs(text: string): Parsed<readonly NetworkPodCIDR[]> {
  const value: NetworkPodCIDR[] = [];
  const blocks: Block[] = [];
  for (const part of text.split(',').map(item => item.trim())) {
    const at = part.lastIndexOf('=');
    const [network, cidr] = [part.slice(0, Math.max(at, 0)).trim(), part.slice(at + 1).trim()];
    const block = parseIPv4CIDR(cidr);
    if (network === '' || block === undefined) return refused(part, 'must have a network and an IPv4 CIDR');
    if (!sameText(block, cidr)) return refused(part, 'must have no bits set beyond the prefix');
    if (value.some(other => other.network === network)) return refused(part, 'must be the only range of its network');
    const other = value[blocks.findIndex(one => overlaps(one, block))];
    if (other !== undefined) return refused(part, `must not overlap ${quote(`${other.network}=${other.cidr}`)}`);
    value.push({ network, cidr });
    blocks.push(block);
  }
  return { value };
}

const refused = (part: string, why: string) => ({ allowed: `${form}: ${quote(part)} ${why}` });

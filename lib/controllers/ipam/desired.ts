import { parseProviderID } from '../../hetzner/provider-id.ts';
import type { ServerLookup } from '../../hetzner/server-list.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { type Block, parseIPv4CIDR } from '../ip.ts';
import type { NodeNetwork, NodeNetworks } from '../networks.ts';
import { isUninitialized } from '../node/plan.ts';

/** Where the pod CIDRs of nodes come from. */
export interface RangeSettings {
  /** For all nodes, where the networks have no ranges of their own. */
  readonly clusterCIDR: string | undefined;
  /** Where each network has a range of its own. */
  readonly networks?: NodeNetworks;
}

/** The range that the pod CIDR of a node is to be taken from, or why there is none (yet). */
export type DesiredRange =
  | { readonly kind: 'range'; readonly range: Block; readonly network: NodeNetwork | undefined }
  /** It needs none, or not now; what changes that triggers. */
  | { readonly kind: 'none' }
  /** Its server may still be attached: a pod CIDR is for good, so none from a wrong range is given. */
  | { readonly kind: 'notAttached' }
  /** Nobody has told the range of its network. */
  | { readonly kind: 'noRange'; readonly network: NodeNetwork };

/** Whether the node waits for a pod CIDR and may have one. It is initialised first, since only then its machine is known. */
export const needsPodCIDR = (node: KubeNode): boolean =>
  node.podCIDRs.length === 0 && !node.deleting && !isUninitialized(node);

/** Whether the range depends on where the server of the node is. */
export const needsServer = ({ providerID }: KubeNode, { networks }: RangeSettings): boolean =>
  networks !== undefined && parseProviderID(providerID).kind === 'cloud';

/** A machine that is no Cloud server is in no network of Hetzner's; it has a CIDR of the network where it would be expected. */
export function desiredRange(node: KubeNode, servers: ServerLookup, settings: RangeSettings): DesiredRange {
  const { networks, clusterCIDR } = settings;
  if (!needsPodCIDR(node)) return { kind: 'none' };
  if (networks === undefined) return rangeOf(clusterCIDR, undefined) ?? { kind: 'none' };
  const { all, podCIDRs } = networks.current();
  const id = parseProviderID(node.providerID);
  const find = (): NodeNetwork | 'unknown' | 'notAttached' => {
    if (id.kind !== 'cloud') return networks.expectedOf(node);
    const server = servers.byID(id.id);
    if (server === undefined) return 'unknown';
    const home = networks.homeOf(node, server)?.network;
    return all.find(one => one.id === home) ?? 'notAttached';
  };
  const network = find();
  if (network === 'unknown') return { kind: 'none' };
  if (network === 'notAttached') return { kind: 'notAttached' };
  return rangeOf(podCIDRs.get(network.id), network) ?? { kind: 'noRange', network };
}

function rangeOf(cidr: string | undefined, network: NodeNetwork | undefined): DesiredRange | undefined {
  const range = cidr === undefined ? undefined : parseIPv4CIDR(cidr);
  return range && { kind: 'range', range, network };
}

/** All ranges that there are now. */
export const rangesOf = ({ networks, clusterCIDR }: RangeSettings): readonly Block[] =>
  (networks === undefined ? [clusterCIDR ?? ''] : [...networks.current().podCIDRs.values()])
    .map(parseIPv4CIDR)
    .filter(range => range !== undefined);

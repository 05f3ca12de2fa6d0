import type { PrivateNet, Server } from '../hetzner/types.ts';
import type { KubeNode } from '../kubernetes/types.ts';
import { canonicalIP } from './ip.ts';
import { announcedAddresses } from './node/addresses.ts';

/** A network that nodes live in. */
export interface NodeNetwork {
  readonly id: number;
  readonly name: string;
  readonly ipRange: string;
}

/** The names of networks, as far as they have been read; for messages. */
export type NameOfNetwork = (id: number) => string | undefined;

/** `k8s (7)`; the id alone of one that has not been read. */
export const networkText = (id: number | undefined, nameOf?: NameOfNetwork): string => {
  const name = id === undefined ? undefined : nameOf?.(id);
  return name === undefined ? String(id) : `${name} (${id})`;
};

/** By which machine pods of one network reach those of another, by the ids of the networks. */
export interface GatewayRule {
  /** The one that the address is in. */
  readonly network: number;
  /** `others` = all that no rule of their own is for; `absent` = one that is not there now. */
  readonly neighbour: number | 'others' | 'absent';
  /** Undefined = nothing leads there. */
  readonly address: string | undefined;
}

/** The networks of a cluster that has several. */
export interface ChosenNetworks<N extends NodeNetwork = NodeNetwork> {
  readonly primary: N;
  /** That of the control planes, where it is not the primary one. */
  readonly controlPlane: N | undefined;
  /** All of them, the primary one first, the others by name. */
  readonly all: readonly N[];
  /** The range that the pods of a network have their addresses from, by the id of the network; where it is told. */
  readonly podCIDRs: ReadonlyMap<number, string>;
  /** One for a pair at most. */
  readonly gateways: readonly GatewayRule[];
}

/** Whether the settings name the network, rather than only describe it: one that a pattern matches may be another cluster's. */
export const isNamed = ({ primary, controlPlane, podCIDRs }: ChosenNetworks, id: number): boolean =>
  primary.id === id || controlPlane?.id === id || podCIDRs.has(id);

/** Which of several networks a node is reached in. */
export interface NodeNetworks {
  current(): ChosenNetworks;
  /**
   * The attachment whose address is the node's InternalIP and its gateway: of those in the networks of the cluster the one
   * that kubelet announced, else that in the network of the control planes for a control plane, in the primary network, in
   * the first by name. Undefined for a server in none of them.
   */
  homeOf(node: KubeNode, server: Server): PrivateNet | undefined;
  /** Where a node should be whose server is in none of the networks. */
  expectedOf(node: KubeNode): NodeNetwork;
}

const isControlPlane = ({ labels }: KubeNode): boolean => labels['node-role.kubernetes.io/control-plane'] !== undefined;

export function nodeNetworks(current: () => ChosenNetworks): NodeNetworks {
  let ranked: { readonly chosen: ChosenNetworks; readonly ranks: ReadonlyMap<number, number> } | undefined;
  /** Places of the networks in their order. */
  const ranksOf = (chosen: ChosenNetworks): ReadonlyMap<number, number> => {
    if (ranked?.chosen !== chosen) ranked = { chosen, ranks: new Map(chosen.all.map(({ id }, place) => [id, place])) };
    return ranked.ranks;
  };
  return {
    current,
    homeOf: (node, server) => {
      const chosen = current();
      const ranks = ranksOf(chosen);
      const first = isControlPlane(node) ? chosen.controlPlane?.id : undefined;
      const rank = ({ network }: PrivateNet): number => (network === first ? -1 : (ranks.get(network) as number));
      const attached = server.privateNets.filter(({ network }) => ranks.has(network));
      if (attached.length <= 1) return attached[0];
      attached.sort((a, b) => rank(a) - rank(b));
      const announced = new Set(announcedAddresses(node).map(canonicalIP));
      return attached.find(({ ip }) => announced.has(canonicalIP(ip))) ?? attached[0];
    },
    expectedOf: node => {
      const { controlPlane, primary } = current();
      return (isControlPlane(node) ? controlPlane : undefined) ?? primary;
    },
  };
}

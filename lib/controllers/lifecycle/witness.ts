import { parseProviderID } from '../../hetzner/provider-id.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { InstanceLists, MachineID } from '../instances.ts';

/**
 * How far an answer that lacks the machine of a node can be trusted:
 * - `witnessed`: it holds a machine of this cluster, so it surely is about its project (or its Robot account).
 * - `vouched`: it does not, but answers to the same credentials did before.
 * - `none`: it may be about another project (a wrong token), where no server of this cluster exists.
 */
export type Trust = 'witnessed' | 'vouched' | 'none';

export interface Witness {
  /** Learns from each answer whether its credentials are those of this cluster. */
  observe(lists: InstanceLists): void;
  trust(node: KubeNode, lists: InstanceLists): Trust;
}

const kinds = ['cloud', 'robot'] as const;

/** @param credentialsSince monotonic ms since which the present credentials are in use: what was known of others is void */
export function createWitness(
  nodes: () => readonly KubeNode[],
  credentialsSince: (kind: MachineID['kind']) => number,
): Witness {
  /** When the newest answers were requested that held a machine of this cluster. */
  const seenAt: { [K in MachineID['kind']]?: number } = {};

  const isWitnessed = (kind: MachineID['kind'], lists: InstanceLists): boolean =>
    nodes().some(node => holds(node, kind, lists));

  return {
    observe: lists => {
      for (const kind of kinds) {
        const requestedAt = lists[kind]?.requestedAt;
        if (requestedAt !== undefined && requestedAt !== seenAt[kind] && isWitnessed(kind, lists)) {
          seenAt[kind] = requestedAt;
        }
      }
    },
    trust: (node, lists) => {
      // A node without provider ID is missing by its name, which is too little to go by without a witness.
      if (node.providerID === '') return isWitnessed('cloud', lists) ? 'witnessed' : 'none';
      const { kind } = parseProviderID(node.providerID);
      if (kind !== 'cloud' && kind !== 'robot') return 'none';
      if (isWitnessed(kind, lists)) return 'witnessed';
      const seen = seenAt[kind];
      return seen !== undefined && seen >= credentialsSince(kind) ? 'vouched' : 'none';
    },
  };
}

const holds = ({ providerID }: KubeNode, kind: MachineID['kind'], { cloud, robot }: InstanceLists): boolean => {
  if (providerID === '') return false;
  const id = parseProviderID(providerID);
  if (id.kind !== kind) return false;
  return (id.kind === 'robot' ? robot?.byNumber(id.id) : cloud?.byID(id.id)) !== undefined;
};

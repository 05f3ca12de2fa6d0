import { parseProviderID } from '../hetzner/provider-id.ts';
import type { KubeNode } from '../kubernetes/types.ts';
import type { InstanceLists, MachineID } from './instances.ts';

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
  /**
   * A node without provider ID is about to be tied to a machine of its name. Names are alike in projects that were made alike,
   * so where the project is in doubt this proves nothing about it.
   */
  tied(node: KubeNode, lists: InstanceLists): void;
  trust(node: KubeNode, lists: InstanceLists): Trust;
  /**
   * Whether the Cloud's answer may be about another project than that of this cluster: it has none of the servers that
   * nodes of ours name, none was seen with the present token before, and nothing there is marked as ours. False where no
   * node names a server.
   */
  doubtsProject(lists: InstanceLists): boolean;
}

const kinds = ['cloud', 'robot'] as const;

/**
 * @param credentialsSince monotonic ms since which the present credentials are in use: what was known of others is void
 * @param isMarked whether an answer of the Cloud since then holds something that is marked with an object of this cluster
 */
export function createWitness(
  nodes: () => readonly KubeNode[],
  credentialsSince: (kind: MachineID['kind']) => number,
  isMarked: (since: number) => boolean = () => false,
): Witness {
  /** When the newest answers were requested that held a machine of this cluster. */
  const seenAt: { [K in MachineID['kind']]?: number } = {};

  /** Uids of nodes that were tied while the project was in doubt. */
  let unproven: ReadonlySet<string> = new Set();
  const proven = (): readonly KubeNode[] =>
    unproven.size === 0 ? nodes() : nodes().filter(({ uid }) => !unproven.has(uid));

  const isWitnessed = (kind: MachineID['kind'], lists: InstanceLists): boolean =>
    proven().some(node => holds(node, kind, lists));

  /** Whether the credentials in use have shown a machine of this cluster. */
  const isVouched = (kind: MachineID['kind']): boolean => {
    const seen = seenAt[kind];
    return seen !== undefined && seen >= credentialsSince(kind);
  };

  const doubtsProject = (lists: InstanceLists): boolean => {
    if (isVouched('cloud') || isWitnessed('cloud', lists) || isMarked(credentialsSince('cloud'))) return false;
    return proven().some(({ providerID }) => providerID !== '' && parseProviderID(providerID).kind === 'cloud');
  };

  return {
    observe: lists => {
      for (const kind of kinds) {
        const requestedAt = lists[kind]?.requestedAt;
        if (requestedAt !== undefined && requestedAt !== seenAt[kind] && isWitnessed(kind, lists)) {
          seenAt[kind] = requestedAt;
        }
      }
      if (!doubtsProject(lists)) unproven = new Set();
    },
    tied: ({ uid }, lists) => {
      if (!doubtsProject(lists)) return;
      unproven = new Set([uid, ...nodes().flatMap(node => (unproven.has(node.uid) ? [node.uid] : []))]);
    },
    trust: (node, lists) => {
      // A node without provider ID is missing by its name, which is too little to go by without a witness.
      if (node.providerID === '') return isWitnessed('cloud', lists) ? 'witnessed' : 'none';
      const { kind } = parseProviderID(node.providerID);
      if (kind !== 'cloud' && kind !== 'robot') return 'none';
      if (isWitnessed(kind, lists)) return 'witnessed';
      return isVouched(kind) ? 'vouched' : 'none';
    },
    doubtsProject,
  };
}

const holds = ({ providerID }: KubeNode, kind: MachineID['kind'], { cloud, robot }: InstanceLists): boolean => {
  if (providerID === '') return false;
  const id = parseProviderID(providerID);
  if (id.kind !== kind) return false;
  return (id.kind === 'robot' ? robot?.byNumber(id.id) : cloud?.byID(id.id)) !== undefined;
};

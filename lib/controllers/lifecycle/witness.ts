import { parseProviderID } from '../../hetzner/provider-id.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { InstanceLists } from '../instances.ts';

/**
 * True when the answer that lacks the machine of `node` holds that of another node: it surely is about the project (or
 * the Robot account) of this cluster. A token of another project would otherwise make all nodes look gone.
 */
export function isWitnessed(node: KubeNode, nodes: readonly KubeNode[], { cloud, robot }: InstanceLists): boolean {
  const kind = node.providerID === '' ? 'cloud' : parseProviderID(node.providerID).kind;
  return nodes.some(other => {
    if (other.name === node.name || other.providerID === '') return false;
    const id = parseProviderID(other.providerID);
    if (id.kind !== kind) return false;
    return id.kind === 'robot'
      ? robot?.byNumber(id.id) !== undefined
      : id.kind === 'cloud' && cloud?.byID(id.id) !== undefined;
  });
}

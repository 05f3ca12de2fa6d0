import { parseProviderID } from '../../hetzner/provider-id.ts';
import { type KubeNode, type KubeService, keyOf } from '../../kubernetes/types.ts';

/** What tells whether a load balancer is of this cluster. */
export interface ClusterView {
  /** Namespace/name of the Service with this uid in this cluster, if there is one. */
  ownerOf(uid: string): string | undefined;
  /** Whether a node of this cluster is that Cloud server. */
  hasServer(id: number): boolean;
}

export function createClusterView(
  services: () => readonly KubeService[],
  nodes: () => readonly KubeNode[],
): ClusterView {
  return {
    ownerOf: uid => {
      const owner = services().find(service => service.uid === uid);
      return owner && keyOf(owner);
    },
    hasServer: wanted =>
      nodes().some(({ providerID }) => {
        if (providerID === '') return false;
        const id = parseProviderID(providerID);
        return id.kind === 'cloud' && id.id === wanted;
      }),
  };
}

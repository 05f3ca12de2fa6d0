import type { ServerLookup } from '../../hetzner/server-list.ts';
import type { Store } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { ChosenNetworks, NodeNetworks } from '../networks.ts';
import { createClaimants } from './claimants.ts';
import { serverOf } from './desired.ts';

/** Nodes by what routes ask for; one for all networks of a cluster, for each looks at all nodes. */
export interface NodeIndex {
  /** The nodes that have a destination as pod CIDR. */
  claimantsOf(destination: string): readonly KubeNode[];
  /** The nodes that may have routes in a network: all but those that another network routes. */
  residents(networkID: number, servers: ServerLookup): readonly KubeNode[];
}

/** @param networks where the cluster has several */
export function createNodeIndex(
  nodes: Pick<Store<KubeNode>, 'list'>,
  networks?: Pick<NodeNetworks, 'current' | 'homeOf'>,
): NodeIndex {
  let known: { readonly list: readonly KubeNode[]; readonly servers: ServerLookup; readonly chosen: ChosenNetworks };
  let byNetwork = new Map<number | undefined, KubeNode[]>();

  const homeOf = (node: KubeNode, servers: ServerLookup): number | undefined => {
    const server = serverOf(node, servers);
    return 'problem' in server ? undefined : networks?.homeOf(node, server)?.network;
  };
  return {
    claimantsOf: createClaimants(nodes),
    residents(networkID, servers) {
      const list = nodes.list();
      if (networks === undefined) return list;
      const chosen = networks.current();
      if (known?.list !== list || known.servers !== servers || known.chosen !== chosen) {
        known = { list, servers, chosen };
        byNetwork = Map.groupBy(list, node => homeOf(node, servers));
      }
      return [...(byNetwork.get(networkID) ?? []), ...(byNetwork.get(undefined) ?? [])];
    },
  };
}

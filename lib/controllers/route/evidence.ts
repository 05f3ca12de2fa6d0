import { cloudProviderID } from '../../hetzner/provider-id.ts';
import type { ServerList } from '../../hetzner/server-list.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { contains, parseIPv4CIDR } from '../ip.ts';
import type { NodeNetworks } from '../networks.ts';
import type { Aggregates } from './aggregates.ts';
import { routableCIDRs, serverOf } from './desired.ts';

/** What nodes and servers tell of a route that no node asks for: Hetzner's routes carry no owner. */
export interface Evidence {
  /** The machine that a gateway is an address of: one that a node runs on, another one, or none. Undefined = not known. */
  machineAt(gateway: string): 'node' | 'other' | 'none' | undefined;
  /** Whether a node of the cluster lives in the network. */
  hasResidents(): boolean;
  /** Whether pods of the cluster are reached by such a route alone. */
  carries(destination: string, ways: Aggregates): boolean;
}

export interface EvidenceDeps {
  readonly nodes: () => readonly KubeNode[];
  /** The newest list of servers, if there is one. */
  readonly servers: () => ServerList | undefined;
  readonly networks: Pick<NodeNetworks, 'homeOf'>;
  readonly networkID: number;
}

export function createEvidence({ nodes, servers, networks, networkID }: EvidenceDeps): Evidence {
  let known: { readonly list: ServerList; readonly providerIDs: ReadonlyMap<string, string> } | undefined;
  /** Provider IDs of the machines in the network by their addresses there. */
  const byAddress = (list: ServerList): ReadonlyMap<string, string> => {
    if (known?.list !== list) {
      const providerIDs = new Map<string, string>();
      for (const { id, privateNets } of list.servers)
        for (const { network, ip, aliasIPs } of privateNets)
          if (network === networkID)
            for (const address of [ip, ...aliasIPs]) providerIDs.set(address, cloudProviderID(id));
      known = { list, providerIDs };
    }
    return known.providerIDs;
  };
  /**
   * The network a node is reached in; `nowhere` where that is none of the cluster's: one that was renamed, or is not Hetzner's.
   * Undefined where its machine is not known, or in no network any more.
   */
  const homeOf = (node: KubeNode, list: ServerList): number | 'nowhere' | undefined => {
    const server = serverOf(node, list);
    if ('problem' in server) return server.problem === 'notOurs' ? 'nowhere' : undefined;
    return networks.homeOf(node, server)?.network ?? (server.privateNets.length > 0 ? 'nowhere' : undefined);
  };
  const covers = (range: string, cidr: string): boolean => {
    const [outer, inner] = [parseIPv4CIDR(range), parseIPv4CIDR(cidr)];
    return outer !== undefined && inner !== undefined && contains(outer, inner);
  };
  return {
    machineAt(gateway) {
      const list = servers();
      if (list === undefined) return undefined;
      const id = byAddress(list).get(gateway);
      if (id === undefined) return 'none';
      return nodes().some(({ providerID }) => providerID === id) ? 'node' : 'other';
    },
    hasResidents() {
      const list = servers();
      return list !== undefined && nodes().some(node => homeOf(node, list) === networkID);
    },
    carries(destination, ways) {
      const list = servers();
      if (list === undefined) return true;
      const wanted = [...ways.byDestination.keys()];
      const needs = (node: KubeNode): boolean => {
        const home = homeOf(node, list);
        return home === 'nowhere' || (home !== undefined && home !== networkID && ways.leadsTo(home));
      };
      return nodes().some(
        node =>
          routableCIDRs(node).some(cidr => covers(destination, cidr) && !wanted.some(range => covers(range, cidr))) &&
          needs(node),
      );
    },
  };
}

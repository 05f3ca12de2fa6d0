import { parseProviderID } from '../../hetzner/provider-id.ts';
import type { Server } from '../../hetzner/types.ts';
import type { KubeNode } from '../../kubernetes/types.ts';

/** The read side of one answered list of servers. */
export interface ServerLookup {
  byID(id: number): Server | undefined;
  byName(name: string): Server | undefined;
}

export type LookupResult =
  | { readonly kind: 'found'; readonly server: Server }
  /** The list holds no such server. */
  | { readonly kind: 'missing' }
  /** Not a machine of ours: leave it alone. */
  | { readonly kind: 'foreign'; readonly problem: string };

/**
 * The server of a node: by the id in its provider ID where it has one (names may change later), else by the exact
 * name, which is the only tie there is at first contact.
 */
export function lookUpServer(node: KubeNode, servers: ServerLookup): LookupResult {
  if (node.providerID === '') {
    const server = servers.byName(node.name);
    return server ? { kind: 'found', server } : { kind: 'missing' };
  }
  const id = parseProviderID(node.providerID);
  switch (id.kind) {
    case 'cloud': {
      const server = servers.byID(id.id);
      return server ? { kind: 'found', server } : { kind: 'missing' };
    }
    case 'robot':
      return { kind: 'foreign', problem: `provider ID ${node.providerID} names a Robot server, Robot is not enabled` };
    case 'malformed':
      return { kind: 'foreign', problem: `provider ID ${node.providerID} is malformed: ${id.problem}` };
    case 'foreign':
      return { kind: 'foreign', problem: `provider ID ${node.providerID} is not one of Hetzner` };
  }
}

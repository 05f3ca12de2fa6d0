import type { Servers } from '../../hetzner/servers.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { type Claims, claimedBy } from './desired.ts';
import type { RouteTable } from './route-table.ts';

/** Where the cluster has several networks, most destinations are no concern of this one, and need no run. */
export interface Concern {
  begin(destination: string): void;
  /** Nothing is wanted at the destination any more, and nothing of it is under way. */
  end(destination: string): void;
  /** Whether another network routes the node, and nothing of the destination is here or under way. */
  isElsewhere(node: KubeNode, destination: string): boolean;
}

export interface ConcernDeps {
  readonly servers: Pick<Servers, 'latest'>;
  readonly table: Pick<RouteTable, 'current'>;
  readonly networkID: number;
}

export function createConcern({ servers, table, networkID }: ConcernDeps, share: Claims): Concern {
  /** Also those whose change is being made, of which the table does not know yet, and those that wait for their next try. */
  const inWork = new Set<string>();
  return {
    begin: destination => void inWork.add(destination),
    end: destination => void (table.current()?.has(destination) === true || inWork.delete(destination)),
    isElsewhere(node, destination) {
      const list = servers.latest();
      if (list === undefined || inWork.has(destination) || table.current()?.has(destination) === true) return false;
      return claimedBy(node, list, networkID, share) === 'elsewhere';
    },
  };
}

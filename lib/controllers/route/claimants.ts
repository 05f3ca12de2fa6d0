import type { Store } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { overlaps, parseIPv4CIDR } from '../ip.ts';
import { routableCIDRs } from './desired.ts';

/** The nodes that have a destination as pod CIDR: one index for as long as no node changes. */
export function createClaimants(nodes: Pick<Store<KubeNode>, 'list'>): (destination: string) => readonly KubeNode[] {
  let indexed: readonly KubeNode[] | undefined;
  let index = new Map<string, KubeNode[]>();
  const add = (destination: string, node: KubeNode): void => {
    const others = index.get(destination);
    if (others === undefined) index.set(destination, [node]);
    else others.push(node);
  };
  return destination => {
    const list = nodes.list();
    if (list !== indexed) {
      indexed = list;
      index = new Map();
      for (const node of list) for (const cidr of routableCIDRs(node)) add(cidr, node);
    }
    return index.get(destination) ?? [];
  };
}

/** The nodes whose pods are in a range, or around it. */
export function nodesWithin(range: string, nodes: readonly KubeNode[]): KubeNode[] {
  const block = parseIPv4CIDR(range);
  const isWithin = (cidr: string): boolean => {
    const other = parseIPv4CIDR(cidr);
    return block !== undefined && other !== undefined && overlaps(block, other);
  };
  return nodes.filter(node => routableCIDRs(node).some(isWithin));
}

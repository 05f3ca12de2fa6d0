import assert from 'node:assert/strict';
import { type Block, contains, overlaps, parseIPv4CIDR } from '../../lib/controllers/ip.ts';
import type { FakeKubernetes } from '../../lib/simulator/kubernetes/fake.ts';
import type { KubeObject } from './kube-client.ts';

/** Looks at each change of the Nodes in the store of the API itself. */
export interface Allocations {
  /** Fails where, since the last call, two Nodes had addresses in common, or a Node got others than it had. */
  check(): void;
  /** Pod CIDR by the name of the Node, of all that are there. */
  now(): ReadonlyMap<string, string>;
  /** How many Nodes were given one. */
  count(): number;
}

const podCIDRsOf = (node: KubeObject): readonly string[] => (node.spec.podCIDRs ?? []) as string[];

/** @param allowed tells the range that the pod CIDR of a Node must be of */
export function watchAllocations(
  kubernetes: Pick<FakeKubernetes, 'watch'>,
  allowed: (node: KubeObject) => string,
): Allocations {
  const held = new Map<string, { readonly name: string; readonly podCIDR: string; readonly block: Block }>();
  const wrongs: string[] = [];
  let count = 0;

  const see = (node: KubeObject): void => {
    const { uid, name } = node.metadata;
    const podCIDRs = podCIDRsOf(node);
    const before = held.get(uid);
    if (before !== undefined && podCIDRs.join() !== before.podCIDR) {
      wrongs.push(`${name} had ${before.podCIDR} and has ${podCIDRs}`);
      return;
    }
    const [podCIDR] = podCIDRs;
    if (podCIDR === undefined || before !== undefined) return;
    const [block, range] = [parseIPv4CIDR(podCIDR), parseIPv4CIDR(allowed(node))];
    if (podCIDRs.length !== 1 || block === undefined || range === undefined || !contains(range, block)) {
      wrongs.push(`${name} got ${podCIDRs}, which is not of ${allowed(node)}`);
      return;
    }
    if (node.spec.podCIDR !== podCIDR) wrongs.push(`${name} got ${podCIDR} and ${node.spec.podCIDR}`);
    for (const other of held.values()) {
      if (overlaps(other.block, block))
        wrongs.push(`${name} got ${podCIDR}, of which ${other.name} has ${other.podCIDR}`);
    }
    held.set(uid, { name, podCIDR, block });
    count += 1;
  };

  const url = '/api/v1/nodes?watch=true';
  kubernetes.watch(
    { method: 'GET', url, headers: { authorization: 'Bearer admin-token' }, body: '' },
    {
      onLine: line => {
        const { type, object } = JSON.parse(line) as { type: string; object: KubeObject };
        if (type === 'DELETED') held.delete(object.metadata.uid);
        else see(object);
      },
      onEnd: () => wrongs.push('the watch ended'),
    },
  );

  return {
    check: () => assert.deepEqual(wrongs, []),
    now: () => new Map([...held.values()].map(({ name, podCIDR }) => [name, podCIDR])),
    count: () => count,
  };
}

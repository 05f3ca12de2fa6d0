import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/cluster.ts';
import type { KubeObject } from '../support/kube-client.ts';
import { createNode } from '../support/nodes.ts';
import { networkUnavailable, routesOf, type Scenario, scenarios } from '../support/scenario.ts';

describe('pod CIDRs of nodes in two networks', () => {
  const scenario = scenarios();
  const args = [
    '--leader-elect-lease-duration=6s',
    '--leader-elect-renew-deadline=4s',
    '--leader-elect-retry-period=1s',
    '--allocate-node-cidrs=true',
  ];
  const env = {
    HCLOUD_NODE_IPAM: 'true',
    HCLOUD_WORKER_NETWORK_PREFIX: 'pool',
    HCLOUD_NETWORK_POD_CIDRS: 'k8s=10.244.0.0/20,pool=10.244.16.0/20',
    HCLOUD_NODE_CIDR_MASK_SIZE: '26',
  };

  const nodesOf = async (s: Scenario): Promise<KubeObject[]> =>
    (await s.cluster.client.must('GET', '/api/v1/nodes')).items as KubeObject[];

  /** Waits until all nodes have a pod CIDR, a route to it in their network, and say so. Returns `name CIDR`. */
  const allRouted = async (s: Scenario, count: number, pool: number): Promise<string[]> => {
    const find = async () => {
      const nodes = await nodesOf(s);
      const routes = [...routesOf(s.hetzner, s.networkID), ...routesOf(s.hetzner, pool)];
      const isRouted = (node: KubeObject): boolean => {
        const address = (node.status.addresses as { type: string; address: string }[]).find(
          a => a.type === 'InternalIP',
        );
        return networkUnavailable(node) === 'False' && routes.includes(`${node.spec.podCIDR} ${address?.address}`);
      };
      return nodes.length === count && nodes.every(isRouted) ? nodes : undefined;
    };
    const nodes = await eventually(`${count} nodes are routed`, find, 60_000);
    for (const { spec } of nodes) assert.deepEqual(spec.podCIDRs, [spec.podCIDR]);
    return nodes.map(({ metadata, spec }) => `${metadata.name} ${spec.podCIDR}`);
  };

  it('are allocated, routed, and never given twice when another replica takes over', async t => {
    const s = await scenario(t);
    const pool = s.hetzner.networks.create({ name: 'pool', ipRange: '172.16.0.0/16', subnets: ['172.16.0.0/16'] }).id;
    const join = async (i: number): Promise<void> => {
      if (i % 2 === 0) s.addServer(i);
      else s.hetzner.servers.create({ name: `w${i}`, network: pool, ip: `172.16.1.${i}` });
      await createNode(s.cluster, { name: `w${i}` });
    };
    const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, k) => from + k);
    await Promise.all(numbers(1, 10).map(join));
    const first = s.start({ args, env });
    await first.waitForLine(({ msg }) => msg === 'Became the leader', 'the first leads');
    const second = s.start({ args, env });
    const before = await allRouted(s, 10, pool);

    await Promise.all(numbers(11, 20).map(join));
    await first.waitForLine(({ msg, node }) => msg === 'Allocated pod CIDR' && node === 'w11', 'the first serves w11');
    first.kill('SIGKILL');
    await Promise.all(numbers(21, 30).map(join));
    const after = await allRouted(s, 30, pool);
    await second.waitForLine(({ msg }) => msg === 'Began to allocate pod CIDRs', 'the second allocates');

    assert.deepEqual(
      before.filter(line => !after.includes(line)),
      [],
    );
    const given = after.map(line => line.split(' ')[1] ?? '');
    assert.equal(new Set(given).size, 30);
    for (const line of after) {
      const [, i = '', podCIDR = ''] = /^w(\d+) (.*)$/.exec(line) ?? [];
      const range = Number(i) % 2 === 0 ? /^10\.244\.(\d|1[0-5])\.\d+\/26$/ : /^10\.244\.(1[6-9]|2\d|3[01])\.\d+\/26$/;
      assert.match(podCIDR, range, line);
    }
    const fenced = (await nodesOf(s)).filter(({ metadata }) => JSON.stringify(metadata.annotations).includes('fence'));
    assert.deepEqual(fenced, []);
  });
});

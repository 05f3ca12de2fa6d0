import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/cluster.ts';
import type { ControllerProcess } from '../support/controller-process.ts';
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

  /** Every second one in each network. */
  const joinAll = (s: Scenario, pool: number, from: number, to: number): Promise<unknown> =>
    Promise.all(
      Array.from({ length: to - from + 1 }, (_, k) => from + k).map(async i => {
        if (i % 2 === 0) s.addServer(i);
        else s.hetzner.servers.create({ name: `w${i}`, network: pool, ip: `172.16.1.${i}` });
        await createNode(s.cluster, { name: `w${i}` });
      }),
    );
  const addPool = (s: Scenario): number =>
    s.hetzner.networks.create({ name: 'pool', ipRange: '172.16.0.0/16', subnets: ['172.16.0.0/16'] }).id;
  const leads = (controller: ControllerProcess) =>
    controller.waitForLine(({ msg }) => msg === 'Became the leader', 'it leads');

  it('are allocated, routed, and never given twice when another replica takes over', async t => {
    const s = await scenario(t);
    const pool = addPool(s);
    await joinAll(s, pool, 1, 10);
    const first = s.start({ args, env });
    await leads(first);
    const second = s.start({ args, env });
    const before = await allRouted(s, 10, pool);

    await joinAll(s, pool, 11, 20);
    await first.waitForLine(({ msg, node }) => msg === 'Allocated pod CIDR' && node === 'w11', 'the first serves w11');
    first.kill('SIGKILL');
    await joinAll(s, pool, 21, 30);
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

  it('are not given twice by a leader that was paused in the middle of it', async t => {
    const s = await scenario(t);
    const pool = addPool(s);
    const first = s.start({ args, env });
    await leads(first);
    const second = s.start({ args, env });
    await second.waitForLine(({ msg }) => msg === 'Observed another leader', 'the second follows');
    await joinAll(s, pool, 1, 20);
    await first.waitForLine(({ msg }) => msg === 'Allocated pod CIDR', 'the first allocates');
    first.kill('SIGSTOP');
    await joinAll(s, pool, 21, 30);
    const before = await allRouted(s, 30, pool);
    first.kill('SIGCONT');
    await first.waitForLine(({ msg }) => msg === 'Lost the leadership', 'the first notices');
    await joinAll(s, pool, 31, 40);
    const after = await allRouted(s, 40, pool);
    assert.deepEqual(
      before.filter(line => !after.includes(line)),
      [],
    );
    assert.equal(new Set(after.map(line => line.split(' ')[1])).size, 40);
  });
});

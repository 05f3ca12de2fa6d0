import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../support/cluster.ts';
import { createNode } from '../support/nodes.ts';
import { isInitialised, networkUnavailable, routesOf, scenarios } from '../support/scenario.ts';

const scenario = scenarios();
const PATIENCE = 240_000;

it('initialises and routes 253 nodes in three networks, by two processes that have the nodes of one label each', async t => {
  const s = await scenario(t);
  const networks = [0, 1, 2].map(k => {
    const ipRange = `10.${1 + k}.0.0/16`;
    const name = k === 0 ? 'control' : `workers-${k}`;
    return { k, id: s.hetzner.networks.create({ name, ipRange, subnets: [ipRange] }).id };
  });
  const members = networks.flatMap(({ k, id }) =>
    Array.from({ length: k === 0 ? 59 : 97 }, (_, i) => ({
      name: `n${k}-${i}`,
      network: id,
      ip: `10.${1 + k}.1.${i + 1}`,
      podCIDR: `10.${241 + k}.${i}.0/24`,
      labels: {
        group: i % 2 === 0 ? 'even' : 'odd',
        ...(k === 0 && i < 3 && { 'node-role.kubernetes.io/control-plane': '' }),
      },
    })),
  );
  assert.equal(members.length, 253);
  for (const { name, network, ip } of members) s.hetzner.servers.create({ name, network, ip });
  for (let from = 0; from < members.length; from += 10) {
    const some = members.slice(from, from + 10);
    await Promise.all(
      some.map(({ name, ip, podCIDR, labels }) =>
        createNode(s.cluster, { name, nodeIPs: [ip], podCIDRs: [podCIDR], labels }),
      ),
    );
  }
  const start = async (group: string) =>
    s.start({
      args: ['--cluster-cidr=10.240.0.0/12'],
      env: {
        HCLOUD_ENDPOINT: await s.endpoint(group),
        HCLOUD_NETWORK: 'control',
        HCLOUD_WORKER_NETWORK_PREFIX: 'workers-',
        HCLOUD_SERVER_LABEL_SELECTOR: `group=${group}`,
        HCLOUD_LOAD_BALANCERS_ENABLED: 'false',
      },
    });
  const controllers = [await start('even'), await start('odd')];
  await eventually(
    'all nodes are initialised and routed',
    async () => {
      const { items } = await s.cluster.client.must('GET', '/api/v1/nodes');
      return items.every(node => isInitialised(node) && networkUnavailable(node) === 'False') ? true : undefined;
    },
    PATIENCE,
  );
  for (const { id } of networks) {
    const wanted = members.filter(({ network }) => network === id).map(({ podCIDR, ip }) => `${podCIDR} ${ip}`);
    assert.deepEqual(routesOf(s.hetzner, id), wanted.sort());
  }
  for (const [i, group] of (['even', 'odd'] as const).entries()) {
    const named = new Set(controllers[i]?.lines().flatMap(({ node }) => (typeof node === 'string' ? [node] : [])));
    const own = members.filter(({ labels }) => labels.group === group).map(({ name }) => name);
    assert.deepEqual([...named].sort(), own.sort());
  }
  const leases = await s.cluster.client.must('GET', '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases');
  const names = leases.items.map(({ metadata }) => metadata.name).filter(name => name.includes('group-'));
  assert.equal(names.length, 2, names.join());
  const writes = s.hetzner.requests.filter(({ method }) => method === 'POST').length;
  const refused = s.hetzner.requests.filter(({ status }) => status >= 400).length;
  assert.equal(writes - refused, 253);
});

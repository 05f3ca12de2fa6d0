import assert from 'node:assert/strict';
import { it } from 'node:test';
import { kindsOf } from '../../lib/simulator/demo/networks/result.ts';
import {
  build,
  clusterCIDR,
  environment,
  type Member,
  memberOf,
  members as topology,
  zones,
} from '../../lib/simulator/demo/networks/topology.ts';
import { eventually } from '../support/cluster.ts';
import type { KubeObject } from '../support/kube-client.ts';
import { createNode } from '../support/nodes.ts';
import { isInitialised, networkUnavailable, routesOf, type Scenario, scenarios } from '../support/scenario.ts';

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

const isReady = (node: KubeObject): boolean => isInitialised(node) && networkUnavailable(node) === 'False';
const listNodes = async (s: Scenario): Promise<readonly KubeObject[]> =>
  (await s.cluster.client.must('GET', '/api/v1/nodes')).items;
const joinAll = async (s: Scenario, some: readonly Member[]): Promise<void> => {
  for (let from = 0; from < some.length; from += 10) {
    const batch = some.slice(from, from + 10);
    await Promise.all(
      batch.map(({ name, ip, podCIDR, labels }) =>
        createNode(s.cluster, { name, nodeIPs: [ip], podCIDRs: [podCIDR], labels }),
      ),
    );
  }
};
const until = (what: string, s: Scenario, names?: readonly string[]) =>
  eventually(
    what,
    async () => {
      const nodes = await listNodes(s);
      const awaited = nodes.filter(({ metadata }) => names?.includes(metadata.name) ?? true);
      return awaited.every(isReady) ? nodes : undefined;
    },
    PATIENCE,
  );
/** Version of each node outside of the network that is lost. */
const versionsOf = (nodes: readonly KubeObject[]): Map<string, string> =>
  new Map(
    nodes
      .filter(({ metadata }) => !metadata.name.startsWith('pool-b-'))
      .map(({ metadata }) => [metadata.name, metadata.resourceVersion as string]),
  );

it('BUG-010: joins 3 control planes and 250 workers in 3 networks by gateways, and the loss of one touches no node of another', async t => {
  const s = await scenario(t, { answerDelay: 20, actionDuration: 400 });
  const built = build(s.hetzner);
  const [core, poolA, poolB] = built.networks as [number, number, number];
  const options = {
    args: [`--cluster-cidr=${clusterCIDR}`],
    env: { ...environment, HCLOUD_LOAD_BALANCERS_ENABLED: 'false' },
  };
  await joinAll(s, topology);
  const first = s.start(options);
  const nodes = await until('all are initialised and routed', s);
  assert.equal(nodes.length, 253);
  await eventually('the ways are there', async () => {
    const count = built.networks.reduce((sum, id) => sum + routesOf(s.hetzner, id).length, 0);
    return count === 253 + 6 ? true : undefined;
  });
  const { writes, reads, polls } = kindsOf(s.hetzner.counts());
  assert.equal(writes, 253 + 6, 'a route a node, and one a pair of networks');
  assert.ok(reads <= 20, JSON.stringify(s.hetzner.counts()));
  // Polls come by time: there are more where the machine has other things to do.
  const times = s.hetzner.requests.map(({ at }) => at);
  const seconds = (Math.max(...times) - Math.min(...times)) / 1_000;
  t.diagnostic(`${writes} writes, ${reads} reads, ${polls} polls in ${seconds} s`);
  assert.ok(polls < Math.max(60, 4 * seconds), JSON.stringify(s.hetzner.counts()));
  assert.deepEqual(s.hetzner.unreachablePods(built.pods), []);
  s.hetzner.networks.removeRoute(poolA, zones[0]?.pods as string, zones[1]?.gateway as string);
  assert.equal(s.hetzner.unreachablePods(built.pods).length, 97 * 59);
  s.hetzner.networks.addRoute(poolA, zones[0]?.pods as string, zones[1]?.gateway as string);

  // Hetzner answers errors for one network.
  const before = versionsOf(nodes);
  const fault = s.hetzner.faults.add({ kind: 'html', status: 503, path: new RegExp(`^/networks/${poolB}(/|$)`) });
  const late = [memberOf(1, 98), memberOf(2, 98)];
  for (const member of late) built.addServer(member);
  await joinAll(s, late);
  await until('the one of another network is ready', s, ['pool-a-98']);
  await eventually('the lost network was asked', async () => (fault.struck > 0 ? true : undefined));
  const meanwhile = versionsOf(await listNodes(s));
  meanwhile.delete('pool-a-98');
  assert.deepEqual(meanwhile, before);
  fault.remove();
  const routed = await until('the one of the lost network is ready, too', s);

  // The network is deleted, and the controller starts without it.
  await first.stop();
  s.hetzner.networks.remove(poolB);
  s.hetzner.clearRequests();
  s.start(options);
  await eventually(
    'the ways to it are gone',
    async () => {
      const routes = [core, poolA].flatMap(id => routesOf(s.hetzner, id));
      return routes.some(route => route.startsWith('10.242.0.0/16')) ? undefined : true;
    },
    PATIENCE,
  );
  assert.deepEqual(
    [core, poolA].map(id => routesOf(s.hetzner, id).length),
    [60, 99],
  );
  assert.deepEqual(versionsOf(await listNodes(s)), versionsOf(routed));
  assert.equal(kindsOf(s.hetzner.counts()).writes, 2, JSON.stringify(s.hetzner.counts()));
  const left = built.pods.hosts.filter(({ podCIDR }) => !podCIDR.startsWith('10.242.'));
  assert.deepEqual(s.hetzner.unreachablePods({ ...built.pods, hosts: left }), []);
});

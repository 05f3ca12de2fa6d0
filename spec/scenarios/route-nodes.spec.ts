import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../support/cluster.ts';
import { type KubeObject, MERGE_PATCH, STRATEGIC_PATCH } from '../support/kube-client.ts';
import { deleteNode, nodePath } from '../support/nodes.ts';
import { requestTotals, routeWrites, untilRoutes, untilWarned } from '../support/route-checks.ts';
import { networkUnavailable, type Scenario, scenarios } from '../support/scenario.ts';

const scenario = scenarios();

const patchesOfStatus = async (s: Scenario, name: string): Promise<number> =>
  (await s.cluster.requests()).filter(
    ({ user, verb, path }) =>
      user === 'controller' && verb === 'patch' && path.startsWith(`/api/v1/nodes/${name}/status`),
  ).length;

const conditionReason = (node: KubeObject | undefined): string | undefined => {
  const conditions = (node?.status.conditions ?? []) as readonly { type: string; reason: string }[];
  return conditions.find(({ type }) => type === 'NetworkUnavailable')?.reason;
};

/** Node w<i> that is initialised already and needs no address written. */
const joinInitialised = (s: Scenario, i: number, id: number) =>
  s.join(i, {
    providerID: `hcloud://${id}`,
    taint: false,
    addresses: [
      { type: 'Hostname', address: `w${i}` },
      { type: 'ExternalIP', address: `203.0.113.${i}` },
      { type: 'InternalIP', address: `10.0.1.${i}` },
    ],
  });

it('replaces the route when the private address of a server changes, as soon as the Node says so (BUG-025)', async t => {
  const s = await scenario(t);
  const id = s.addServer(1);
  const controller = s.start();
  await s.join(1);
  await s.waitRouted(1);
  s.hetzner.servers.detach(id, s.networkID);
  s.hetzner.servers.attach(id, s.networkID, { ip: '10.0.1.51' });

  const addresses = [
    { type: 'Hostname', address: 'w1' },
    { type: 'ExternalIP', address: '203.0.113.1' },
    { type: 'InternalIP', address: '10.0.1.51' },
  ];
  await s.cluster.client.must('PATCH', `${nodePath('w1')}/status`, { status: { addresses } }, MERGE_PATCH);
  await untilRoutes(s, ['10.244.1.0/24 10.0.1.51']);
  const line = await controller.waitForLine(l => l.msg === 'Replaced route', 'replaced route');
  assert.deepEqual([line.gateway, line.previousGateway], ['10.0.1.51', '10.0.1.1']);
  assert.deepEqual(routeWrites(s), { added: 2, deleted: 1, refused: 0 });
});

it('replaces the route when the refresh of addresses finds another one (BUG-025)', async t => {
  const s = await scenario(t);
  const id = s.addServer(1);
  s.start({ args: ['--node-status-update-frequency=1s'] });
  await s.join(1);
  await s.waitRouted(1);
  s.hetzner.servers.detach(id, s.networkID);
  s.hetzner.servers.attach(id, s.networkID, { ip: '10.0.1.51' });
  await untilRoutes(s, ['10.244.1.0/24 10.0.1.51']);
  await s.waitForNode('w1', node => JSON.stringify(node?.status.addresses).includes('10.0.1.51'));
  assert.deepEqual(routeWrites(s), { added: 2, deleted: 1, refused: 0 });
});

it('writes the route of a server that was attached to the network after its node joined (BUG-028)', async t => {
  const s = await scenario(t);
  s.addServer(1);
  const id = s.addServer(3, { ip: false });
  s.start();
  await s.join(1);
  await s.waitRouted(1);
  const before = requestTotals(s).withoutPolls;
  await s.join(3);
  await untilWarned(s, 'w3', 'FailedToCreateRoute');
  await s.waitForNode('w3', node => networkUnavailable(node) === 'True');
  s.hetzner.servers.attach(id, s.networkID, { ip: '10.0.1.3' });
  await s.waitRouted(3, 30_000);
  await s.waitForNode('w3', node => JSON.stringify(node?.status.addresses).includes('10.0.1.3'));
  const more = requestTotals(s).withoutPolls - before;
  assert.ok(more <= 6, `${more} requests: one POST and a list a try`);
});

it('sends only the IPv4 pod CIDR of a dual-stack node, and calls its network available (BUG-029)', async t => {
  const s = await scenario(t);
  s.addServer(1);
  s.addServer(2);
  s.start({ args: ['--cluster-cidr=10.244.0.0/16,fd00:244::/56'] });
  await s.join(1, { podCIDRs: ['10.244.1.0/24', 'fd00:244:0:1::/64'] });
  await s.join(2, { podCIDRs: ['fd00:244:0:2::/64', '10.244.2.0/24'] });
  await s.waitRouted(1);
  await s.waitRouted(2);
  await deleteNode(s.cluster, 'w2');
  await untilRoutes(s, ['10.244.1.0/24 10.0.1.1']);
  assert.deepEqual(routeWrites(s), { added: 2, deleted: 1, refused: 0 });
  assert.deepEqual(await s.eventsOf('w1').then(events => events.filter(e => e.reason !== 'Synced')), []);
});

it('patches the condition once where the CNI set it before (BUG-030)', async t => {
  const s = await scenario(t);
  const id = s.addServer(1);
  s.addServer(2);
  await joinInitialised(s, 1, id);
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const byCNI = {
    type: 'NetworkUnavailable',
    status: 'False',
    reason: 'CiliumIsUp',
    message: 'Cilium is running on this node',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
  await s.cluster.client.must(
    'PATCH',
    `${nodePath('w1')}/status`,
    { status: { conditions: [byCNI] } },
    STRATEGIC_PATCH,
  );
  const before = await patchesOfStatus(s, 'w1');
  const controller = s.start({ args: ['--min-resync-period=1s'] });
  await s.waitForNode('w1', node => conditionReason(node) === 'RouteCreated');
  await controller.stop();
  s.start({ args: ['--min-resync-period=1s'] });
  await s.join(2);
  await s.waitRouted(2);
  assert.equal((await patchesOfStatus(s, 'w1')) - before, 1);
  assert.deepEqual(routeWrites(s), { added: 2, deleted: 0, refused: 0 });
});

it('writes no condition and no route with routes switched off (BUG-030)', async t => {
  const s = await scenario(t);
  s.addServer(1);
  s.start({ env: { HCLOUD_NETWORK_ROUTES_ENABLED: 'false' } });
  await s.join(1);
  const node = await s.waitInitialised('w1');
  assert.equal(networkUnavailable(node), undefined);
  assert.ok(JSON.stringify(node.status.addresses).includes('10.0.1.1'), 'the network still gives the InternalIP');
  assert.deepEqual(s.routes(), []);
  assert.equal(s.hetzner.count({ route: '/networks/{id}' }), 0);
});

it('routes a node that gets its pod CIDR later, by that update (BUG-030)', async t => {
  const s = await scenario(t);
  s.addServer(1);
  const controller = s.start();
  await s.join(1, { podCIDRs: [] });
  const node = await s.waitInitialised('w1');
  assert.equal(networkUnavailable(node), undefined);
  const spec = { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'] };
  await s.cluster.client.must('PATCH', nodePath('w1'), { spec }, MERGE_PATCH);
  await s.waitRouted(1);
  const created = await controller.waitForLine(l => l.msg === 'Created route', 'created route');
  assert.equal(created.reason, 'node updated');
  assert.deepEqual(
    controller.lines().filter(l => l.controller === 'route' && l.level !== 'info'),
    [],
  );
});

it('moves the route when a Node is registered anew with another pod CIDR', async t => {
  const s = await scenario(t);
  s.addServer(1);
  s.start();
  await s.join(1);
  await s.waitRouted(1);
  await deleteNode(s.cluster, 'w1');
  await s.join(1, { podCIDRs: ['10.244.9.0/24'] });
  await untilRoutes(s, ['10.244.9.0/24 10.0.1.1']);
  await s.waitForNode('w1', node => networkUnavailable(node) === 'False');
  assert.deepEqual(routeWrites(s), { added: 2, deleted: 1, refused: 0 });
});

it('writes nothing to Hetzner when a server is renamed in the console', async t => {
  const s = await scenario(t);
  const id = s.addServer(1);
  s.addServer(2);
  const controller = s.start({ args: ['--min-resync-period=1s', '--node-status-update-frequency=1s'] });
  await s.join(1);
  await s.waitRouted(1);
  s.hetzner.servers.rename(id, 'another-name');
  s.hetzner.clearRequests();
  const lists = async () => (s.hetzner.count({ route: '/servers' }) >= 2 ? true : undefined);
  await eventually('two lists with the new name', lists, 30_000);
  await controller.stop();
  s.start();
  await s.join(2);
  await s.waitRouted(2);
  assert.deepEqual(s.routes(), ['10.244.1.0/24 10.0.1.1', '10.244.2.0/24 10.0.1.2']);
  assert.deepEqual(routeWrites(s), { added: 1, deleted: 0, refused: 0 });
});

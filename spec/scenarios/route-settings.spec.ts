import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deleteNode } from '../support/nodes.ts';
import { routeWrites, untilRoutes } from '../support/route-checks.ts';
import { networkUnavailable, scenarios } from '../support/scenario.ts';

const scenario = scenarios();

for (const by of ['name', 'id'] as const) {
  it(`finds the network by its ${by} and asks for it once`, async t => {
    const s = await scenario(t);
    s.hetzner.networks.create({ name: 'other', ipRange: '10.0.0.0/8' });
    s.addServer(1);
    s.start({ env: { HCLOUD_NETWORK: by === 'id' ? `${s.networkID}\n` : 'k8s\n' } });
    await s.join(1);
    await s.waitRouted(1);
    const reads = s.hetzner.count({ route: '/networks' }) + s.hetzner.count({ route: '/networks/{id}' });
    assert.equal(reads, 1);
  });
}

it('finds a network whose name is a number when no network has that id', async t => {
  const s = await scenario(t);
  const { id } = s.hetzner.networks.create({ name: '4711', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/16'] });
  const server = s.addServer(1, { ip: false });
  s.hetzner.servers.attach(server, id, { ip: '10.0.1.1' });
  s.start({ env: { HCLOUD_NETWORK: '4711' } });
  await s.join(1);
  await s.waitForNode('w1', node => networkUnavailable(node) === 'False');
  assert.deepEqual(s.hetzner.networks.get(id)?.routes, [{ destination: '10.244.1.0/24', gateway: '10.0.1.1' }]);
  assert.deepEqual(s.routes(), []);
});

it('removes only routes inside the IPv4 part of a dual-stack cluster CIDR, given in either order', async t => {
  const s = await scenario(t);
  s.addServer(1);
  s.hetzner.networks.addRoute(s.networkID, '10.244.9.0/24', '10.0.0.99');
  s.hetzner.networks.addRoute(s.networkID, '10.245.9.0/24', '10.0.0.99');
  s.start({ args: ['--cluster-cidr=fd00:244::/56, 10.244.0.0/16'] });
  await s.join(1, { podCIDRs: ['10.244.1.0/24', 'fd00:244:0:1::/64'] });
  await s.waitRouted(1);
  await untilRoutes(s, ['10.244.1.0/24 10.0.1.1', '10.245.9.0/24 10.0.0.99']);
  await deleteNode(s.cluster, 'w1');
  await untilRoutes(s, ['10.245.9.0/24 10.0.0.99']);
  assert.deepEqual(routeWrites(s), { added: 1, deleted: 2, refused: 0 });
});

it('runs without routes in a network that is wanted for addresses only, and without a cluster CIDR (BUG-034)', async t => {
  const s = await scenario(t);
  s.addServer(1);
  const controller = s.start({
    args: ['--cluster-cidr='],
    env: { HCLOUD_NETWORK_ROUTES_ENABLED: 'false' },
  });
  await s.join(1);
  const node = await s.waitInitialised('w1');
  assert.ok(JSON.stringify(node.status.addresses).includes('"10.0.1.1"'));
  assert.equal(await controller.stop(), 0);
  assert.deepEqual(routeWrites(s), { added: 0, deleted: 0, refused: 0 });
  const loud = controller.lines().filter(l => l.level !== 'info' && l.controller !== 'node');
  assert.deepEqual(loud, []);
});

it('leaves the routes idle, and says what to set, where only the cluster CIDR is missing (BUG-034)', async t => {
  const s = await scenario(t);
  s.addServer(1);
  s.hetzner.networks.addRoute(s.networkID, '10.244.9.0/24', '10.0.0.99');
  const controller = s.start({ args: ['--cluster-cidr='] });
  const line = await controller.waitForLine(l => l.msg === 'Left the route controller idle', 'idle routes');
  assert.match(String(line.hint), /--cluster-cidr.*HCLOUD_NETWORK_ROUTES_ENABLED=false/);
  await s.join(1);
  await s.waitInitialised('w1');
  assert.deepEqual(s.routes(), ['10.244.9.0/24 10.0.0.99']);
  assert.deepEqual(routeWrites(s), { added: 0, deleted: 0, refused: 0 });
});

it('ends with both settings in one message where pod CIDRs are promised but no cluster CIDR is given (BUG-034)', async t => {
  const s = await scenario(t);
  const controller = s.start({ args: ['--cluster-cidr=', '--allocate-node-cidrs=true'] });
  assert.notEqual(await controller.exited, 0);
  assert.match(controller.output(), /--cluster-cidr[^"]*HCLOUD_NETWORK_ROUTES_ENABLED=false/);
  assert.doesNotMatch(controller.output(), /^\s+at /m);
  assert.equal(s.hetzner.count(), 0);
});

it('writes the routes of 20 nodes that join at once while a foreign lock, lost answers and refusals are in the way', async t => {
  const s = await scenario(t, { networkChanges: 'conflict' });
  for (let i = 1; i <= 21; i++) s.addServer(i);
  s.start();
  await s.join(1);
  await s.waitRouted(1);
  s.hetzner.networks.lock(s.networkID, 3_000);
  const path = '/networks/{id}/actions/add_route';
  s.hetzner.faults.add({ kind: 'reset-after-effect', path, skip: 6, times: 2 });
  await Promise.all(Array.from({ length: 20 }, (_, i) => s.join(i + 2)));
  for (let i = 2; i <= 21; i++) await s.waitRouted(i, 60_000);
  const { added, deleted, refused } = routeWrites(s);
  assert.equal(deleted, 0);
  assert.ok(added - refused <= 22, `${added} tries, ${refused} refused, for 21 routes and two lost answers`);
  assert.ok(refused <= 12, `${refused} refused`);
});

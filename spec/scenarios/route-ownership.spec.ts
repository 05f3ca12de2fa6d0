import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deleteNode } from '../support/nodes.ts';
import { routeWrites, untilRoutes, untilWarned, warningsOf } from '../support/route-checks.ts';
import { networkUnavailable, scenarios } from '../support/scenario.ts';

const scenario = scenarios();

it('leaves routes of the user alone and removes the orphan inside the cluster CIDR (BUG-021)', async t => {
  const s = await scenario(t);
  const id = s.addServer(1);
  s.hetzner.servers.setAliasIPs(id, s.networkID, ['10.0.0.254']);
  s.hetzner.networks.addRoute(s.networkID, '0.0.0.0/0', '10.0.0.254');
  s.hetzner.networks.addRoute(s.networkID, '192.168.50.0/24', '10.0.0.9');
  s.hetzner.networks.addRoute(s.networkID, '10.244.9.0/24', '10.0.0.99');
  await s.join(1);
  s.start({ args: ['--min-resync-period=1s'] });
  await s.waitRouted(1);
  await untilRoutes(s, ['0.0.0.0/0 10.0.0.254', '10.244.1.0/24 10.0.1.1', '192.168.50.0/24 10.0.0.9']);

  // Passes over all routes come every one to two seconds here; a node that leaves is seen in between.
  await deleteNode(s.cluster, 'w1');
  await untilRoutes(s, ['0.0.0.0/0 10.0.0.254', '192.168.50.0/24 10.0.0.9']);
  await s.join(1);
  await s.waitRouted(1);
  assert.deepEqual(routeWrites(s), { added: 2, deleted: 2, refused: 0 });
});

it('warns on the Node when its pod CIDR is outside of the cluster CIDR, and never deletes there (BUG-022)', async t => {
  const s = await scenario(t);
  const id = s.addServer(1);
  s.addServer(2);
  s.addServer(3);
  const controller = s.start();
  await s.join(1, { podCIDRs: ['10.42.1.0/24'] });
  await s.waitForNode('w1', node => networkUnavailable(node) === 'False');
  assert.deepEqual(s.routes(), ['10.42.1.0/24 10.0.1.1']);
  await untilWarned(s, 'w1', 'ClusterCIDRMisconfigured');

  await deleteNode(s.cluster, 'w1');
  s.hetzner.servers.remove(id);
  await s.join(2);
  await s.waitRouted(2);
  await controller.stop();
  s.start();
  await s.join(3, { podCIDRs: [] });
  await s.waitInitialised('w3');
  assert.deepEqual(s.routes(), ['10.244.2.0/24 10.0.1.2', '10.42.1.0/24 10.0.1.1']);
  assert.deepEqual(routeWrites(s), { added: 2, deleted: 0, refused: 0 });
  assert.equal((await warningsOf(s, 'w1', 'ClusterCIDRMisconfigured')).length, 1);
});

it('removes the route of a deleted Node whether its server went before or after it (BUG-022)', async t => {
  const s = await scenario(t);
  const [first, second] = [s.addServer(1), s.addServer(2)];
  s.start();
  await s.join(1);
  await s.join(2);
  await s.waitRouted(1);
  await s.waitRouted(2);

  s.hetzner.servers.remove(first as number);
  await deleteNode(s.cluster, 'w1');
  await untilRoutes(s, ['10.244.2.0/24 10.0.1.2']);
  await deleteNode(s.cluster, 'w2');
  s.hetzner.servers.remove(second as number);
  await untilRoutes(s, []);
  assert.deepEqual(routeWrites(s), { added: 2, deleted: 2, refused: 0 });
});

it('removes at start the routes of Nodes that were deleted while the controller was down (BUG-022)', async t => {
  const s = await scenario(t);
  const ids = [1, 2, 3].map(i => s.addServer(i));
  const controller = s.start();
  for (const i of [1, 2, 3]) await s.join(i);
  for (const i of [1, 2, 3]) await s.waitRouted(i);
  await controller.stop();
  await deleteNode(s.cluster, 'w2');
  await deleteNode(s.cluster, 'w3');
  s.hetzner.servers.remove(ids[2] as number);
  s.hetzner.clearRequests();

  s.start();
  await untilRoutes(s, ['10.244.1.0/24 10.0.1.1']);
  assert.deepEqual(routeWrites(s), { added: 0, deleted: 2, refused: 0 });
});

it('creates the routes of others beside one whose gateway belongs to no server, and removes that one (BUG-023)', async t => {
  const s = await scenario(t);
  s.addServer(1);
  s.hetzner.networks.addRoute(s.networkID, '10.244.7.0/24', '10.0.0.6');
  await s.join(1);
  const controller = s.start();
  await s.waitRouted(1);
  await untilRoutes(s, ['10.244.1.0/24 10.0.1.1']);
  assert.deepEqual(routeWrites(s), { added: 1, deleted: 1, refused: 0 });
  assert.deepEqual(
    controller.lines().filter(l => l.controller === 'route' && l.level !== 'info'),
    [],
  );
});

it('separates two destinations that share one gateway without touching the right one (BUG-024)', async t => {
  const s = await scenario(t);
  s.addServer(1);
  s.addServer(2);
  s.hetzner.networks.addRoute(s.networkID, '10.244.1.0/24', '10.0.1.1');
  s.hetzner.networks.addRoute(s.networkID, '10.244.2.0/24', '10.0.1.1');
  await s.join(1);
  await s.join(2);
  const controller = s.start();
  await s.waitRouted(1);
  await s.waitRouted(2);
  assert.deepEqual(s.routes(), ['10.244.1.0/24 10.0.1.1', '10.244.2.0/24 10.0.1.2']);
  assert.deepEqual(routeWrites(s), { added: 1, deleted: 1, refused: 0 });
  const line = await controller.waitForLine(l => l.msg === 'Replaced route', 'replaced route');
  assert.deepEqual([line.destination, line.gateway, line.previousGateway], ['10.244.2.0/24', '10.0.1.2', '10.0.1.1']);
});

it('makes no call for a Robot node and leaves its condition and the route of its CIDR alone (BUG-027)', async t => {
  const s = await scenario(t);
  s.addServer(1);
  s.addServer(3);
  s.hetzner.networks.addRoute(s.networkID, '10.244.4.0/24', '10.0.2.2');
  await s.join(4, { name: 'bm1', providerID: 'hrobot://321', taint: false });
  s.start({ args: ['--min-resync-period=1s'] });
  await s.join(1);
  await s.waitRouted(1);
  await s.join(2, { name: 'bm2', providerID: 'hrobot://322', taint: false });
  // Another node's way through the controller says that the Robot nodes before it were looked at.
  await s.join(3);
  await s.waitRouted(3);
  assert.deepEqual(s.routes(), ['10.244.1.0/24 10.0.1.1', '10.244.3.0/24 10.0.1.3', '10.244.4.0/24 10.0.2.2']);
  assert.deepEqual(routeWrites(s), { added: 2, deleted: 0, refused: 0 });
  for (const name of ['bm1', 'bm2']) {
    await s.waitForNode(name, node => node !== undefined && networkUnavailable(node) === undefined);
    assert.deepEqual(await warningsOf(s, name, 'FailedToCreateRoute'), []);
  }
});

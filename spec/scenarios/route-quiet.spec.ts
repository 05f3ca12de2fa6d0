import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deleteNode } from '../support/nodes.ts';
import { routeWrites } from '../support/route-checks.ts';
import { networkUnavailable } from '../support/scenario.ts';
import { type VirtualApp, virtualApp } from '../support/virtual-app.ts';

/** Quiet and slow trouble: minutes to days, in virtual time. */

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;

/** Servers and Nodes w1 ... w<count>, and a controller that has routed them. */
const routedCluster = async (v: VirtualApp, count: number, args: readonly string[] = []) => {
  for (let i = 1; i <= count; i++) v.addServer(i);
  for (let i = 1; i <= count; i++) await v.join(i);
  const controller = v.start({ args });
  for (let i = 1; i <= count; i++) await v.untilRouted(i);
  return controller;
};

const nodeWrites = (v: VirtualApp, since: number): number =>
  v.kubernetes.journal
    .writes()
    .filter(({ at, user, path }) => at >= since && user.startsWith('controller') && path.startsWith('/api/v1/nodes'))
    .length;

it('changes nothing in ten quiet minutes, after two restarts and with two nodes of one pod CIDR (BUG-026)', async t => {
  const v = virtualApp(t);
  v.addServer(3);
  v.addServer(4);
  let controller = await routedCluster(v, 2);
  await v.join(3);
  await v.untilRouted(3);
  v.startHeartbeats(10 * SECOND);
  for (let restarts = 0; restarts < 2; restarts++) {
    await controller.stop();
    controller = v.start();
    await v.advance(MINUTE);
  }
  assert.deepEqual(routeWrites(v), { added: 3, deleted: 0, refused: 0 });

  await v.join(4, { podCIDRs: ['10.244.2.0/24'] });
  await v.until('a warning on the later node', () => v.eventsOf('w4').some(e => e.reason === 'FailedToCreateRoute'));
  await v.until('the later node says so', () => networkUnavailable(v.node('w4')) === 'True');
  assert.deepEqual(v.routes(), ['10.244.1.0/24 10.0.1.1', '10.244.2.0/24 10.0.1.2', '10.244.3.0/24 10.0.1.3']);
  const quiet = v.now();
  await v.advance(10 * MINUTE);
  await controller.stop();
  controller = v.start();
  await v.advance(10 * MINUTE);
  assert.equal(v.spent(quiet).writes, 0);
  assert.equal(nodeWrites(v, quiet), 0);
  assert.equal(networkUnavailable(v.node('w2')), 'False');

  await deleteNode(v, 'w2');
  await v.untilRouted(4, 30 * SECOND);
  assert.deepEqual(v.routes(), ['10.244.1.0/24 10.0.1.1', '10.244.2.0/24 10.0.1.4', '10.244.3.0/24 10.0.1.3']);
});

it('deletes a route that cannot be deleted ever less often, and goes on with others (BUG-031)', async t => {
  const v = virtualApp(t);
  v.hetzner.networks.addRoute(v.networkID, '10.244.9.0/24', '10.0.0.99');
  const path = '/networks/{id}/actions/delete_route';
  const fault = v.hetzner.faults.add({ kind: 'error', status: 422, code: 'service_error', path });
  await routedCluster(v, 2);
  v.startHeartbeats();
  const since = v.now();
  await v.advance(30 * MINUTE);
  v.addServer(3);
  await v.join(3);
  assert.ok((await v.untilRouted(3)) < 12 * SECOND);
  assert.ok(fault.struck < 20, `${fault.struck} tries`);
  assert.ok(fault.struck > 5, `${fault.struck} tries`);
  const { all } = v.spent(since);
  assert.ok(all < 60, `${all} requests in half an hour`);

  fault.remove();
  await v.until('the route is gone', () => !v.routes().some(route => route.startsWith('10.244.9.')), 10 * MINUTE);
});

it('asks once in six idle minutes, whatever the kubelets report (BUG-032)', async t => {
  const v = virtualApp(t);
  const controller = await routedCluster(v, 11);
  await v.advance(SECOND);
  v.startHeartbeats(10 * SECOND);
  const [idle, runs] = [v.now(), controller.runs.length];
  await v.advance(6 * MINUTE);
  assert.equal(controller.runs.length, runs, 'heartbeats concern nobody');
  assert.deepEqual(v.spent(idle), { all: 1, polls: 0, writes: 0 });
  assert.equal(v.hetzner.count({ since: idle, route: '/networks/{id}' }), 0);
});

it('spends in an idle day no more than its refresh of addresses and one or two safety passes (BUG-032)', async t => {
  const v = virtualApp(t);
  await routedCluster(v, 11);
  v.startHeartbeats();
  const idle = v.now();
  await v.advance(24 * HOUR);
  const { all, writes } = v.spent(idle);
  assert.equal(writes, 0);
  const passes = v.hetzner.count({ since: idle, route: '/networks/{id}' });
  assert.ok(passes >= 1 && passes <= 2, `${passes} reads of the network: a safety pass every 12 to 24 hours`);
  assert.ok(all <= (24 * HOUR) / (5 * MINUTE) + passes + 1, `${all} requests`);
});

it('repairs at the safety pass what was changed in the console', async t => {
  const v = virtualApp(t);
  await routedCluster(v, 3);
  v.hetzner.networks.removeRoute(v.networkID, '10.244.1.0/24', '10.0.1.1');
  v.hetzner.networks.removeRoute(v.networkID, '10.244.2.0/24', '10.0.1.2');
  v.hetzner.networks.addRoute(v.networkID, '10.244.2.0/24', '10.0.0.99');
  v.hetzner.networks.addRoute(v.networkID, '10.244.77.0/24', '10.0.0.98');
  const changed = v.now();
  const whole = ['10.244.1.0/24 10.0.1.1', '10.244.2.0/24 10.0.1.2', '10.244.3.0/24 10.0.1.3'];
  const took = await v.until('routes are repaired', () => v.routes().join() === whole.join(), 24 * HOUR);
  assert.ok(took > 11 * HOUR, `repaired after ${took} ms`);
  assert.equal(v.hetzner.count({ since: changed, route: '/networks/{id}' }), 1);
  assert.equal(v.spent(changed).writes, 4);
  await v.advance(24 * HOUR);
  assert.equal(v.spent(changed).writes, 4);
});

it('takes over in as many requests as there is work (targets: take over at start)', async t => {
  const v = virtualApp(t);
  let controller = await routedCluster(v, 1);
  const first = v.spent();
  assert.ok(first.all - first.polls <= 3 && first.all <= 4, JSON.stringify(first));
  await controller.stop();
  for (let i = 2; i <= 11; i++) v.addServer(i);
  for (let i = 2; i <= 11; i++) await v.join(i);
  v.hetzner.networks.removeRoute(v.networkID, '10.244.1.0/24', '10.0.1.1');
  const again = v.now();
  controller = v.start();
  for (let i = 1; i <= 11; i++) await v.untilRouted(i);
  const second = v.spent(again);
  assert.ok(second.all - second.polls <= 13 && second.all <= 18, JSON.stringify(second));
  await controller.stop();

  const third = v.now();
  v.start();
  await v.advance(MINUTE);
  assert.ok(v.spent(third).all <= 3, JSON.stringify(v.spent(third)));
});

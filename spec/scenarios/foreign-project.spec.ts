import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { createFakeHetzner, type FakeHetzner } from '../../lib/simulator/hetzner/fake.ts';
import { balanced, ingressOf } from '../support/balanced.ts';
import { setReady } from '../support/nodes.ts';
import { deleteService } from '../support/services.ts';
import { type VirtualApp, virtualApp } from '../support/virtual-app.ts';

/** A token of another project of the same account, by mistake or after a wrong rotation. */

const MINUTE = 60_000;
const foreignToken = 'x'.repeat(64);

/** Another cluster's project: its network is called as ours, its pods have the same addresses, its servers other ids. */
const foreign = (v: VirtualApp): FakeHetzner => {
  const other = createFakeHetzner({ token: foreignToken, now: v.now, answerDelay: 20, actionDuration: 400 });
  const { id } = other.networks.create({ id: 4711, name: 'k8s', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/16'] });
  for (const i of [7, 8]) {
    other.servers.create({ id: 900_000 + i, name: `w${i}`, network: id, ip: `10.0.1.${i}` });
    other.networks.addRoute(id, `10.244.${i}.0/24`, `10.0.1.${i}`);
  }
  return other;
};
const setUp = (t: TestContext) => {
  const v = virtualApp(t);
  const other = foreign(v);
  const writes = () => other.requests.filter(({ method }) => method !== 'GET');
  return { v, b: balanced(v), other, writes, token: (v.hetzner.settings as { token: string }).token };
};

it('makes no load balancer in it and lets no Service go, tells why, and goes on with the right token', async t => {
  const { v, b, other, writes, token } = setUp(t);
  await b.grow(1, 2);
  const { lines } = v.start();
  await v.untilRouted(2);
  await b.create('web');
  await v.advance(MINUTE);
  const { id } = b.balancer('web');

  v.rotateToken(foreignToken, other);
  await b.create('new');
  await deleteService(v, 'web');
  await v.advance(10 * MINUTE);
  assert.deepEqual(writes(), []);
  assert.ok(b.service('web') !== undefined, 'the Service is kept');
  assert.ok(v.hetzner.loadBalancers.get(id) !== undefined);
  for (const name of ['new', 'web'])
    assert.match(b.events(name).join('\n'), /Warning ForeignProject .*HCLOUD_TOKEN is probably of another project/);
  const held = lines().filter(({ msg }) => msg === 'Held back changes, as Hetzner knows no server of this cluster');
  assert.equal(held.length, 1);
  const asked = other.requests.length;
  assert.ok(asked < 40, `${asked} requests in ten minutes`);

  v.rotateToken(token);
  const isDone = (): boolean =>
    b.service('web') === undefined && ingressOf(b.service('new')).length > 0 && b.balancer('new').targets.length === 2;
  await v.until('both are looked after', isDone, 6 * MINUTE);
  assert.deepEqual(
    v.hetzner.loadBalancers.list().map(one => one.id),
    [b.balancer('new').id],
  );
});

it('takes over no load balancer of that name in it', async t => {
  const { v, b, other, writes } = setUp(t);
  await b.grow(1, 1);
  v.start();
  await v.untilRouted(1);
  other.loadBalancers.create({ name: 'edge', location: 'fsn1' });
  v.rotateToken(foreignToken, other);
  await b.create('web', { name: 'edge' });
  await v.advance(5 * MINUTE);
  assert.deepEqual(writes(), []);
});

it('writes no route to the network of the same name in it, from the start on', async t => {
  const { v, other, writes } = setUp(t);
  await balanced(v).grow(1, 2);
  const first = v.start();
  await v.untilRouted(2);
  await first.stop();
  const before = v.routes();

  v.rotateToken(foreignToken, other);
  v.start();
  await v.advance(30 * MINUTE);
  assert.deepEqual(writes(), []);
  assert.deepEqual(v.routes(), before);
  assert.equal(other.networks.list()[0]?.routes.length, 2);
});

it('takes a node that joins meanwhile, under a name that a server has there too, for no proof: no Node is deleted', async t => {
  const { v, b, other, token } = setUp(t);
  await b.grow(1, 4);
  const { lines } = v.start();
  await v.untilRouted(4);
  await v.advance(MINUTE);
  v.rotateToken(foreignToken, other);
  await b.grow(7, 7);
  await b.create('new');
  for (const name of ['w1', 'w2']) await setReady(v, name, 'Unknown');
  await v.advance(60 * MINUTE);
  assert.equal(v.node('w7')?.spec.providerID, 'hcloud://900007');
  for (const name of ['w1', 'w2']) assert.ok(v.node(name) !== undefined, name);
  assert.deepEqual(
    other.requests.filter(({ method, status }) => method !== 'GET' && status < 400),
    [],
  );
  assert.deepEqual(
    lines().filter(({ msg }) => msg.startsWith('Found another network')),
    [],
  );
  v.rotateToken(token);
  await v.until('the Service has its load balancer', () => ingressOf(b.service('new')).length > 0, 10 * MINUTE);
  assert.equal(v.routes().length, 4);
});

it('knows its project by a load balancer of one of its Services where all servers were replaced meanwhile', async t => {
  const { v, b } = setUp(t);
  const servers = await b.grow(1, 2);
  const first = v.start();
  await v.untilRouted(2);
  await b.create('web');
  await v.advance(MINUTE);
  await first.stop();
  for (const id of servers) v.hetzner.servers.remove(id);
  for (const name of ['w1', 'w2']) await setReady(v, name, 'Unknown');
  const { lines } = v.start();
  await b.create('new');
  await v.advance(MINUTE);
  assert.equal(ingressOf(b.service('new')).length > 0, true);
  assert.deepEqual(
    lines().filter(({ msg }) => msg === 'Held back changes, as Hetzner knows no server of this cluster'),
    [],
  );
});

it('asks for nothing more where all is well: a Service is made and given up without a list of servers', async t => {
  const { v, b } = setUp(t);
  await b.grow(1, 1);
  v.start();
  await v.untilRouted(1);
  await v.advance(MINUTE);
  const from = v.now();
  await b.create('web');
  await v.advance(MINUTE);
  await deleteService(v, 'web');
  await v.advance(MINUTE);
  assert.equal(b.service('web'), undefined);
  assert.equal(v.hetzner.count({ since: from, method: 'GET', route: '/servers' }), 0);
});

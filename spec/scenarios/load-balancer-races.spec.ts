import assert from 'node:assert/strict';
import { it } from 'node:test';
import { balanced, ingressOf, listenersOf, ports } from '../support/balanced.ts';
import { deleteService } from '../support/services.ts';
import { virtualApp } from '../support/virtual-app.ts';

const HOUR = 3_600_000;

it('BUG-051: of two Services that name one load balancer of nobody in the same moment one gets it, and the other touches nothing', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  const { id } = v.hetzner.loadBalancers.create({ name: 'shared' });
  await b.grow(1, 2);
  v.start();
  await v.advance(5_000);
  await Promise.all([
    b.create('a', { name: 'shared' }, { ports: ports(80) }),
    b.create('b', { name: 'shared' }, { ports: ports(443) }),
  ]);
  await v.advance(60_000);
  const uid = v.hetzner.loadBalancers.get(id)?.labels['hcloud-ccm/service-uid'];
  const [owner, other] = b.service('a')?.metadata.uid === uid ? ['a', 'b'] : ['b', 'a'];
  assert.equal(uid, b.service(owner)?.metadata.uid);
  assert.deepEqual(listenersOf(b.balancer(owner)).length, 1);
  assert.deepEqual(ingressOf(b.service(other)), []);
  assert.ok(b.events(other).some(text => text.includes(`belongs to Service default/${owner}`)));
  const since = v.now();
  await v.advance(26 * HOUR);
  assert.deepEqual(b.writes(since), []);
  assert.equal(v.hetzner.loadBalancers.list().length, 1);

  await v.settled(deleteService(v, owner));
  await v.until('the other one gets its own', () => ingressOf(b.service(other)).length > 0, 600_000);
  assert.equal(v.hetzner.loadBalancers.list().length, 1);
});

it('BUG-041: deletes a load balancer once, whatever else works on it', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  await b.grow(1, 2);
  v.start();
  await b.create('web');
  await v.until('it is there', () => ingressOf(b.service('web')).length > 0, 60_000);
  const { id } = b.balancer('web');
  const since = v.now();
  v.hetzner.loadBalancers.lock(id, 8_000);
  await Promise.all([
    b.change('web', { 'algorithm-type': 'least_connections' }),
    b.grow(3, 4),
    deleteService(v, 'web'),
  ]);
  await v.until('the Service is gone', () => b.service('web') === undefined, 120_000);
  assert.deepEqual(v.hetzner.loadBalancers.list(), []);
  const deleted = v.hetzner.requests.filter(one => one.at >= since && one.method === 'DELETE' && one.status === 204);
  assert.equal(deleted.length, 1);
  await v.advance(26 * HOUR);
  assert.deepEqual(v.hetzner.loadBalancers.list(), [], 'and does not make it again');
});

it('BUG-041: finds deleted what somebody else deleted, and keeps what was protected in the last moment', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  await b.grow(1, 1);
  v.start();
  for (const name of ['gone', 'kept']) await b.create(name);
  await v.until('both are there', () => ['gone', 'kept'].every(name => ingressOf(b.service(name)).length > 0), 60_000);
  const [gone, kept] = [b.balancer('gone').id, b.balancer('kept').id];
  // Between the list that a deletion goes by and the deletion itself.
  v.hetzner.faults.add({ kind: 'slow', ms: 2_000, method: 'GET', path: '/load_balancers', times: 1 });
  await Promise.all([deleteService(v, 'gone'), deleteService(v, 'kept')]);
  await v.advance(1_000);
  v.hetzner.loadBalancers.remove(gone);
  v.hetzner.loadBalancers.setProtected(kept, true);
  await v.until('both Services are gone', () => ['gone', 'kept'].every(name => b.service(name) === undefined), 120_000);
  assert.deepEqual(
    v.hetzner.loadBalancers.list().map(one => [one.id, one.labels]),
    [[kept, {}]],
  );
});

it('a load balancer that is deleted by hand is made again when that is noticed', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  await b.grow(1, 1);
  v.start();
  await b.create('web');
  await v.until('it is there', () => ingressOf(b.service('web')).length > 0, 60_000);
  v.hetzner.loadBalancers.remove(b.balancer('web').id);
  await b.change('web', { 'algorithm-type': 'least_connections' });
  await v.until('there is another', () => v.hetzner.loadBalancers.list().length === 1, 60_000);
  const public4 = () => v.hetzner.loadBalancers.list()[0]?.publicNet.ipv4?.ip;
  await v.until('the Service names its address', () => ingressOf(b.service('web'))[0]?.ip === public4(), 60_000);
});

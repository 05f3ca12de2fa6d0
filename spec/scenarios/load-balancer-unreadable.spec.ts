import assert from 'node:assert/strict';
import { it } from 'node:test';
import { balanced, ingressOf } from '../support/balanced.ts';
import { deleteService } from '../support/services.ts';
import { virtualApp } from '../support/virtual-app.ts';

/** What a Service says of trouble that keeps its load balancer from being looked at, or its status from being written. */

const MINUTE = 60_000;

it('tells on the Service that Hetzner refuses the token', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  await b.grow(1, 1);
  v.start();
  await v.untilRouted(1);
  v.hetzner.faults.add({ kind: 'error', status: 401, code: 'unauthorized', message: 'unable to authenticate' });
  await b.create('web');
  await v.advance(MINUTE);
  const [event = ''] = b.events('web');
  assert.match(
    event,
    /^Warning SyncLoadBalancerFailed Could not bring the load balancer in line: unable to authenticate/,
  );
});

it('tells on the Service that its status may not be written', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  await b.grow(1, 1);
  const { user } = v.start();
  await v.untilRouted(1);
  const fault = { kind: 'status', code: 403, message: 'services "web" is forbidden' } as const;
  v.kubernetes.faults.add({ user, verb: 'patch', path: '/api/v1/namespaces/default/services', fault });
  await b.create('web');
  await v.advance(MINUTE);
  assert.match(b.events('web').join('\n'), /SyncLoadBalancerFailed .*services "web" is forbidden/);
  assert.deepEqual(
    b.writes().filter(write => write.includes('load_balancers')),
    [],
  );
});

it('leaves the status as it is while the wanted hostname is none', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  await b.grow(1, 1);
  v.start();
  await v.untilRouted(1);
  await b.create('web', { hostname: 'web.example.com' });
  await v.advance(MINUTE);
  await b.change('web', { hostname: 'not a name' });
  await v.advance(MINUTE);
  assert.deepEqual(ingressOf(b.service('web')), [{ hostname: 'web.example.com' }]);
  assert.match(b.events('web').join('\n'), /InvalidAnnotation .*hostname: "not a name" must be a DNS name/);
});

it('tells when a deleted Service leaves nothing behind that could be deleted', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  await b.grow(1, 1);
  const { lines } = v.start();
  await v.untilRouted(1);
  for (const name of ['web', 'mail']) await b.create(name);
  await v.advance(MINUTE);
  await deleteService(v, 'mail');
  await v.advance(MINUTE);
  v.hetzner.loadBalancers.remove(b.balancer('web').id);
  await deleteService(v, 'web');
  await v.advance(MINUTE);
  const line = lines().filter(({ msg }) => msg === 'Found no load balancer to delete');
  assert.deepEqual(
    line.map(({ service }) => service),
    ['default/web'],
  );
  assert.match(b.events('web').join('\n'), /Warning LoadBalancerNotFound /);
  assert.doesNotMatch(b.events('mail').join('\n'), /LoadBalancerNotFound/);
});

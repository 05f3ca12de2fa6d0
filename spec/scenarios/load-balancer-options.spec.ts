import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { FakeHetznerOptions } from '../../lib/simulator/hetzner/fake.ts';
import { balanced, ingressOf, ports } from '../support/balanced.ts';
import { type VirtualStartOptions, virtualApp } from '../support/virtual-app.ts';

/** Field reports 054 to 057 and 060: certificates, reverse DNS, types and refusals, in virtual time. */

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;

const settled = async (t: TestContext, start: VirtualStartOptions = {}, options: FakeHetznerOptions = {}) => {
  const v = virtualApp(t, options);
  const b = balanced(v);
  await b.grow(1, 1);
  const controller = v.start(start);
  await v.advance(20 * SECOND);
  return { v, b, controller };
};

it('BUG-054: finds certificates by id and name, whatever blanks the list has', async t => {
  const { v, b } = await settled(t);
  v.hetzner.certificates.create({ id: 4711, name: 'example' });
  const { id } = v.hetzner.certificates.create({ name: 'wildcard' });
  await b.create('web', { protocol: 'https', 'http-certificates': ' 4711, wildcard ' }, { ports: ports(443) });
  await v.advance(20 * SECOND);
  const [listener] = b.balancer('web').services;
  assert.deepEqual([listener?.protocol, listener?.http?.certificates], ['https', [4711, id].sort((x, y) => x - y)]);
});

it('BUG-054: names a certificate that is not there, and brings the rest in line', async t => {
  const { v, b } = await settled(t);
  await b.create('web', { protocol: 'https', 'http-certificates': 'nowhere' }, { ports: ports(443) });
  await v.advance(MINUTE);
  assert.ok(b.events('web').some(event => event.startsWith('Warning') && event.includes('"nowhere"')));
  assert.deepEqual([b.balancer('web').targets.length, b.balancer('web').services], [1, []]);
  assert.equal(ingressOf(b.service('web')).length, 3);
  const refused = v.hetzner.requests.filter(({ status }) => status >= 400);
  assert.deepEqual(refused, []);
  v.hetzner.certificates.create({ name: 'nowhere' });
  await v.until('a listener', () => b.balancer('web').services.length === 1, 10 * MINUTE);
});

it('BUG-054: asks for a certificate before anything is asked of Hetzner', async t => {
  const { v, b } = await settled(t);
  await b.create('web', { protocol: 'https' }, { ports: ports(443) });
  await v.advance(MINUTE);
  assert.ok(b.events('web').some(event => event.startsWith('Warning') && event.includes('http-certificates')));
  const refused = v.hetzner.requests.filter(({ status }) => status >= 400);
  assert.deepEqual(refused, []);
});

const managed = {
  protocol: 'https',
  'certificate-type': 'managed',
  'http-managed-certificate-domains': '*.example.com, example.com',
};

it('BUG-055: makes a managed certificate once, however often is synced, and a new one for other domains', async t => {
  const { v, b, controller } = await settled(t);
  await b.create('web', managed, { ports: ports(443) });
  await v.advance(MINUTE);
  const [first, ...others] = v.hetzner.certificates.list();
  assert.deepEqual([first?.domainNames, others], [['*.example.com', 'example.com'], []]);
  for (let round = 0; round < 10; round++) {
    await b.change('web', { 'algorithm-type': round % 2 === 0 ? 'least_connections' : 'round_robin' });
    await v.advance(MINUTE);
  }
  await controller.stop();
  v.start();
  await v.advance(MINUTE);
  assert.equal(v.hetzner.count({ method: 'POST', route: '/certificates' }), 1);
  assert.deepEqual(b.balancer('web').services[0]?.http?.certificates, [first?.id]);

  await b.change('web', { 'http-managed-certificate-domains': 'www.example.com' });
  await v.advance(5 * MINUTE);
  const now = v.hetzner.certificates.list();
  assert.deepEqual(
    now.map(({ domainNames }) => domainNames),
    [['www.example.com']],
  );
  assert.deepEqual(b.balancer('web').services[0]?.http?.certificates, [now[0]?.id]);
});

it('BUG-055: tries again to delete a certificate that is not needed any more, and says why it is still there', async t => {
  const { v, b, controller } = await settled(t);
  await b.create('web', managed, { ports: ports(443) });
  await v.advance(MINUTE);
  const refusal = { kind: 'error', status: 500, code: 'server_error', message: 'not now', times: 5 } as const;
  v.hetzner.faults.add({ method: 'DELETE', path: '/certificates/{id}', ...refusal });
  await b.change('web', { 'http-managed-certificate-domains': 'www.example.com' });
  const isAlone = (): boolean =>
    v.hetzner.count({ method: 'DELETE' }) > 0 && v.hetzner.certificates.list().length === 1;
  await v.until('one certificate is left', isAlone, 20 * MINUTE);
  assert.ok(controller.lines().some(({ level, err }) => level === 'warn' && JSON.stringify(err).includes('not now')));
  assert.equal(v.hetzner.count({ method: 'DELETE' }), 6);
});

it('BUG-055: looks only once an hour after a certificate that somebody else uses', async t => {
  const { v, b } = await settled(t);
  await b.create('web', managed, { ports: ports(443) });
  await v.advance(MINUTE);
  const inUse = { kind: 'error', status: 422, code: 'service_error', message: 'certificate still in use' } as const;
  const hit = v.hetzner.faults.add({ method: 'DELETE', path: '/certificates/{id}', ...inUse });
  await b.change('web', { 'http-managed-certificate-domains': 'www.example.com' });
  await v.advance(5 * HOUR);
  assert.ok(hit.struck >= 4 && hit.struck <= 7, `${hit.struck} tries in five hours`);
});

it('BUG-055: backs off for long when no more certificates are to be had, and keeps the listener it has', async t => {
  const { v, b } = await settled(t);
  await b.create('web', managed, { ports: ports(443) });
  await v.advance(MINUTE);
  const [listener] = b.balancer('web').services;
  const refusal = { kind: 'error', status: 403, code: 'resource_limit_exceeded', message: 'limit reached' } as const;
  const limit = v.hetzner.faults.add({ method: 'POST', path: '/certificates', ...refusal });
  await b.change('web', { 'http-managed-certificate-domains': 'www.example.com' });
  for (let round = 0; round < 18; round++) {
    await b.change('web', { 'algorithm-type': round % 2 === 0 ? 'least_connections' : 'round_robin' });
    await v.advance(10 * MINUTE);
  }
  assert.ok(limit.struck >= 1 && limit.struck <= 4, `${limit.struck} tries in three hours`);
  assert.deepEqual(b.balancer('web').services, [listener]);
  assert.ok(b.events('web').some(event => event.startsWith('Warning') && event.includes('limit reached')));
  limit.remove();
  await v.until(
    'the new certificate is used',
    () => {
      const [id] = b.balancer('web').services[0]?.http?.certificates ?? [];
      return v.hetzner.certificates.get(id as number)?.domainNames.includes('www.example.com') === true;
    },
    2 * HOUR,
  );
});

it('BUG-056: sets reverse DNS where it differs, once, and leaves it when the annotation goes', async t => {
  const { v, b } = await settled(t);
  await b.create('web', { 'ipv4-rdns': 'lb.example.com', 'ipv6-rdns': 'lb.example.com' });
  await v.advance(20 * SECOND);
  const names = () => {
    const { ipv4, ipv6 } = b.balancer('web').publicNet;
    return [ipv4?.dnsPtr, ipv6?.dnsPtr];
  };
  const changes = () => v.hetzner.count({ route: '/load_balancers/{id}/actions/change_dns_ptr' });
  assert.deepEqual([names(), changes()], [['lb.example.com', 'lb.example.com'], 2]);
  await b.change('web', { 'ipv6-rdns': 'six.example.com' });
  await v.advance(20 * SECOND);
  assert.deepEqual([names(), changes()], [['lb.example.com', 'six.example.com'], 3]);
  await b.change('web', { 'ipv4-rdns': null, 'ipv6-rdns': null });
  await v.advance(20 * SECOND);
  assert.deepEqual([names(), changes()], [['lb.example.com', 'six.example.com'], 3]);
});

it('BUG-056: sets reverse DNS where the status names a host, too', async t => {
  const { v, b } = await settled(t);
  await b.create('web', { hostname: 'lb.example.com', 'ipv4-rdns': 'lb.example.com' });
  await v.advance(20 * SECOND);
  assert.equal(b.balancer('web').publicNet.ipv4?.dnsPtr, 'lb.example.com');
  assert.deepEqual(ingressOf(b.service('web')), [{ hostname: 'lb.example.com' }]);
});

it('BUG-057: takes the smallest type with a Warning, changes it on demand, and never back by itself', async t => {
  const { v, b } = await settled(t);
  await b.create('web', { type: '' });
  await v.advance(20 * SECOND);
  assert.equal(b.balancer('web').type.name, 'lb11');
  assert.equal(b.told('web', 'LoadBalancerTypeUnconfigured'), 1);
  for (const type of ['lb21', null]) {
    await b.change('web', { type });
    await v.advance(20 * SECOND);
    assert.equal(b.balancer('web').type.name, 'lb21');
  }
  await b.change('web', { type: 'lb99', 'algorithm-type': 'least_connections' });
  await v.advance(10 * MINUTE);
  assert.deepEqual([b.balancer('web').type.name, b.balancer('web').algorithm], ['lb21', 'least_connections']);
  assert.ok(b.events('web').some(event => event.startsWith('Warning') && event.includes('lb99')));
  assert.equal(v.hetzner.count({ route: '/load_balancers/{id}/actions/change_type' }), 1);

  await b.create('other', { type: 'lb99' });
  await v.advance(10 * MINUTE);
  assert.ok(b.events('other').some(event => event.startsWith('Warning') && event.includes('lb99')));
  const tries = v.hetzner.count({ method: 'POST', route: '/load_balancers' }) - 1;
  assert.ok(tries <= 12, `${tries} tries in ten minutes`);
  await b.change('other', { type: 'lb31' });
  await v.until(
    'a load balancer of a type there is',
    () => v.hetzner.loadBalancers.list().some(({ type }) => type.name === 'lb31'),
    20 * SECOND,
  );
});

it('BUG-057: says that a type is deprecated, and that one can not be had any more', async t => {
  const { v, b } = await settled(t);
  v.hetzner.loadBalancers.deprecateType('lb11', v.now() + HOUR);
  await b.create('web');
  await v.advance(20 * SECOND);
  assert.equal(b.balancer('web').type.name, 'lb11');
  assert.equal(b.told('web', 'LoadBalancerTypeDeprecated'), 1);
  await v.advance(2 * HOUR);
  await b.create('late');
  await v.advance(10 * MINUTE);
  assert.ok(
    b.events('late').some(event => event.startsWith('Warning') && event.includes('lb11')),
    b.events('late').join('\n'),
  );
  assert.equal(b.balancer('web').targets.length, 1);
});

it('BUG-060: names the field that Hetzner refuses, in the event and in the log', async t => {
  const { v, b, controller } = await settled(t);
  await b.create('web', { protocol: 'http', 'http-timeout-idle': '5s' });
  await v.advance(MINUTE);
  const said = b.events('web').filter(event => event.startsWith('Warning'));
  assert.ok(
    said.some(event => event.includes('timeout_idle')),
    said.join('\n'),
  );
  const logged = controller.lines().filter(({ level }) => level !== 'info');
  assert.ok(JSON.stringify(logged).includes('timeout_idle'), JSON.stringify(logged));
  assert.equal(b.balancer('web').targets.length, 1);
});

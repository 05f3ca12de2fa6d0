import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { FakeHetznerOptions } from '../../lib/simulator/hetzner/fake.ts';
import { balanced, ingressOf, listenersOf, ports, targetsOf } from '../support/balanced.ts';
import { deleteService } from '../support/services.ts';
import { type VirtualStartOptions, virtualApp } from '../support/virtual-app.ts';

/** Field reports 035 to 044 about load balancers, on the whole application in virtual time. */

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;

/** An application with nodes w1 ... w<nodes>, settled. */
const settled = async (
  t: TestContext,
  nodes: number,
  start: VirtualStartOptions = {},
  options: FakeHetznerOptions = {},
) => {
  const v = virtualApp(t, options);
  const b = balanced(v);
  const servers = await b.grow(1, nodes);
  const controller = v.start(start);
  await v.advance(20 * SECOND);
  return { v, b, servers, controller };
};

it('BUG-035: makes listeners for TCP ports, and says once that UDP and SCTP have none', async t => {
  const { v, b } = await settled(t, 1);
  await b.create(
    'gateway',
    {},
    { ports: ports(80, 443, { port: 443, protocol: 'UDP' }, { port: 9, protocol: 'SCTP' }) },
  );
  await b.create('dns', {}, { ports: ports({ port: 53, protocol: 'UDP' }) });
  await v.advance(20 * SECOND);
  const gateway = b.balancer('gateway');
  assert.deepEqual(gateway.services.map(one => one.listenPort).sort(), [443, 80]);
  assert.equal(ingressOf(b.service('gateway')).length, 3);
  const said = b.events('gateway').filter(event => event.includes('UnsupportedProtocolConfigured'));
  assert.equal(said.length, 2);
  assert.match(said.join(), /port 443: UDP .*port 9: SCTP/);
  assert.deepEqual(b.balancer('dns').services, []);
  assert.equal(b.told('dns', 'UnsupportedProtocolConfigured'), 1);

  const since = v.now();
  await b.change('gateway', { 'http-cookie-name': 'other' });
  await v.advance(20 * SECOND);
  assert.deepEqual(b.writes(since), []);
});

it('BUG-036: renames its load balancer with the annotation, and keeps the name where the new one is taken', async t => {
  const { v, b } = await settled(t, 1);
  await b.create('web', { name: 'a' });
  await v.advance(20 * SECOND);
  const before = b.balancer('web');
  const since = v.now();
  await b.change('web', { name: 'b' });
  await v.advance(20 * SECOND);
  const after = b.balancer('web');
  assert.deepEqual([after.id, after.name, after.publicNet], [before.id, 'b', before.publicNet]);
  assert.deepEqual(b.writes(since), [`PUT /load_balancers/${before.id}`]);

  v.hetzner.loadBalancers.create({ name: 'c' });
  await b.change('web', { name: 'c', 'algorithm-type': 'least_connections' });
  await v.advance(HOUR);
  const kept = b.balancer('web');
  assert.deepEqual([kept.id, kept.name, kept.algorithm], [before.id, 'b', 'least_connections']);
  assert.ok(b.events('web').some(event => event.includes('keeps its name b: another one is called c')));
  assert.equal(v.hetzner.loadBalancers.list().length, 2);
});

it('BUG-037: leaves a load balancer where it is when location or network zone change', async t => {
  const { v, b } = await settled(t, 1);
  await b.create('web', { location: 'fsn1' });
  await v.advance(20 * SECOND);
  const { id } = b.balancer('web');
  const since = v.now();
  await b.change('web', { location: 'hel1' });
  await v.advance(20 * SECOND);
  await b.change('web', { location: null, 'network-zone': 'us-east' });
  await v.advance(HOUR / 2);
  const after = b.balancer('web');
  assert.deepEqual([after.id, after.location], [id, 'fsn1']);
  assert.deepEqual(b.writes(since), []);
  const said = b.events('web').filter(event => event.startsWith('Warning'));
  assert.equal(said.length, 2);
  assert.match(
    said.join(),
    /LoadBalancerNotMoved .*location fsn1, .*hel1.*LoadBalancerNotMoved .*network zone eu-central, .*us-east/,
  );
});

it('BUG-038: creates nothing without a place, says how to give one, and starts at once when there is one', async t => {
  const { v, b } = await settled(t, 1);
  await b.create('web', { location: '' });
  await v.advance(10 * MINUTE);
  assert.deepEqual(
    b.writes().filter(write => write.includes('load_balancers')),
    [],
  );
  const [said = ''] = b.events('web').filter(event => event.startsWith('Warning'));
  for (const word of ['load-balancer.hetzner.cloud/location', 'load-balancer.hetzner.cloud/network-zone'])
    assert.ok(said.includes(word), said);
  for (const word of ['HCLOUD_LOAD_BALANCERS_LOCATION', 'HCLOUD_LOAD_BALANCERS_NETWORK_ZONE'])
    assert.ok(said.includes(word), said);
  const reads = v.hetzner.count({ method: 'GET', route: '/load_balancers' });
  assert.ok(reads <= 10, `${reads} lists in ten minutes`);

  await b.change('web', { location: 'nbg1', 'network-zone': 'us-east' });
  const took = await v.until('a load balancer', () => v.hetzner.loadBalancers.list().length === 1, 5 * SECOND);
  assert.ok(took < SECOND, `${took} ms`);
  assert.equal(b.balancer('web').location, 'nbg1');
});

it('asks for what is refused for good for some minutes, then once an hour, and at once when the Service changes', async t => {
  const { v, b } = await settled(t, 1);
  const posts = (path: RegExp, since = 0) =>
    v.hetzner.requests.filter(r => r.at >= since && r.method === 'POST' && path.test(r.path)).length;
  await b.create('nowhere', { location: 'xyz1' });
  await b.create('web');
  await v.advance(20 * SECOND);
  v.hetzner.faults.add({ kind: 'error', status: 422, code: 'invalid_input', path: /change_algorithm/ });
  await b.change('web', { 'algorithm-type': 'least_connections' });
  const since = v.now();
  await v.advance(5 * HOUR);
  const creations = posts(/\/load_balancers$/) - 1;
  assert.ok(creations >= 8 && creations <= 15, `${creations} tries to create one in five hours`);
  const changes = posts(/change_algorithm/, since);
  assert.ok(changes >= 8 && changes <= 15, `${changes} tries to change the algorithm in five hours`);
  for (const name of ['nowhere', 'web'])
    assert.match(
      b.events(name).join('\n'),
      /SyncLoadBalancerFailed .*tried again when the Service changes, else in an hour/,
    );

  await b.change('nowhere', { location: 'fsn1' });
  v.hetzner.faults.clear();
  await b.change('web', { 'algorithm-type': 'round_robin', 'http-cookie-name': 'x' });
  await v.advance(5 * SECOND);
  assert.equal(b.balancer('nowhere').targets.length, 1);
  assert.equal(b.balancer('web').algorithm, 'round_robin');
});

it('goes on trying every five minutes what may pass: no room, no stock', async t => {
  const { v, b } = await settled(t, 1);
  for (const [status, code] of [
    [403, 'resource_limit_exceeded'],
    [412, 'resource_unavailable'],
    [503, 'unavailable'],
  ] as const) {
    const fault = v.hetzner.faults.add({ kind: 'error', status, code, method: 'POST', path: '/load_balancers' });
    await b.create(code.replaceAll('_', '-'));
    await v.advance(HOUR);
    fault.remove();
    const took = await v.until(
      'it is made',
      () => ingressOf(b.service(code.replaceAll('_', '-'))).length > 0,
      6 * 60 * SECOND,
    );
    assert.ok(took <= 5.5 * 60 * SECOND, `${code}: ${took} ms`);
  }
});

it('BUG-039: makes an adopted load balancer what the Service says, and logs what it takes away', async t => {
  const { v, b, servers, controller } = await settled(t, 2);
  const foreign = v.hetzner.servers.create({ name: 'foreign' }).id;
  const { id } = v.hetzner.loadBalancers.create({
    name: 'edge',
    services: [{ listenPort: 6443, destinationPort: 6443, protocol: 'tcp' }],
    targets: [{ type: 'server', serverID: foreign, usePrivateIP: false }],
  });
  await b.create('web', { name: 'edge' });
  await v.advance(20 * SECOND);
  const after = b.balancer('web');
  assert.equal(after.id, id);
  assert.deepEqual(listenersOf(after), [`80 -> ${b.nodePort('web', 80)}`]);
  assert.deepEqual(targetsOf(after), servers.map(String));
  const removed = controller.lines().filter(({ msg }) => msg === 'Deleted listener' || msg === 'Removed target');
  assert.deepEqual(
    removed.map(({ msg, subject, loadBalancerID }) => [msg, subject, loadBalancerID]),
    [
      ['Deleted listener', 'port 6443', id],
      ['Removed target', `server ${foreign}`, id],
    ],
  );
  assert.equal(b.told('web', 'AdoptedLoadBalancer'), 1);
  const told = b.events('web').find(event => event.includes('AdoptedLoadBalancer')) ?? '';
  assert.match(told, /^Warning .*edge \(\d+\) from now on\. It had the listen ports 6443 and 1 target\./);
  assert.match(told, new RegExp(`What changes: .*delete listener port 6443.*remove target server ${foreign}`));
});

it('takes no load balancer over that another cluster of the project seems to use, until its label is removed', async t => {
  const { v, b } = await settled(t, 1);
  const foreign = v.hetzner.servers.create({ name: 'foreign' }).id;
  const { id } = v.hetzner.loadBalancers.create({
    name: 'edge',
    labels: { 'hcloud-ccm/service-uid': 'of-another-cluster' },
    targets: [{ type: 'server', serverID: foreign, usePrivateIP: false }],
  });
  const writes = () => b.writes().filter(write => write.includes('load_balancers'));
  await b.create('web', { id: String(id) });
  await v.advance(60 * SECOND);
  assert.deepEqual(writes(), []);
  assert.match(b.events('web').join('\n'), /Warning SyncLoadBalancerFailed .*in use by another cluster/);
  v.hetzner.loadBalancers.setLabels(id, {});
  await v.until(
    'it is taken over',
    () => v.hetzner.loadBalancers.get(id)?.labels['hcloud-ccm/service-uid'] !== undefined,
  );
  assert.equal(b.balancer('web').id, id);
});

it('takes a load balancer over without a warning where nothing of it goes', async t => {
  const { v, b } = await settled(t, 1);
  v.hetzner.loadBalancers.create({ name: 'edge' });
  await b.create('web', { name: 'edge' });
  await v.advance(20 * SECOND);
  assert.match(
    b.events('web').join('\n'),
    /^Normal AdoptedLoadBalancer Uses the existing load balancer edge \(\d+\) from now on$/m,
  );
});

it('BUG-040: keeps a protected load balancer with all it has when its Service is deleted', async t => {
  const { v, b } = await settled(t, 2);
  await b.create('web');
  await v.advance(20 * SECOND);
  const { id, targets, services, publicNet } = b.balancer('web');
  v.hetzner.loadBalancers.setProtected(id, true);
  await deleteService(v, 'web');
  await v.advance(20 * SECOND);
  assert.equal(b.service('web'), undefined);
  assert.equal(v.hetzner.count({ method: 'DELETE', route: '/load_balancers/{id}' }), 0);
  const left = v.hetzner.loadBalancers.get(id);
  assert.deepEqual([left?.targets.length, left?.services, left?.publicNet], [targets.length, services, publicNet]);
  assert.deepEqual(left?.labels, {});
  assert.equal(b.told('web', 'KeptLoadBalancer'), 1);
});

/** One load balancer that is to be deleted, in each kind of trouble. */
const deletions: Readonly<
  Record<string, (s: Awaited<ReturnType<typeof settled>>, id: number) => void | Promise<void>>
> = {
  'somebody deleted it just before': ({ v }, id) => {
    v.hetzner.faults.add({
      method: 'DELETE',
      path: `/load_balancers/${id}`,
      times: 1,
      kind: 'error',
      status: 404,
      code: 'not_found',
      when: () => {
        v.hetzner.loadBalancers.remove(id);
        return true;
      },
    });
  },
  'it is locked twice': ({ v }, id) => {
    const refusal = { kind: 'error', status: 423, code: 'locked' } as const;
    v.hetzner.faults.add({ method: 'DELETE', path: `/load_balancers/${id}`, times: 2, ...refusal });
  },
  'the controller is down': async ({ controller }) => {
    await controller.stop();
  },
  'there are no nodes': async ({ v }) => {
    await v.client.must('DELETE', '/api/v1/nodes/w1');
    await v.advance(SECOND);
  },
  'its network is gone': ({ v }) => {
    v.hetzner.networks.remove(v.networkID);
  },
  'the answer to its deletion is lost': ({ v }, id) => {
    v.hetzner.faults.add({ method: 'DELETE', path: `/load_balancers/${id}`, times: 1, kind: 'reset-after-effect' });
  },
  'Hetzner fails for a minute': ({ v }, id) => {
    const failure = { kind: 'error', status: 503, code: 'unavailable' } as const;
    v.hetzner.faults.add({ method: 'DELETE', path: `/load_balancers/${id}`, forMs: MINUTE, ...failure });
  },
};

for (const [trouble, prepare] of Object.entries(deletions)) {
  it(`BUG-041: deletes the load balancer, then lets the Service go, when ${trouble}`, async t => {
    const s = await settled(t, 1);
    const { v, b } = s;
    await b.create('web', { 'use-private-ip': 'true' });
    await v.advance(20 * SECOND);
    const { id } = b.balancer('web');
    await prepare(s, id);
    await deleteService(v, 'web');
    await v.advance(SECOND);
    if (trouble === 'the controller is down') {
      assert.notEqual(b.service('web'), undefined);
      v.start();
    }
    await v.until('the Service is gone', () => b.service('web') === undefined, 2 * MINUTE);
    assert.deepEqual(v.hetzner.loadBalancers.list(), []);
    const deleted = v.hetzner.requests.filter(({ method, status }) => method === 'DELETE' && status < 300);
    assert.ok(deleted.length <= 1);
  });
}

for (const answer of ['documented', 'client', 'observed'] as const) {
  it(`BUG-042: adds new targets in the pass that meets one whose server is gone and that can't be removed (${answer})`, async t => {
    const { v, b } = await settled(t, 1, {}, { deadTargets: 'stuck', targetErrors: answer });
    await b.create('web');
    await v.advance(20 * SECOND);
    const [gone] = targetsOf(b.balancer('web'));
    v.hetzner.servers.remove(Number(gone));
    await v.client.must('DELETE', '/api/v1/nodes/w1');
    const ids = await b.grow(2, 3);
    await v.until('new targets', () => ids.every(id => targetsOf(b.balancer('web')).includes(String(id))), 20 * SECOND);
    await v.advance(20 * SECOND);
    const since = v.now();
    await v.advance(HOUR);
    assert.deepEqual(b.writes(since), []);
    assert.deepEqual(
      b.events('web').filter(event => event.includes('SyncLoadBalancerFailed')),
      [],
    );
  });
}

it('BUG-043: fills the type up with a stable choice, says what has no room, and adds the rest to a larger type', async t => {
  const { v, b, controller } = await settled(t, 30);
  await b.create('web', {}, { ports: ports(80, 443) });
  await v.advance(MINUTE);
  const full = b.balancer('web');
  assert.deepEqual([full.targets.length, full.services.length], [25, 2]);
  assert.equal(ingressOf(b.service('web')).length, 3);
  const refused = v.hetzner.requests.filter(({ route, status }) => route.includes('load_balancers') && status >= 400);
  assert.deepEqual(refused, []);
  assert.match(b.events('web').join(), /MaxTargetsReached .*25 targets; 5 nodes/);

  await controller.stop();
  const since = v.now();
  v.start();
  await v.advance(MINUTE);
  assert.deepEqual(b.writes(since), []);
  assert.deepEqual(targetsOf(b.balancer('web')), targetsOf(full));

  await b.change('web', { type: 'lb21' });
  await v.advance(MINUTE);
  assert.equal(b.balancer('web').targets.length, 30);
  assert.equal(v.hetzner.loadBalancers.list().length, 1);
});

it('BUG-044: moves the health check to the new nodePort with the listener', async t => {
  const { v, b } = await settled(t, 1);
  await b.create('web', { name: 'web' }, { ports: ports({ port: 80, nodePort: 30080 }) });
  await v.advance(20 * SECOND);
  v.hetzner.loadBalancers.setProtected(b.balancer('web').id, true);
  await deleteService(v, 'web');
  await v.advance(20 * SECOND);
  const since = v.now();
  await b.create('web', { name: 'web' }, { ports: ports({ port: 80, nodePort: 31080 }) });
  await v.advance(20 * SECOND);
  const [listener] = b.balancer('web').services;
  assert.deepEqual([listener?.destinationPort, listener?.healthCheck.port], [31080, 31080]);
  assert.equal(v.hetzner.count({ since, route: '/load_balancers/{id}/actions/update_service' }), 1);

  await b.change('web', {}, { ports: ports({ port: 80, nodePort: 32080 }) });
  await v.advance(20 * SECOND);
  const [moved] = b.balancer('web').services;
  assert.deepEqual([moved?.destinationPort, moved?.healthCheck.port], [32080, 32080]);
});

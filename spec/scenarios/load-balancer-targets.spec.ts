import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { FakeHetznerOptions } from '../../lib/simulator/hetzner/fake.ts';
import { balanced, ingressOf, ports, targetsOf } from '../support/balanced.ts';
import type { KubeObject } from '../support/kube-client.ts';
import { deleteNode, setReady } from '../support/nodes.ts';
import { isInitialised } from '../support/scenario.ts';
import { deleteService } from '../support/services.ts';
import { type VirtualStartOptions, virtualApp } from '../support/virtual-app.ts';

/** Field reports 047 to 053, 059 and 066: networks, nodes and ownership of load balancers, in virtual time. */

const SECOND = 1_000;
const MINUTE = 60_000;

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

const excluded = 'node.kubernetes.io/exclude-from-external-load-balancers';

it('BUG-047: makes no load balancer for private targets without a network, says so, and makes it once there is one', async t => {
  const { v, b, controller, servers } = await settled(t, 1, { env: { HCLOUD_NETWORK: undefined } });
  await b.create('web', { 'use-private-ip': 'true' });
  await v.advance(10 * MINUTE);
  assert.deepEqual(v.hetzner.loadBalancers.list(), []);
  assert.ok(b.events('web').some(event => /^Warning .*use-private-ip needs a network: set HCLOUD_NETWORK/.test(event)));
  await controller.stop();
  v.start();
  await v.advance(MINUTE);
  assert.deepEqual(targetsOf(b.balancer('web')), [`${servers[0]} private`]);
  assert.equal(ingressOf(b.service('web')).length, 3);
});

it('BUG-048: moves to the wanted private address with all private targets', async t => {
  const { v, b, servers } = await settled(t, 2);
  await b.create('web', { 'use-private-ip': 'true' });
  await v.advance(20 * SECOND);
  const { id, privateNets } = b.balancer('web');
  assert.notEqual(privateNets[0]?.ip, '10.0.0.101');
  await b.change('web', { 'private-ipv4': '10.0.0.101' });
  await v.advance(20 * SECOND);
  const after = b.balancer('web');
  assert.deepEqual([after.id, after.privateNets], [id, [{ network: v.networkID, ip: '10.0.0.101' }]]);
  assert.deepEqual(
    targetsOf(after),
    servers.map(one => `${one} private`),
  );
  assert.ok(ingressOf(b.service('web')).some(({ ip }) => ip === '10.0.0.101'));
  const since = v.now();
  await v.advance(MINUTE);
  assert.deepEqual(b.writes(since), []);
});

for (const known of [true, false]) {
  it(`BUG-048: stays attached where the wanted address is taken${known ? '' : ', by something no list shows'}`, async t => {
    const { v, b, servers } = await settled(t, 2);
    await b.create('web', { 'use-private-ip': 'true' });
    await v.advance(20 * SECOND);
    const { id, privateNets } = b.balancer('web');
    const watch = v.hetzner.loadBalancers.watchTraffic(id, [80]);
    if (known) v.hetzner.servers.create({ name: 'other', network: v.networkID, ip: '10.0.0.101' });
    else {
      const refusal = { status: 422, code: 'ip_not_available', message: 'IP is not available' } as const;
      const wish = { path: '/load_balancers/{id}/actions/attach_to_network', method: 'POST' };
      v.hetzner.faults.add({
        ...wish,
        kind: 'error',
        ...refusal,
        when: ({ body }) => String(body).includes('10.0.0.101'),
      });
    }
    await b.change('web', { 'private-ipv4': '10.0.0.101' });
    await v.advance(10 * MINUTE);
    const after = b.balancer('web');
    assert.deepEqual(after.privateNets, privateNets);
    assert.deepEqual(
      targetsOf(after),
      servers.map(one => `${one} private`),
    );
    assert.ok(b.events('web').some(event => event.startsWith('Warning') && event.includes('10.0.0.101')));
    if (known) assert.deepEqual(watch.gaps(), []);
    const detached = v.hetzner.count({ route: '/load_balancers/{id}/actions/detach_from_network' });
    assert.ok(detached <= 1, `${detached} times detached`);
    assert.deepEqual(
      ingressOf(b.service('web'))
        .map(({ ip }) => ip)
        .at(-1),
      privateNets[0]?.ip,
    );
  });
}

it('BUG-049: has no targets while all nodes are excluded, says so, and adds a node once it is not', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  const ids = [1, 2, 3].map(i => v.addServer(i));
  for (const [i, value] of [
    [1, ''],
    [2, 'true'],
  ] as const)
    await v.join(i, { labels: { [excluded]: value } });
  v.start();
  await v.advance(20 * SECOND);
  await b.create('web');
  await v.advance(20 * SECOND);
  assert.deepEqual(targetsOf(b.balancer('web')), []);
  assert.ok(
    b.events('web').some(event => event.startsWith('Warning UnAvailableLoadBalancer') && event.includes(excluded)),
  );

  await v.join(3, { labels: { [excluded]: 'false' } });
  await v.until('w3 is a target', () => targetsOf(b.balancer('web')).includes(String(ids[2])), 5 * SECOND);
  v.kubernetes.patch('/api/v1/nodes/w1', { metadata: { labels: { [excluded]: null } } });
  await v.until('w1 is a target', () => targetsOf(b.balancer('web')).includes(String(ids[0])), 5 * SECOND);
  v.kubernetes.patch('/api/v1/nodes/w3', { metadata: { labels: { [excluded]: 'true' } } });
  await v.until('w3 is none', () => !targetsOf(b.balancer('web')).includes(String(ids[2])), 5 * SECOND);
});

it('BUG-050: takes out a node that the autoscaler is about to delete, and keeps one that is only not ready', async t => {
  const { v, b, servers } = await settled(t, 3);
  const [w1, w2, w3] = servers.map(String);
  await b.create('web');
  await v.advance(20 * SECOND);
  const since = v.now();
  await setReady(v, 'w3', 'False');
  await v.advance(20 * SECOND);
  assert.deepEqual(b.writes(since), []);

  const taints = [{ key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' }];
  v.kubernetes.patch('/api/v1/nodes/w2', { spec: { taints } });
  await b.change('web', { 'algorithm-type': 'least_connections' });
  await v.advance(20 * SECOND);
  assert.deepEqual(targetsOf(b.balancer('web')), [w1, w3]);
  const added = v.hetzner.count({ since, route: '/load_balancers/{id}/actions/add_target' });
  assert.equal(added, 0);
  v.kubernetes.patch('/api/v1/nodes/w2', { spec: { taints: null } });
  await v.advance(20 * SECOND);
  assert.deepEqual(targetsOf(b.balancer('web')), [w1, w2, w3]);
});

it('BUG-051: leaves a load balancer with the Service that had it first, and outlives the second one', async t => {
  const { v, b } = await settled(t, 1);
  await b.create('first', { name: 'shared' });
  await v.advance(20 * SECOND);
  const { id } = b.balancer('first');
  const since = v.now();
  await b.create('second', { name: 'shared' }, { ports: ports(443) });
  await v.advance(10 * MINUTE);
  const reads = v.hetzner.count({ since, method: 'GET' });
  assert.ok(reads <= 12, `${reads} reads in ten minutes`);
  const [said] = b.events('second').filter(event => event.startsWith('Warning'));
  assert.match(said ?? '', /load balancer shared \(\d+\) belongs to Service default\/first/);
  assert.deepEqual(ingressOf(b.service('second')), []);
  await deleteService(v, 'second');
  await v.advance(20 * SECOND);
  assert.equal(b.service('second'), undefined);
  assert.deepEqual(b.writes(since), []);
  assert.equal(b.balancer('first').id, id);
});

it('BUG-051: gives a load balancer without an owner to one of two Services that name it at the same time', async t => {
  const { v, b } = await settled(t, 1);
  const { id } = v.hetzner.loadBalancers.create({ name: 'shared' });
  await b.create('first', { name: 'shared' });
  await b.create('second', { name: 'shared' }, { ports: ports(443) });
  await v.advance(10 * MINUTE);
  assert.equal(b.balancer('first').id, id);
  assert.deepEqual(
    b.balancer('first').services.map(one => one.listenPort),
    [80],
  );
  assert.ok(b.events('second').some(event => event.includes('belongs to Service default/first')));
  assert.equal(v.hetzner.count({ method: 'PUT', route: '/load_balancers/{id}' }), 1);
});

it('BUG-052: leaves Services of another class alone', async t => {
  const { v, b } = await settled(t, 1);
  await b.create('theirs', {}, { loadBalancerClass: 'example.com/other' });
  await b.create('ours');
  await v.advance(MINUTE);
  const { metadata, status } = b.service('theirs') ?? assert.fail('no Service');
  assert.deepEqual([metadata.finalizers, status, b.events('theirs')], [undefined, { loadBalancer: {} }, []]);
  assert.equal(b.balancer('ours').services.length, 1);
  assert.equal(v.hetzner.loadBalancers.list().length, 1);
});

it('BUG-052: does nothing about Services where the feature is off, and keeps load balancers there are', async t => {
  const { v, b, controller } = await settled(t, 1);
  await b.create('old');
  await v.advance(20 * SECOND);
  await controller.stop();
  const since = v.now();
  const off = v.start({ env: { HCLOUD_LOAD_BALANCERS_ENABLED: 'false' } });
  await b.create('new');
  await v.advance(MINUTE);
  assert.equal(v.hetzner.requests.filter(r => r.at >= since && r.path.includes('load_balancer')).length, 0);
  assert.equal(b.service('new')?.metadata.finalizers, undefined);
  assert.equal(b.balancer('old').targets.length, 1);
  const lists = v.kubernetes.journal
    .all()
    .filter(r => r.at >= since && r.user === off.user && r.path.includes('/services'));
  assert.deepEqual(lists, []);
});

it('BUG-053: makes no load balancer anew when its Service is deleted during a slow update', async t => {
  const { v, b } = await settled(t, 1);
  await b.create('web');
  await v.advance(20 * SECOND);
  v.hetzner.faults.add({ path: '/load_balancers/{id}/actions/add_target', kind: 'slow', ms: 10_000 });
  await b.grow(2, 2);
  await v.advance(SECOND);
  await deleteService(v, 'web');
  await v.advance(MINUTE);
  assert.equal(b.service('web'), undefined);
  assert.deepEqual(v.hetzner.loadBalancers.list(), []);
  assert.equal(v.hetzner.count({ method: 'POST', route: '/load_balancers' }), 1);
});

it('BUG-053: adds a node that joins during a pass, and looks at each load balancer once at start', async t => {
  const { v, b, controller, servers } = await settled(t, 3);
  for (const name of ['a', 'b']) await b.create(name);
  v.hetzner.faults.add({ path: '/load_balancers/{id}/actions/add_target', kind: 'slow', ms: 5_000 });
  await v.advance(20 * SECOND);
  const more = await b.grow(4, 4);
  await v.advance(SECOND);
  more.push(...(await b.grow(5, 5)));
  await v.advance(MINUTE);
  for (const name of ['a', 'b']) assert.deepEqual(targetsOf(b.balancer(name)), [...servers, ...more].map(String));

  await controller.stop();
  const again = v.start();
  await v.advance(MINUTE);
  const runs = again.runs.filter(({ key }) => ['default/a', 'default/b'].includes(key));
  assert.deepEqual(runs.map(({ key }) => key).sort(), ['default/a', 'default/b']);
});

it('BUG-059: exchanges targets one by one when the way to them changes', async t => {
  const { v, b, servers } = await settled(t, 3);
  await b.create('web');
  await v.advance(20 * SECOND);
  const watch = v.hetzner.loadBalancers.watchTraffic(b.balancer('web').id, [80]);
  for (const value of ['true', 'false']) {
    await b.change('web', { 'use-private-ip': value });
    await v.advance(20 * SECOND);
    const wanted = servers.map(id => (value === 'true' ? `${id} private` : `${id}`));
    assert.deepEqual(targetsOf(b.balancer('web')), wanted);
  }
  assert.ok(watch.samples > 12);
  assert.deepEqual(watch.gaps(), []);
});

for (const nodes of [2, 25]) {
  it(`BUG-059: serves without a gap while all ${nodes} nodes are exchanged at once`, async t => {
    const { v, b } = await settled(t, nodes);
    await b.create('web', { 'use-private-ip': 'true' }, { ports: ports(80, 443) });
    await v.advance(20 * SECOND);
    const watch = v.hetzner.loadBalancers.watchTraffic(b.balancer('web').id, [80, 443]);
    const ids = await b.grow(nodes + 1, 2 * nodes);
    const areJoined = () => ids.every((_, i) => isInitialised(v.node(`w${nodes + 1 + i}`) as KubeObject));
    await v.until('the new nodes are initialised', areJoined, SECOND);
    for (let i = 1; i <= nodes; i++) await deleteNode(v, `w${i}`);
    await v.advance(2 * MINUTE);
    assert.deepEqual(
      targetsOf(b.balancer('web')),
      ids.map(id => `${id} private`),
    );
    assert.deepEqual(watch.gaps(), []);
  });
}

it('BUG-059: serves the ports that stay without a gap while others change', async t => {
  const { v, b } = await settled(t, 2);
  await b.create('web', {}, { ports: ports(80, 443, 8080) });
  await v.advance(20 * SECOND);
  const watch = v.hetzner.loadBalancers.watchTraffic(b.balancer('web').id, [80]);
  await b.change('web', { 'algorithm-type': 'least_connections' }, { ports: ports(80, 8443) });
  await v.advance(20 * SECOND);
  await b.change('web', { type: 'lb21', 'uses-proxyprotocol': 'true', 'health-check-interval': '5s' });
  await v.advance(20 * SECOND);
  assert.deepEqual(
    b.balancer('web').services.map(one => one.listenPort),
    [80, 8443],
  );
  assert.deepEqual(watch.gaps(), []);
});

for (const usePrivateIP of [false, true]) {
  const way = usePrivateIP ? 'private' : 'public';
  it(`BUG-066: takes IP targets out when Robot support is off, and logs each (${way} targets)`, async t => {
    const v = virtualApp(t);
    const b = balanced(v);
    const [id] = await b.grow(1, 1);
    await v.join(2, { name: 'bm1', providerID: 'hrobot://321', taint: false, nodeIPs: ['198.51.100.21'] });
    const lb = v.hetzner.loadBalancers.create({
      name: 'web',
      network: v.networkID,
      targets: [
        { type: 'ip', ip: '198.51.100.21' },
        { type: 'server', serverID: id as number, usePrivateIP },
      ],
    });
    const controller = v.start();
    await b.create('web', { name: 'web', 'use-private-ip': String(usePrivateIP) });
    await v.advance(20 * SECOND);
    const server = usePrivateIP ? `${id} private` : `${id}`;
    assert.deepEqual([b.balancer('web').id, targetsOf(b.balancer('web'))], [lb.id, [server]]);
    const removed = controller.lines().filter(({ msg }) => msg === 'Removed target');
    assert.deepEqual(
      removed.map(({ subject }) => subject),
      ['ip 198.51.100.21'],
    );
  });
}

it('takes a server that was attached anew in again, at the cost of one list', async t => {
  const { v, b, servers } = await settled(t, 2);
  await b.create('web', { 'use-private-ip': 'true' });
  await v.advance(20 * MINUTE);
  const [first = 0] = servers;
  v.hetzner.servers.detach(first, v.networkID);
  v.hetzner.servers.attach(first, v.networkID, { ip: '10.0.1.77' });
  assert.deepEqual(targetsOf(b.balancer('web')), [`${servers[1]} private`], 'Hetzner took it out');
  const since = v.now();
  await v.advance(10 * MINUTE);
  assert.deepEqual(
    targetsOf(b.balancer('web')),
    servers.map(one => `${one} private`),
  );
  assert.equal(v.hetzner.count({ since, method: 'GET', route: '/load_balancers' }), 1);
});

it('takes in a server that is attached only after its node joined, without another list', async t => {
  const { v, b } = await settled(t, 2);
  await b.create('web', { 'use-private-ip': 'true' });
  await v.advance(20 * MINUTE);
  const since = v.now();
  const late = v.addServer(3, { ip: false });
  await v.join(3);
  await v.advance(10_000);
  v.hetzner.servers.attach(late, v.networkID, { ip: '10.0.1.3' });
  await v.until('it is a target', () => targetsOf(b.balancer('web')).includes(`${late} private`), 10 * MINUTE);
  assert.equal(v.hetzner.count({ since, method: 'GET', route: '/load_balancers' }), 0);
  v.hetzner.servers.detach(late, v.networkID);
  await v.advance(10 * MINUTE);
  v.hetzner.servers.attach(late, v.networkID, { ip: '10.0.1.3' });
  await v.until('it is a target again', () => targetsOf(b.balancer('web')).includes(`${late} private`), 10 * MINUTE);
});

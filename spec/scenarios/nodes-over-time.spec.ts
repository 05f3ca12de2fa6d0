import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deleteNode, getNode, setReady } from '../support/nodes.ts';
import { isInitialised } from '../support/scenario.ts';
import { type VirtualApp, virtualApp } from '../support/virtual-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const listsSince = (v: VirtualApp, since: number): number =>
  v.hetzner.count({ since, method: 'GET', route: '/servers' });
const writesOf = (v: VirtualApp, name: string) =>
  v.kubernetes.journal.writes().filter(({ path }) => path.startsWith(`/api/v1/nodes/${name}`));

/** Nodes 1 to `count`, routed; the time since is quiet. */
const settled = async (v: VirtualApp, count: number) => {
  for (const i of range(count)) {
    v.addServer(i);
    await v.join(i);
  }
  const controller = v.start();
  for (const i of range(count)) await v.untilRouted(i);
  await v.advance(MINUTE);
  return controller;
};

it('BUG-002: a node without a server of its name is told so once, costs fewer requests the longer it waits, and is initialised within a minute of a rename', async t => {
  const v = virtualApp(t);
  const id = v.addServer(1, { name: 'worker-1' });
  const controller = v.start();
  await v.advance(MINUTE);
  const joined = v.now();
  await v.join(1, { name: 'worker-1.example.internal' });
  await v.advance(HOUR);

  const [event, ...others] = v.eventsOf('worker-1.example.internal');
  assert.deepEqual(others, []);
  assert.deepEqual([event?.type, event?.reason], ['Warning', 'InstanceNotFound']);
  assert.match(event?.message ?? '', /no server named worker-1\.example\.internal exists/);
  assert.equal(controller.lines().filter(line => line.level === 'warn').length, 1);
  const [first, hour] = [
    v.hetzner.requests.filter(({ at }) => at >= joined && at < joined + MINUTE).length,
    listsSince(v, joined),
  ];
  assert.ok(first <= 4, `${first} lists in the first minute`);
  assert.ok(hour <= 63, `${hour} lists in the first hour, once a minute is enough`);

  v.hetzner.servers.rename(id, 'worker-1.example.internal');
  const took = await v.until('it is initialised', () => isInitialised(v.node('worker-1.example.internal') as never));
  assert.ok(took <= MINUTE, `${took} ms`);
});

it('tells of a ready node whose server was made anew under its name, once an hour, and of none whose server is merely renamed', async t => {
  const v = virtualApp(t);
  for (const i of [1, 2, 3]) {
    v.addServer(i);
    await v.join(i);
  }
  const controller = v.start();
  for (const i of [1, 2, 3]) await v.untilRouted(i);
  v.startHeartbeats();
  const old = v.hetzner.servers.byName('w1')?.id as number;
  v.hetzner.servers.remove(old);
  const { id } = v.hetzner.servers.create({ name: 'w1', network: v.networkID, ip: '10.0.1.1' });
  v.hetzner.servers.rename(v.hetzner.servers.byName('w2')?.id as number, 'renamed');
  await v.advance(1);
  const since = v.now();
  await v.advance(3 * 60 * MINUTE);
  const told = controller.lines().filter(({ msg }) => String(msg).startsWith('Found the server of a ready node'));
  assert.deepEqual(
    [...new Set(told.map(line => [line.node, line.providerID, line.serverID].join()))],
    [`w1,hcloud://${old},${id}`],
  );
  assert.ok(told.length >= 2 && told.length <= 4, `${told.length} lines in three hours`);
  const events = v.eventsOf('w1').filter(({ reason }) => reason === 'ServerReplaced');
  assert.match(events[0]?.message ?? '', /delete the Node and restart its kubelet/);
  assert.ok(v.node('w1') !== undefined);
  const written = writesOf(v, 'w2').filter(({ at, user }) => at >= since && user === controller.user);
  assert.deepEqual(written, []);
});

it('BUG-002: two hundred nodes without a server share their look-ups', async t => {
  const v = virtualApp(t);
  v.start();
  await v.advance(MINUTE);
  const joined = v.now();
  for (const i of range(200)) await v.join(i);
  await v.advance(10 * MINUTE);
  const lists = listsSince(v, joined);
  assert.ok(lists <= 16, `${lists} lists in 10 minutes`);
});

it('BUG-005: nothing is written to nodes whose addresses have not changed, however often they are looked at', async t => {
  const v = virtualApp(t);
  for (const i of range(3)) {
    v.addServer(i, { ipv6: `2001:db8:${i}::/64` });
    await v.join(i, { nodeIPs: i === 3 ? ['10.0.1.3', `2001:db8:3::1`] : [] });
  }
  v.start({ env: { HCLOUD_INSTANCES_ADDRESS_FAMILY: 'dualstack' } });
  for (const i of range(3)) await v.untilRouted(i);
  v.startHeartbeats(10 * SECOND);
  const since = v.now();
  const before = v.kubernetes.journal.writes().length;
  await v.advance(2 * HOUR);
  assert.ok(listsSince(v, since) >= 23, 'the servers are looked at every 5 minutes');
  assert.equal(v.kubernetes.journal.writes().length, before);
});

it('a server that gets another address has it on its node within the refresh period', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 2);
  const id = v.hetzner.servers.byName('w1')?.id ?? 0;
  v.hetzner.servers.setPublicIPs(id, { ipv4: '203.0.113.99' });
  const took = await v.until('the address', () => JSON.stringify(v.node('w1')?.status).includes('203.0.113.99'));
  assert.ok(took <= 5 * MINUTE, `${took} ms`);
  const line = controller.lines().find(({ msg }) => msg === 'Updated node addresses');
  assert.equal(line?.node, 'w1');
});

it('BUG-003, BUG-028: a server that is attached to the network only later is initialised and routed then', async t => {
  const v = virtualApp(t);
  const id = v.addServer(1, { ip: false });
  v.addServer(2, { ip: false });
  const controller = v.start();
  await v.join(1, { nodeIPs: ['10.0.1.1'] });
  await v.join(2);
  await v.advance(5 * SECOND);
  assert.match(v.eventsOf('w1')[0]?.message ?? '', /not attached to the network of HCLOUD_NETWORK, k8s \(1\)/);
  assert.ok(isInitialised(v.node('w2') as never), 'it announced no address, so nothing is missing');
  v.hetzner.servers.attach(id, v.networkID, { ip: '10.0.1.1' });
  v.hetzner.servers.attach(v.hetzner.servers.byName('w2')?.id ?? 0, v.networkID, { ip: '10.0.1.2' });
  const attached = v.now();
  for (const i of [1, 2]) await v.untilRouted(i);
  assert.ok(v.now() - attached <= 15 * SECOND, `${v.now() - attached} ms`);
  assert.ok(v.spent(attached).all <= 8, JSON.stringify(v.spent(attached)));
  assert.equal(controller.error(), undefined);
});

for (const code of [409, 422]) {
  it(`BUG-067: a node whose patches are refused with ${code} for 5 minutes costs at most a request a minute, backs off, and is initialised afterwards`, async t => {
    const v = virtualApp(t);
    const controller = await settled(v, 2);
    v.addServer(3);
    await v.advance(20 * SECOND);
    const joined = v.now();
    const remove = v.kubernetes.faults.add({
      verb: 'patch',
      path: '/api/v1/nodes/w3',
      fault: { kind: 'status', code },
    });
    await v.join(3);
    await v.advance(5 * MINUTE);
    const tries = writesOf(v, 'w3').length;
    assert.ok(tries >= 5 && tries <= 25, `${tries} patches`);
    const spent = v.spent(joined);
    assert.ok(
      spent.all <= 8,
      `a list a minute, by which it may be tied to its server, and the route: ${JSON.stringify(v.hetzner.counts({ since: joined }))}`,
    );
    const warnings = controller.lines().filter(line => line.level === 'warn' && line.key === 'w3');
    assert.ok(
      warnings.length > 0 && warnings.length <= tries - 3,
      `${warnings.length} warnings, the first conflicts are ordinary`,
    );
    remove();
    const took = await v.untilRouted(3, 3 * MINUTE);
    assert.ok(took <= 65 * SECOND, `${took} ms`);
  });
}

it('BUG-067: ten nodes, two of them NotReady with running servers, stay below one request per cache lifetime for 30 minutes', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 10);
  const since = v.now();
  v.startHeartbeats();
  for (const name of ['w1', 'w2']) await setReady(v, name, 'Unknown', v.now());
  await v.advance(30 * MINUTE);
  const spent = v.spent(since);
  assert.ok(spent.all < 180, JSON.stringify(spent));
  assert.equal(spent.writes, 0);
  for (const name of ['w1', 'w2']) assert.ok(v.node(name) !== undefined);
  assert.deepEqual(
    controller.lines().filter(line => line.level !== 'info'),
    [],
  );
});

it('nodes that come and go for a day under the same ten names leave nothing behind', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 10);
  for (const round of range(40)) {
    const i = (round % 10) + 1;
    const name = `w${i}`;
    await deleteNode(v, name);
    v.hetzner.servers.remove(v.hetzner.servers.byName(name)?.id ?? 0);
    await v.advance(20 * MINUTE);
    const id = v.addServer(i);
    await v.join(i);
    await v.untilRouted(i);
    assert.equal((await getNode(v, name)).spec.providerID, `hcloud://${id}`);
    await v.advance(15 * MINUTE);
  }
  assert.equal(v.routes().length, 10);
  assert.deepEqual(
    controller.lines().filter(line => line.level === 'error'),
    [],
  );
});

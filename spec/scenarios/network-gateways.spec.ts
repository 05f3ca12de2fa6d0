import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { KubeObject } from '../support/kube-client.ts';
import { createNode } from '../support/nodes.ts';
import { networkUnavailable, routesOf } from '../support/scenario.ts';
import { type VirtualApp, virtualApp } from '../support/virtual-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const names = ['core', 'pool-a', 'pool-b'] as const;
const env = {
  HCLOUD_NETWORK: 'core',
  HCLOUD_WORKER_NETWORK_PREFIX: 'pool-',
  HCLOUD_NETWORK_POD_CIDRS: 'core=10.240.0.0/16,pool-a=10.241.0.0/16,pool-b=10.242.0.0/16,pool-c=10.243.0.0/16',
  HCLOUD_NETWORK_GATEWAYS: 'core/*=10.0.0.10,pool-a/*=10.1.0.10,pool-b/*=10.2.0.10',
};
const args = ['--cluster-cidr=10.240.0.0/12'];

const addNetwork = (v: VirtualApp, name: string, second: number): number =>
  v.hetzner.networks.create({ name, ipRange: `10.${second}.0.0/16`, subnets: [`10.${second}.0.0/20`] }).id;

/** Node <name> in network number k, with the pods 10.<240 + k>.<i>.0/24 unless told otherwise. */
const join = async (
  v: VirtualApp,
  network: number,
  k: number,
  i: number,
  pods: string | null = `10.${240 + k}.${i}.0/24`,
) => {
  const [name, ip] = [`n${k}-${i}`, `10.${k}.1.${i}`];
  const { id } = v.hetzner.servers.create({ name, network, ip });
  await createNode(v, { name, nodeIPs: [ip], podCIDRs: pods === null ? [] : [pods] });
  return { name, server: id, podCIDR: pods ?? '' };
};

/** Three networks with a gateway machine that is in all of them, at .0.10 of each, and `each` nodes. */
const cluster = async (v: VirtualApp, each: readonly [number, number, number]) => {
  const networks = names.map((name, k) => addNetwork(v, name, k));
  const router = v.hetzner.servers.create({ name: 'router' }).id;
  networks.forEach((network, k) => {
    v.hetzner.servers.attach(router, network, { ip: `10.${k}.0.10` });
  });
  const hosts: Awaited<ReturnType<typeof join>>[] = [];
  for (const [k, count] of each.entries())
    for (let i = 1; i <= count; i += 1) hosts.push(await join(v, networks[k] as number, k, i));
  const podRanges = networks.map((network, k) => ({ network, range: `10.${240 + k}.0.0/16` }));
  const unreachable = () => v.hetzner.unreachablePods({ hosts, podRanges, forwarders: [router] });
  const [core, a, b] = networks as [number, number, number];
  return { core, a, b, router, hosts, unreachable };
};
const areRouted = (v: VirtualApp, hosts: readonly { readonly name: string }[]) => (): boolean =>
  hosts.every(({ name }) => networkUnavailable(v.node(name)) === 'False');
const aggregates = (v: VirtualApp, network: number): string[] =>
  routesOf(v.hetzner, network).filter(route => !route.includes('/24 '));
const errorsIn = (lines: readonly { level?: unknown; msg?: unknown; hint?: unknown }[]) =>
  lines.filter(({ level }) => level === 'error').map(({ msg, hint }) => `${msg}: ${hint}`);

it('BUG-010: joins 253 nodes in 3 networks by one route a pair of networks, and each pod reaches each other', async t => {
  const v = virtualApp(t);
  const { core, a, b, hosts, unreachable } = await cluster(v, [59, 97, 97]);
  const controller = v.start({ env, args });
  const took = await v.until('all are routed', areRouted(v, hosts), 10 * MINUTE);
  assert.deepEqual(unreachable(), []);
  const { polls, writes, all } = v.spent();
  assert.equal(writes, 253 + 6, 'one route a node, one a pair of networks');
  assert.ok(polls < 60, `${polls} polls`);
  assert.ok(all - writes - polls <= 20, JSON.stringify(v.hetzner.counts()));
  assert.ok(took < 5 * MINUTE, `${took} ms`);
  assert.deepEqual(
    [core, a, b].map(id => routesOf(v.hetzner, id).length),
    [61, 99, 99],
  );
  assert.deepEqual(aggregates(v, a), ['10.240.0.0/16 10.1.0.10', '10.242.0.0/16 10.1.0.10']);

  const settled = v.now();
  await v.advance(6 * MINUTE);
  assert.ok(v.spent(settled).all <= 12, JSON.stringify(v.hetzner.counts({ since: settled })));
  assert.equal(v.spent(settled).writes, 0);

  // What is sent and what is answered take a route each.
  v.hetzner.networks.removeRoute(a, '10.242.0.0/16', '10.1.0.10');
  assert.equal(unreachable().length, 97 * 97);
  assert.deepEqual(errorsIn(controller.lines()), []);
});

it('follows networks that come and go: a way to each, and none to one that is no more', async t => {
  const v = virtualApp(t);
  const { core, a, b, hosts, unreachable } = await cluster(v, [1, 1, 1]);
  const controller = v.start({ env, args });
  await v.until('all are routed', areRouted(v, hosts), 5 * MINUTE);
  v.hetzner.networks.removeRoute(a, '10.242.0.0/16', '10.1.0.10');
  assert.equal(unreachable().length, 1);
  await v.advance(25 * HOUR);
  assert.deepEqual(unreachable(), [], 'a pass mends what somebody else broke');

  const late = addNetwork(v, 'pool-c', 3);
  const latecomer = await join(v, late, 3, 1);
  await v.until('the late one is routed', areRouted(v, [latecomer]), 2 * MINUTE);
  await v.advance(10 * SECOND);
  assert.deepEqual(aggregates(v, core), [
    '10.241.0.0/16 10.0.0.10',
    '10.242.0.0/16 10.0.0.10',
    '10.243.0.0/16 10.0.0.10',
  ]);
  assert.deepEqual(aggregates(v, late), [], 'no gateway of it is told');

  v.hetzner.servers.remove(v.hetzner.servers.byName('n3-1')?.id ?? 0);
  v.hetzner.networks.remove(late);
  await v.advance(25 * HOUR);
  for (const [k, id] of [core, a, b].entries()) assert.equal(aggregates(v, id).length, 2, `network ${k}`);
  assert.equal(controller.error(), undefined);
});

it('changes ways when the setting changes, and leaves those of the user alone', async t => {
  const v = virtualApp(t);
  const { core, a, b, router, hosts } = await cluster(v, [1, 1, 1]);
  const other = v.hetzner.servers.create({ name: 'other', network: core, ip: '10.0.0.11' }).id;
  v.hetzner.servers.create({ name: 'third', network: core, ip: '10.0.0.12' });
  v.hetzner.servers.attach(other, a, { ip: '10.1.0.11' });
  const foreign = ['10.244.0.0/15 10.0.0.12', '192.168.0.0/16 10.0.0.10', '0.0.0.0/0 10.0.0.10'];
  for (const route of foreign) {
    const [destination = '', gateway = ''] = route.split(' ');
    v.hetzner.networks.addRoute(core, destination, gateway);
  }
  const first = v.start({ env, args });
  await v.until('all are routed', areRouted(v, hosts), 5 * MINUTE);
  await first.stop();
  const HCLOUD_NETWORK_GATEWAYS = 'core/*=10.0.0.10,core/pool-a=10.0.0.11,pool-b/*=none';
  const second = v.start({ env: { ...env, HCLOUD_NETWORK_GATEWAYS }, args });
  await v.advance(MINUTE);
  const ways = (): string[] => aggregates(v, core).filter(route => !foreign.includes(route));
  assert.deepEqual(ways(), ['10.241.0.0/16 10.0.0.11', '10.242.0.0/16 10.0.0.10']);
  assert.deepEqual(aggregates(v, b), []);
  assert.equal(aggregates(v, a).length, 2, "nothing is told of them, so they may be the user's");
  for (const route of foreign) assert.ok(routesOf(v.hetzner, core).includes(route), route);
  await second.stop();

  // A neighbour that is no network of the cluster any more; the gateway tells whose the route is.
  const HCLOUD_NETWORK_POD_CIDRS = 'core=10.240.0.0/16,pool-a=10.241.0.0/16';
  v.hetzner.servers.remove(v.hetzner.servers.byName('n2-1')?.id ?? 0);
  v.hetzner.servers.detach(router, b);
  v.hetzner.networks.remove(b);
  v.start({ env: { ...env, HCLOUD_NETWORK_POD_CIDRS, HCLOUD_NETWORK_GATEWAYS }, args });
  await v.advance(MINUTE);
  assert.deepEqual(ways(), ['10.241.0.0/16 10.0.0.11']);
});

it("takes larger routes for left-overs once no setting speaks of several networks any more, and for the user's while one does", async t => {
  const v = virtualApp(t);
  const { core, a, hosts } = await cluster(v, [1, 1, 1]);
  v.hetzner.servers.create({ name: 'third', network: core, ip: '10.0.0.12' });
  v.hetzner.networks.addRoute(core, '10.244.0.0/15', '10.0.0.12');
  const first = v.start({ env, args });
  await v.until('all are routed', areRouted(v, hosts), 5 * MINUTE);
  await first.stop();
  const all = ['10.241.0.0/16 10.0.0.10', '10.242.0.0/16 10.0.0.10', '10.244.0.0/15 10.0.0.12'];
  const onlyRange = { HCLOUD_NETWORK: 'core', HCLOUD_NETWORK_POD_CIDRS: 'core=10.240.0.0/16' };
  const second = v.start({ env: onlyRange, args });
  await v.advance(MINUTE);
  assert.deepEqual(aggregates(v, core).sort(), all);
  await second.stop();
  v.start({ env: { HCLOUD_NETWORK: 'core' }, args });
  await v.advance(MINUTE);
  assert.deepEqual(aggregates(v, core), []);
  assert.ok(routesOf(v.hetzner, core).includes('10.240.1.0/24 10.0.1.1'), 'that of the node stays');
  assert.equal(aggregates(v, a).length, 2, 'nobody reads this network any more');
});

it('says once what keeps a way from being, and makes the others', async t => {
  const v = virtualApp(t);
  const { core, a, hosts } = await cluster(v, [1, 1, 1]);
  const controller = v.start({
    env: { ...env, HCLOUD_NETWORK_GATEWAYS: 'core/pool-a=10.1.0.10,core/pool-b=10.0.0.10,pool-a/core=10.1.0.1' },
    args,
  });
  await v.until('all are routed', areRouted(v, hosts), 5 * MINUTE);
  await v.advance(25 * HOUR);
  assert.deepEqual(aggregates(v, core), ['10.242.0.0/16 10.0.0.10']);
  assert.deepEqual(aggregates(v, a), []);
  assert.deepEqual(errorsIn(controller.lines()), [
    'Left out a way between networks: HCLOUD_NETWORK_GATEWAYS: core/pool-a=10.1.0.10 must be an address in 10.0.0.0/16, the range of network core',
    'Left out a way between networks: HCLOUD_NETWORK_GATEWAYS: pool-a/core=10.1.0.1 must be another address: it is the own gateway of network pool-a',
  ]);
});

it('names the route that is in the way of another, on the node and in the log, and tries again when it has gone', async t => {
  const v = virtualApp(t);
  const { core, hosts } = await cluster(v, [1, 1, 1]);
  v.hetzner.networks.addRoute(core, '10.240.64.0/18', '10.0.0.10');
  const controller = v.start({ env: { ...env, HCLOUD_NETWORK_GATEWAYS: undefined }, args });
  await v.until('all are routed', areRouted(v, hosts), 5 * MINUTE);
  hosts.push(await join(v, core, 0, 70));
  await v.advance(2 * MINUTE);
  const told = v.eventsOf('n0-70').map(({ message }) => message as string);
  const why = 'it overlaps the route to 10.240.64.0/18 via 10.0.0.10: ';
  assert.ok(
    told.some(message => message.includes(why)),
    told.join('\n'),
  );
  const logged = controller.lines().filter(({ level, controller: who }) => level === 'warn' && who === 'route');
  assert.ok(logged.every(({ err }) => (err as { message: string }).message.startsWith(why)));
  assert.ok(logged.length > 0);
  v.hetzner.networks.removeRoute(core, '10.240.64.0/18', '10.0.0.10');
  await v.until('it is routed', areRouted(v, hosts), 10 * MINUTE);
});

it('routes a node whose pods are in the wrong range in its own network, and says once who does not reach them', async t => {
  const v = virtualApp(t);
  const { core, a, b, hosts } = await cluster(v, [1, 1, 1]);
  hosts.push(await join(v, core, 0, 7, '10.250.7.0/24'), await join(v, core, 0, 8, '10.242.8.0/24'));
  const before = v.start({
    env: { ...env, HCLOUD_NETWORK_POD_CIDRS: undefined, HCLOUD_NETWORK_GATEWAYS: undefined },
    args,
  });
  await v.until('all are routed', areRouted(v, hosts), 5 * MINUTE);
  await before.stop();
  v.start({ env, args });
  await v.advance(25 * HOUR);
  assert.deepEqual(
    v.hetzner.requests.filter(({ status }) => status >= 400),
    [],
    'what can not be is not tried',
  );
  const told = (name: string) => v.eventsOf(name).filter(({ reason }) => reason === 'PodCIDRMisplaced');
  assert.deepEqual(
    [...told('n0-7'), ...told('n0-8')].map(({ message }) => (message as string).split(':')[0]),
    [
      'Pod CIDR 10.250.7.0/24 is outside of 10.240.0.0/16, the range of network core',
      'Pod CIDR 10.242.8.0/24 overlaps 10.242.0.0/16, the range of network pool-b',
    ],
  );
  assert.deepEqual(told('n0-1'), []);
  // The way to all pods of another network waits for it, and comes when the node has gone.
  assert.deepEqual(aggregates(v, core), ['10.241.0.0/16 10.0.0.10']);
  assert.equal(aggregates(v, a).length, 2);
  await v.client.must('DELETE', '/api/v1/nodes/n0-8');
  await v.advance(30 * SECOND);
  assert.deepEqual(aggregates(v, core), ['10.241.0.0/16 10.0.0.10', '10.242.0.0/16 10.0.0.10']);

  // One that comes when the way is there does not take it: all pods of the other network are more than its own.
  await join(v, b, 2, 9, '10.241.9.0/24');
  await v.advance(2 * MINUTE);
  const why = 'it overlaps the route to 10.241.0.0/16 via 10.2.0.10: ';
  assert.ok(v.eventsOf('n2-9').some(({ message }) => (message as string).includes(why)));
  assert.equal(told('n2-9').length, 1);
  assert.equal(aggregates(v, b).length, 2);
});

it('with pod CIDRs that it allocates itself: each from the range of its network, so that all pods reach each other', async t => {
  const v = virtualApp(t);
  const { core, a, b, router } = await cluster(v, [0, 0, 0]);
  const networks = [core, a, b];
  const nodes = [];
  for (const [k, network] of networks.entries())
    for (let i = 1; i <= 4; i += 1) nodes.push(await join(v, network, k, i, null));
  v.start({
    env: { ...env, HCLOUD_NODE_IPAM: 'true' },
    args: [...args, '--leader-elect=true', '--allocate-node-cidrs=true'],
  });
  await v.until('all are routed', areRouted(v, nodes), 5 * MINUTE);
  const hosts = nodes.map(({ name, server }) => ({ server, podCIDR: v.node(name)?.spec.podCIDR as string }));
  const podRanges = networks.map((network, k) => ({ network, range: `10.${240 + k}.0.0/16` }));
  assert.deepEqual(v.hetzner.unreachablePods({ hosts, podRanges, forwarders: [router] }), []);
  assert.equal(v.spent().writes, 12 + 6);
  for (const { name } of nodes)
    assert.deepEqual(
      v.eventsOf(name).filter(({ type }) => type === 'Warning'),
      [],
    );
});

it('keeps a way while pods are reached by it alone: the ranges may change under live nodes', async t => {
  const v = virtualApp(t);
  const { core, hosts, unreachable } = await cluster(v, [2, 2, 2]);
  // What a user may have made by hand before there were gateways in the settings.
  const byHand = v.hetzner.servers.create({ name: 'by-hand', network: core, ip: '10.0.0.20' }).id;
  v.hetzner.networks.addRoute(core, '10.241.1.0/24', '10.0.0.20');
  v.hetzner.networks.addRoute(core, '10.242.0.0/17', '10.0.0.10');
  const before = v.start({ env: { ...env, HCLOUD_NETWORK_GATEWAYS: undefined }, args });
  await v.until('all are routed', areRouted(v, hosts), 5 * MINUTE);
  await v.advance(25 * HOUR);
  assert.ok(routesOf(v.hetzner, core).includes('10.241.1.0/24 10.0.0.20'), 'a way of the user to one node');
  await before.stop();
  v.hetzner.networks.removeRoute(core, '10.241.1.0/24', '10.0.0.20');
  v.hetzner.servers.remove(byHand);

  const first = v.start({ env, args });
  await v.advance(5 * MINUTE);
  assert.deepEqual(unreachable(), []);
  assert.deepEqual(aggregates(v, core), ['10.241.0.0/16 10.0.0.10', '10.242.0.0/16 10.0.0.10']);
  await first.stop();

  // New nodes of pool-a are to have another range; the old ones live on.
  const HCLOUD_NETWORK_POD_CIDRS = 'core=10.240.0.0/16,pool-a=10.245.0.0/16,pool-b=10.242.0.0/16';
  v.start({ env: { ...env, HCLOUD_NETWORK_POD_CIDRS }, args });
  await v.advance(25 * HOUR);
  assert.deepEqual(unreachable(), []);
  const all = ['10.241.0.0/16 10.0.0.10', '10.242.0.0/16 10.0.0.10', '10.245.0.0/16 10.0.0.10'];
  assert.deepEqual(aggregates(v, core), all);
  for (const { name, server } of hosts.splice(2, 2)) {
    v.hetzner.servers.remove(server);
    await v.client.must('DELETE', `/api/v1/nodes/${name}`);
  }
  await v.advance(25 * HOUR);
  assert.deepEqual(aggregates(v, core), all.slice(1), 'the last one has gone');
});

it('takes no route from a network that a pattern happens to describe and another cluster lives in', async t => {
  const v = virtualApp(t);
  const { hosts } = await cluster(v, [1, 1, 1]);
  const foreign = addNetwork(v, 'pool-of-others', 9);
  for (let i = 1; i <= 3; i += 1) {
    v.hetzner.servers.create({ name: `x${i}`, network: foreign, ip: `10.9.1.${i}` });
    v.hetzner.networks.addRoute(foreign, `10.244.${i}.0/24`, `10.9.1.${i}`);
  }
  // Through a machine that is no Cloud server, by way of a vSwitch.
  v.hetzner.networks.addRoute(foreign, '10.244.9.0/24', '10.9.2.1');
  const theirs = routesOf(v.hetzner, foreign);
  const first = v.start({ env, args });
  await v.until('all are routed', areRouted(v, hosts), 5 * MINUTE);
  await v.advance(25 * HOUR);
  assert.deepEqual(routesOf(v.hetzner, foreign), theirs);

  // With a node of ours in it: its own route comes and goes, those to machines of others stay.
  const { name } = await join(v, foreign, 9, 9, '10.249.9.0/24');
  await v.until('it is routed', () => networkUnavailable(v.node(name)) === 'False', 5 * MINUTE);
  await v.client.must('DELETE', `/api/v1/nodes/${name}`);
  await v.until('its route has gone', () => !routesOf(v.hetzner, foreign).some(one => one.includes('10.249.9.0')));
  await v.advance(25 * HOUR);
  assert.deepEqual(
    theirs.filter(one => !routesOf(v.hetzner, foreign).includes(one)),
    [],
  );
  assert.equal(first.error(), undefined);
});

it('goes on with a network that is renamed in the console, and says so once', async t => {
  const v = virtualApp(t);
  const { core, a, hosts, unreachable } = await cluster(v, [1, 1, 1]);
  const controller = v.start({ env, args });
  await v.until('all are routed', areRouted(v, hosts), 5 * MINUTE);
  const since = v.now();
  v.hetzner.networks.rename(a, 'renamed');
  v.hetzner.networks.rename(core, 'kernel');
  await v.advance(60 * HOUR);
  assert.equal(v.spent(since).writes, 0);
  assert.deepEqual(unreachable(), []);
  assert.ok(areRouted(v, hosts)());
  hosts.push(await join(v, a, 1, 2));
  await v.until('a late one is routed', areRouted(v, hosts), 2 * MINUTE);
  assert.deepEqual(
    controller
      .lines()
      .filter(({ level }) => level === 'warn' || level === 'error')
      .map(({ msg, network }) => `${msg}: ${network}`)
      .sort(),
    ['core', 'pool-a'].map(name => `Found a network renamed, and went on with it: ${name}`),
  );
});

it('tells of a network that must be there and is not any more, and takes over a new one of the name', async t => {
  const v = virtualApp(t);
  const { core, router, hosts } = await cluster(v, [1, 1, 1]);
  const controller = v.start({ env, args });
  await v.until('all are routed', areRouted(v, hosts), 5 * MINUTE);
  const [first] = hosts;
  const server = first?.server ?? 0;
  for (const one of [server, router]) v.hetzner.servers.detach(one, core);
  v.hetzner.networks.remove(core);
  await v.advance(60 * HOUR);
  const errors = controller.lines().filter(({ level }) => level === 'error');
  assert.deepEqual(
    errors.map(({ msg, network }) => `${msg}: ${network}`),
    ['Found the network gone: core'],
  );
  const events = v.kubernetes.list('/api/v1/namespaces/kube-system/events') as unknown as KubeObject[];
  assert.equal(events.filter(({ reason }) => reason === 'NetworkNotFound').length, 1);
  assert.match(await controller.metrics(), /hcloud_reactive_network_missing\{network="core"\} 1/);
  const again = addNetwork(v, 'core', 0);
  v.hetzner.servers.attach(server, again, { ip: '10.0.1.1' });
  v.hetzner.servers.attach(router, again, { ip: '10.0.0.10' });
  await v.until('pods reach each other again', () => routesOf(v.hetzner, again).length === 3, HOUR);
  assert.match(await controller.metrics(), /hcloud_reactive_network_missing\{network="core"\} 0/);
  const since = v.now();
  await v.advance(25 * HOUR);
  assert.equal(v.spent(since).writes, 0);
  assert.equal(controller.error(), undefined);
});

it('takes no way that there is for a gateway that no machine has yet', async t => {
  const v = virtualApp(t, { gateways: 'of-member' });
  const { core, hosts, unreachable } = await cluster(v, [1, 1, 1]);
  const first = v.start({ env, args });
  await v.until('all are routed', areRouted(v, hosts), 5 * MINUTE);
  await v.advance(MINUTE);
  await first.stop();
  const HCLOUD_NETWORK_GATEWAYS = env.HCLOUD_NETWORK_GATEWAYS.replace('10.0.0.10', '10.0.0.20');
  const second = v.start({ env: { ...env, HCLOUD_NETWORK_GATEWAYS }, args });
  await v.advance(HOUR);
  assert.deepEqual(unreachable(), []);
  assert.deepEqual(aggregates(v, core), ['10.241.0.0/16 10.0.0.10', '10.242.0.0/16 10.0.0.10']);
  const told = second.lines().filter(({ level }) => level === 'warn');
  assert.match(JSON.stringify(told[0]?.err), /no server in the network has the address 10\.0\.0\.20 /);
  assert.ok(told.length < 30, `${told.length} lines in an hour`);
  v.hetzner.servers.create({ name: 'another', network: core, ip: '10.0.0.20' });
  await v.advance(25 * HOUR);
  assert.deepEqual(aggregates(v, core), ['10.241.0.0/16 10.0.0.20', '10.242.0.0/16 10.0.0.20']);
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createNode } from '../support/nodes.ts';
import { isInitialised, networkUnavailable } from '../support/scenario.ts';
import { createService, servicePath } from '../support/services.ts';
import { type VirtualApp, virtualApp } from '../support/virtual-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const controlPlane = { 'node-role.kubernetes.io/control-plane': '' };
const env = { HCLOUD_NETWORK: 'control', HCLOUD_WORKER_NETWORK_REGEX: 'workers-[0-9]+' };

/** Network `control` with 10.1.0.0/16, `workers-N` with 10.<1 + N>.0.0/16; returns its id. */
const addNetwork = (v: VirtualApp, name: string, second: number): number =>
  v.hetzner.networks.create({ name, ipRange: `10.${second}.0.0/16`, subnets: [`10.${second}.0.0/16`] }).id;

interface Member {
  readonly i: number;
  readonly network: number;
  readonly ip: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Default 10.244.<i>.0/24. */
  readonly pods?: string;
}

const podsOf = ({ i, pods = `10.244.${i}.0/24` }: Member): string => pods;

const member = (i: number, network: number, second: number, labels?: Member['labels']): Member => ({
  i,
  network,
  ip: `10.${second}.1.${i}`,
  ...(labels !== undefined && { labels }),
});

const addMember = (v: VirtualApp, { i, network, ip }: Member): number =>
  v.hetzner.servers.create({ name: `w${i}`, network, ip }).id;

const joinMember = async (v: VirtualApp, one: Member, announce = true): Promise<void> => {
  const { i, ip, labels } = one;
  await createNode(v, {
    name: `w${i}`,
    podCIDRs: [podsOf(one)],
    ...(announce && { nodeIPs: [ip] }),
    ...(labels !== undefined && { labels }),
  });
};

const routesIn = (v: VirtualApp, network: number): string[] =>
  (v.hetzner.networks.get(network)?.routes ?? []).map(({ destination, gateway }) => `${destination} ${gateway}`).sort();

const internalIPs = (v: VirtualApp, i: number): string[] =>
  ((v.node(`w${i}`)?.status.addresses ?? []) as { type: string; address: string }[])
    .filter(({ type }) => type === 'InternalIP')
    .map(({ address }) => address);

const isDone = (v: VirtualApp, one: Member): boolean => {
  const { i, network, ip } = one;
  const node = v.node(`w${i}`);
  return (
    node !== undefined &&
    isInitialised(node) &&
    networkUnavailable(node) === 'False' &&
    internalIPs(v, i).join() === ip &&
    routesIn(v, network).includes(`${podsOf(one)} ${ip}`)
  );
};

/** Three control planes and `each` workers in each of two further networks. */
const cluster = (v: VirtualApp, each: number) => {
  const [control, first, second] = [
    addNetwork(v, 'control', 1),
    addNetwork(v, 'workers-1', 2),
    addNetwork(v, 'workers-2', 3),
  ] as const;
  const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, k) => from + k);
  const members = [
    ...range(1, 3).map(i => member(i, control, 1, controlPlane)),
    ...range(4, each).map(i => member(i, first, 2)),
    ...range(4 + each, each).map(i => member(i, second, 3)),
  ];
  return { control, first, second, members };
};

it('BUG-010: brings up 3 control planes and 250 workers in 3 networks within its budget of requests', async t => {
  const v = virtualApp(t);
  const { control, first, second, members } = cluster(v, 97);
  // More workers than two networks hold live with the control planes.
  const more = Array.from({ length: 56 }, (_, k) => member(198 + k, control, 1));
  const networks = [control, first, second];
  const podRanges = networks.map((network, k) => ({ network, range: `10.${241 + k}.0.0/16` }));
  const all = [...members, ...more].map(one => ({
    ...one,
    pods: `10.${241 + networks.indexOf(one.network)}.${one.i}.0/24`,
  }));
  assert.equal(all.length, 253);
  for (const one of all) addMember(v, one);
  // One machine joins the networks: each leads the pods of the others to it, two routes that are the user's.
  const router = v.hetzner.servers.create({ name: 'router' }).id;
  networks.forEach((network, k) => {
    const ip = `10.${1 + k}.0.9`;
    v.hetzner.servers.attach(router, network, { ip });
    for (const { range } of podRanges.filter(one => one.network !== network))
      v.hetzner.networks.addRoute(network, range, ip);
  });
  for (const one of all) await joinMember(v, one);
  const controller = v.start({ env, args: ['--cluster-cidr=10.240.0.0/12'] });
  const took = await v.until('all are routed', () => all.every(one => isDone(v, one)), 10 * MINUTE);
  const { polls, writes, all: requests } = v.spent();
  assert.deepEqual(
    networks.map(id => routesIn(v, id).length),
    [61, 99, 99],
  );
  assert.equal(writes, 253);
  assert.ok(polls < 60, `${polls} polls`);
  assert.ok(requests - writes - polls <= 20, JSON.stringify(v.hetzner.counts()));
  assert.ok(took < 5 * MINUTE, `${took} ms`);
  assert.equal(controller.error(), undefined);
  const hosts = all.map(one => ({ server: v.hetzner.servers.byName(`w${one.i}`)?.id ?? 0, podCIDR: podsOf(one) }));
  assert.equal(v.hetzner.unreachablePods({ hosts, podRanges }).length, 2 * (59 * 97 + 59 * 97 + 97 * 97));
  assert.deepEqual(v.hetzner.unreachablePods({ hosts, podRanges, forwarders: [router] }), []);

  const settled = v.now();
  await v.advance(6 * MINUTE);
  assert.ok(v.spent(settled).all <= 12, JSON.stringify(v.hetzner.counts({ since: settled })));
  await v.advance(25 * HOUR);
  assert.equal(v.spent(settled).writes, 0);
  assert.deepEqual(v.hetzner.unreachablePods({ hosts, podRanges, forwarders: [router] }), []);
  assert.match(await controller.metrics(), /hcloud_reactive_routes\{network="workers-2"\} 99/);
});

it('BUG-025: a node that changes its network moves its route, and routes that are no pod routes stay', async t => {
  const v = virtualApp(t);
  const { control, first, second, members } = cluster(v, 2);
  for (const one of members) {
    addMember(v, one);
    await joinMember(v, one, false);
  }
  // How users lead to the pods of the other networks, and to the outside.
  for (const [id, gateway] of [
    [control, '10.1.1.1'],
    [first, '10.2.1.4'],
    [second, '10.3.1.6'],
  ] as const) {
    v.hetzner.networks.addRoute(id, '10.244.128.0/17', gateway);
    v.hetzner.networks.addRoute(id, '0.0.0.0/0', gateway);
  }
  v.start({ env });
  await v.until('all are routed', () => members.every(one => isDone(v, one)), 5 * MINUTE);
  const mover = { i: 4, network: second, ip: '10.3.1.99' };
  const { id } = v.hetzner.servers.byName('w4') ?? { id: 0 };
  v.hetzner.servers.detach(id, first);
  v.hetzner.servers.attach(id, second, { ip: mover.ip });
  await v.until('its route has moved', () => isDone(v, mover) && routesIn(v, first).length === 3, 10 * MINUTE);
  await v.advance(25 * HOUR);
  assert.deepEqual(routesIn(v, first), ['0.0.0.0/0 10.2.1.4', '10.244.128.0/17 10.2.1.4', '10.244.5.0/24 10.2.1.5']);
  assert.deepEqual(
    [control, second].map(network => routesIn(v, network).length),
    [5, 5],
  );
});

it('picks up a network that is made later, when a server in it shows up, without a restart', async t => {
  const v = virtualApp(t);
  const { members } = cluster(v, 1);
  for (const one of members) {
    addMember(v, one);
    await joinMember(v, one);
  }
  const controller = v.start({ env });
  await v.until('all are routed', () => members.every(one => isDone(v, one)), 5 * MINUTE);
  const late = member(30, addNetwork(v, 'workers-17', 40), 40);
  const stranger = addNetwork(v, 'workers-x', 41);
  addMember(v, late);
  await joinMember(v, late);
  const took = await v.until('the late one is routed', () => isDone(v, late), 2 * MINUTE);
  assert.ok(took < 15 * SECOND, `${took} ms`);
  assert.equal(v.hetzner.count({ method: 'GET', route: '/networks' }), 2);

  // A network that the pattern does not describe is none of the cluster.
  const outside = member(31, stranger, 41);
  addMember(v, outside);
  await joinMember(v, outside);
  await v.advance(10 * MINUTE);
  assert.deepEqual(routesIn(v, stranger), []);
  assert.equal(v.hetzner.count({ method: 'GET', route: '/networks' }), 2);
  const told = v.eventsOf('w31').map(({ message }) => message as string);
  assert.match(told.join(), /is in none of the networks of the cluster: control \(\d+\), workers-1 .*, workers-17 /);
  assert.equal(controller.error(), undefined);

  // And one that goes away ends with its routes; the others never notice.
  const since = v.now();
  v.hetzner.servers.remove(v.hetzner.servers.byName('w30')?.id ?? 0);
  v.hetzner.networks.remove(late.network);
  await v.advance(25 * HOUR);
  assert.equal(v.spent(since).writes, 0);
  assert.ok(members.every(one => isDone(v, one)));
  assert.equal(controller.error(), undefined);
});

it('decides by the announced address, the role and the order of names where a server is in several networks', async t => {
  const v = virtualApp(t);
  const control = addNetwork(v, 'control', 1);
  const [first, second] = [addNetwork(v, 'workers-1', 2), addNetwork(v, 'workers-2', 3)];
  // Two networks with the same range, and so the same addresses. No server can be in both: Hetzner refuses that.
  const twin = v.hetzner.networks.create({ name: 'workers-3', ipRange: '10.3.0.0/16', subnets: ['10.3.0.0/16'] }).id;
  const attach = (i: number, ...nets: readonly (readonly [number, string])[]): void => {
    const { id } = v.hetzner.servers.create({ name: `w${i}` });
    for (const [network, ip] of nets) v.hetzner.servers.attach(id, network, { ip });
  };
  const expected: Member[] = [
    { i: 1, network: first, ip: '10.2.1.1' },
    { i: 2, network: first, ip: '10.2.1.2' },
    { i: 3, network: second, ip: '10.3.1.3' },
    { i: 4, network: control, ip: '10.1.1.4', labels: controlPlane },
    { i: 5, network: twin, ip: '10.3.1.3' },
  ];
  attach(1, [control, '10.1.1.1'], [first, '10.2.1.1'], [second, '10.3.1.1']);
  attach(2, [second, '10.3.1.2'], [first, '10.2.1.2']);
  attach(3, [second, '10.3.1.3']);
  attach(4, [first, '10.2.1.4'], [control, '10.1.1.4']);
  attach(5, [twin, '10.3.1.3']);
  const announcing = [1, 3, 5];
  for (const one of expected) await joinMember(v, one, announcing.includes(one.i));
  v.start({ env: { ...env, HCLOUD_NETWORK: 'workers-1', HCLOUD_CONTROL_PLANE_NETWORK: 'control' } });
  await v.until('all are routed', () => expected.every(one => isDone(v, one)), 5 * MINUTE);
  const routes = [control, first, second, twin].map(id => routesIn(v, id).length);
  assert.deepEqual(routes, [1, 2, 1, 1]);
  for (const { i, ip } of expected) assert.deepEqual(internalIPs(v, i), [ip]);
});

it('lets the loss of one network touch no node of another, and a full network say so of its own', async t => {
  const v = virtualApp(t);
  const { control, first, second, members } = cluster(v, 2);
  for (let k = 0; k < 99; k++) v.hetzner.networks.addRoute(second, `172.16.${k}.0/24`, '10.3.200.1');
  for (const one of members) {
    addMember(v, one);
    await joinMember(v, one);
  }
  v.start({ env });
  const [fifth, sixth] = [
    members.filter(({ network }) => network === second),
    members.filter(m => m.network !== second),
  ];
  await v.until('the others are routed', () => sixth.every(one => isDone(v, one)), 5 * MINUTE);
  await v.advance(MINUTE);
  assert.equal(fifth.filter(one => isDone(v, one)).length, 1);
  const told = fifth.flatMap(({ i }) => v.eventsOf(`w${i}`)).filter(({ reason }) => reason === 'RouteLimitReached');
  assert.match(told[0]?.message as string, /in network workers-2 \(/);

  const since = v.now();
  const fault = v.hetzner.faults.add({ kind: 'html', status: 503, path: new RegExp(`^/networks/${second}(/|$)`) });
  const late = member(20, first, 2);
  addMember(v, late);
  await joinMember(v, late);
  await v.until('a node of another network is routed', () => isDone(v, late), MINUTE);
  assert.ok(v.now() - since < 15 * SECOND);
  assert.equal(routesIn(v, control).length, 3);
  await v.advance(10 * MINUTE);
  assert.ok(fault.struck > 0, 'the network that is lost was asked');
});

it('needs no second network: with one that is named for the control planes all is as with HCLOUD_NETWORK', async t => {
  const v = virtualApp(t);
  v.addServer(1);
  await v.join(1);
  v.start({ env: { HCLOUD_NETWORK: undefined, HCLOUD_CONTROL_PLANE_NETWORK: 'k8s' } });
  await v.untilRouted(1);
  assert.deepEqual(v.spent(), { all: 4, polls: 1, writes: 1 });
});

it('attaches load balancers to the network that is named, makes targets of the nodes in it alone, and moves them', async t => {
  const v = virtualApp(t);
  const { first, second, members } = cluster(v, 2);
  for (const one of members) {
    addMember(v, one);
    await joinMember(v, one);
  }
  v.start({
    env: {
      ...env,
      HCLOUD_LOAD_BALANCERS_LOCATION: 'fsn1',
      HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: 'true',
      HCLOUD_LOAD_BALANCER_NETWORK: 'workers-1',
    },
  });
  const annotation = 'load-balancer.hetzner.cloud/network';
  await createService(v, { name: 'usual' });
  await createService(v, { name: 'named', annotations: { [annotation]: String(second) } });
  await createService(v, { name: 'wrong', annotations: { [annotation]: 'nowhere' } });
  const uids = new Map<string, string>();
  for (const name of ['usual', 'named']) {
    const service = await v.client.must('GET', servicePath(name));
    uids.set(name, service.metadata.uid as string);
  }
  const seen = (name: string): string => {
    const all = v.hetzner.loadBalancers.list();
    const found = all.find(({ labels }) => labels['hcloud-ccm/service-uid'] === uids.get(name));
    const targets = (found?.targets ?? []).flatMap(one => (one.type === 'server' ? [one.serverID] : []));
    const names = targets.map(id => v.hetzner.servers.get(id)?.name).sort();
    return `${found?.privateNets.map(({ network }) => network).join()}: ${names.join()}`;
  };
  await v.until(
    'both are complete',
    () => seen('usual') === `${first}: w4,w5` && seen('named') === `${second}: w6,w7`,
    10 * MINUTE,
  );
  await v.advance(10 * MINUTE);
  assert.equal(v.hetzner.loadBalancers.list().length, 2, 'nothing is made while nobody knows the network');
  const told = v.eventsOf('wrong').map(({ message }) => message as string);
  assert.match(told.join(), /there is no network with the name or id "nowhere"/);
  for (const { i } of members)
    assert.deepEqual(
      v.eventsOf(`w${i}`).filter(({ type }) => type === 'Warning'),
      [],
    );
  const summary = v.eventsOf('usual').filter(({ reason }) => reason === 'SyncLoadBalancerFailed');
  assert.equal(summary.length, 1, JSON.stringify(summary));

  const patch = { metadata: { annotations: { [annotation]: 'workers-1' } } };
  await v.client.must('PATCH', servicePath('named'), patch, 'application/merge-patch+json');
  await v.until('it has moved', () => seen('named') === `${first}: w4,w5`, 10 * MINUTE);
  const settled = v.now();
  await v.advance(25 * HOUR);
  assert.equal(v.spent(settled).writes, 0);

  // A network that can't be had is tried once, for each try costs the private targets a moment.
  v.hetzner.networks.create({ name: 'bare', ipRange: '10.9.0.0/16' });
  const detachments = (): number =>
    v.hetzner.requests.filter(({ path }) => path.endsWith('/detach_from_network')).length;
  const before = detachments();
  const other = { metadata: { annotations: { [annotation]: 'bare' } } };
  await v.client.must('PATCH', servicePath('named'), other, 'application/merge-patch+json');
  await v.advance(30 * MINUTE);
  assert.deepEqual([seen('named'), detachments() - before], [`${first}: w4,w5`, 1]);
});

it('runs once or twice for each node at the start, however many networks there are', async t => {
  const v = virtualApp(t);
  const control = addNetwork(v, 'control', 1);
  const members = Array.from({ length: 60 }, (_, i) => {
    const k = Math.floor(i / 6);
    if (i % 6 === 0 && k > 0) addNetwork(v, `workers-${k}`, 1 + k);
    const network =
      k === 0 ? control : (v.hetzner.networks.list().find(one => one.name === `workers-${k}`)?.id as number);
    return member(i + 1, network, 1 + k);
  });
  for (const one of members) {
    addMember(v, one);
    await joinMember(v, one);
  }
  const before = v.start({ env });
  await v.until('all are routed', () => members.every(one => isDone(v, one)), 5 * MINUTE);
  await before.stop();
  const { runs } = v.start({ env });
  await v.advance(MINUTE);
  const routes = runs.filter(({ key }) => key.endsWith('/24')).length;
  assert.ok(routes >= 60 && routes <= 120, `${routes} runs for 60 nodes in 10 networks`);
});

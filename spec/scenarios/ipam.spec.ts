import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Allocations, watchAllocations } from '../support/allocations.ts';
import { createNode, deleteNode, heartbeat, nodePath } from '../support/nodes.ts';
import {
  type VirtualApp,
  type VirtualController,
  type VirtualStartOptions,
  virtualApp,
} from '../support/virtual-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Two replicas, of which one leads; the other is ready to. */
const replicas = ['--leader-elect=true'];
const env = { HCLOUD_NODE_IPAM: 'true' };
/** Room for four nodes. */
const narrow = '--cluster-cidr=10.244.0.0/22';

const start = (v: VirtualApp, more: VirtualStartOptions = {}): VirtualController =>
  v.start({ args: [...replicas, ...(more.args ?? [])], env: { ...env, ...more.env } });

const joinAll = async (v: VirtualApp, ...numbers: number[]): Promise<void> => {
  for (const i of numbers) {
    v.addServer(i);
    await v.join(i, { podCIDRs: [] });
  }
};

const untilAllocated = (v: VirtualApp, all: Allocations, ...numbers: number[]): Promise<number> =>
  v.until(`${numbers} have pod CIDRs`, () => numbers.every(i => all.now().has(`w${i}`)), 10 * MINUTE);

const linesOf = (controller: VirtualController, msg: string) => controller.lines().filter(line => line.msg === msg);

it('gives nodes that join a pod CIDR and a route, says so in one line each, and leaves nodes alone that have one', async t => {
  const v = virtualApp(t);
  const all = watchAllocations(v.kubernetes, () => '10.244.0.0/16');
  v.addServer(1);
  await v.join(1, { podCIDRs: ['10.244.0.0/24'] });
  await joinAll(v, 2);
  const controller = start(v);
  await v.untilRouted(1);
  await v.untilRouted(2);
  await joinAll(v, 3);
  const took = await v.untilRouted(3);
  assert.ok(took < 2 * SECOND, `${took} ms`);
  all.check();
  assert.deepEqual([...all.now()].sort(), [
    ['w1', '10.244.0.0/24'],
    ['w2', '10.244.1.0/24'],
    ['w3', '10.244.2.0/24'],
  ]);
  assert.deepEqual(v.routes(), ['10.244.0.0/24 10.0.1.1', '10.244.1.0/24 10.0.1.2', '10.244.2.0/24 10.0.1.3']);
  assert.deepEqual(
    linesOf(controller, 'Allocated pod CIDR').map(({ node, podCIDR, range }) => [node, podCIDR, range]),
    [
      ['w2', '10.244.1.0/24', '10.244.0.0/16'],
      ['w3', '10.244.2.0/24', '10.244.0.0/16'],
    ],
  );
  for (const name of ['w1', 'w2', 'w3']) {
    const annotations = Object.keys(v.node(name)?.metadata.annotations ?? {});
    assert.ok(!annotations.some(key => key.includes('fence')), `${name}: ${annotations}`);
  }
  const metrics = await controller.metrics();
  assert.match(metrics, /hcloud_reactive_pod_cidrs\{range="10\.244\.0\.0\/16",state="used"\} 3\n/);
  assert.match(metrics, /hcloud_reactive_pod_cidrs\{range="10\.244\.0\.0\/16",state="free"\} 253\n/);
});

it('allocates nothing where only --allocate-node-cidrs is set, as the chart of the peer does', async t => {
  const v = virtualApp(t);
  await joinAll(v, 1);
  v.start({ args: ['--allocate-node-cidrs=true'] });
  await v.advance(10 * MINUTE);
  assert.equal(v.node('w1')?.spec.podCIDR, undefined);
  assert.match(String(v.node('w1')?.spec.providerID), /^hcloud:/);
});

it('waits until a node is initialised', async t => {
  const v = virtualApp(t);
  await v.join(1, { podCIDRs: [] });
  start(v);
  await v.advance(5 * MINUTE);
  assert.equal(v.node('w1')?.spec.podCIDR, undefined);
  v.addServer(1);
  await v.untilRouted(1);
});

it('takes the range of the network that a node is in, and that of the primary one for machines in none of them', async t => {
  const v = virtualApp(t);
  const second = v.hetzner.networks.create({ name: 'pool', ipRange: '172.16.0.0/16', subnets: ['172.16.0.0/16'] }).id;
  const third = v.hetzner.networks.create({
    name: 'pool-b',
    ipRange: '192.168.0.0/16',
    subnets: ['192.168.0.0/16'],
  }).id;
  const ranges = {
    HCLOUD_WORKER_NETWORK_PREFIX: 'pool',
    HCLOUD_NETWORK_POD_CIDRS: 'k8s=10.244.0.0/20,pool=10.244.16.0/20',
  };
  await joinAll(v, 1);
  v.hetzner.servers.create({ name: 'w2', network: second, ip: '172.16.1.2' });
  await v.join(2, { podCIDRs: [] });
  v.hetzner.servers.create({ name: 'w3', network: third, ip: '192.168.1.3' });
  await v.join(3, { podCIDRs: [] });
  v.addServer(4, { ip: false });
  await v.join(4, { podCIDRs: [] });
  await v.join(5, { podCIDRs: [], taint: false, providerID: 'hrobot://5' });
  const controller = start(v, { env: ranges });
  await v.advance(2 * MINUTE);
  const primary = ['w1', 'w5'].map(name => v.node(name)?.spec.podCIDR);
  assert.deepEqual(primary.sort(), ['10.244.0.0/24', '10.244.1.0/24']);
  assert.equal(v.node('w2')?.spec.podCIDR, '10.244.16.0/24');
  assert.deepEqual([v.node('w3')?.spec.podCIDR, v.node('w4')?.spec.podCIDR], [undefined, undefined]);

  const told = (name: string) => v.eventsOf(name).find(event => event.reason === 'CIDRNotAvailable');
  assert.match(
    String(told('w3')?.message),
    /^Could not allocate a pod CIDR: HCLOUD_NETWORK_POD_CIDRS names no range for network pool-b/,
  );
  assert.match(
    String(told('w4')?.message),
    /^Could not allocate a pod CIDR: the server of node w4 is in none of the networks/,
  );
  const [warning, ...more] = linesOf(controller, 'Found no range of pod CIDRs for a network');
  assert.deepEqual([warning?.network, warning?.setting, more.length], ['pool-b', 'HCLOUD_NETWORK_POD_CIDRS', 0]);

  // A pod CIDR is for good: the node that is attached late has one of the right range.
  v.hetzner.servers.attach(v.hetzner.servers.byName('w4')?.id as number, second, { ip: '172.16.1.4' });
  await v.until('w4 has one', () => v.node('w4')?.spec.podCIDR !== undefined, 15 * MINUTE);
  assert.equal(v.node('w4')?.spec.podCIDR, '10.244.17.0/24');
});

it('tells a node that the range has no room, once, and gives it what becomes free', async t => {
  const v = virtualApp(t);
  const all = watchAllocations(v.kubernetes, () => '10.244.0.0/22');
  const controller = start(v, { args: [narrow] });
  await joinAll(v, 1, 2, 3, 4);
  await untilAllocated(v, all, 1, 2, 3, 4);
  await joinAll(v, 5, 6);
  await v.advance(20 * MINUTE);
  for (const name of ['w5', 'w6']) {
    const events = v.eventsOf(name).filter(event => event.reason === 'CIDRNotAvailable');
    assert.deepEqual(
      events.map(({ message, count = 1 }) => [message, count]),
      [['Could not allocate a pod CIDR: all /24 blocks of the range 10.244.0.0/22 are taken', 1]],
    );
  }
  assert.equal(linesOf(controller, 'Found no free pod CIDR').length, 1);
  const freed = all.now().get('w2');
  await deleteNode(v, 'w2');
  await v.until('one of them has it', () => [5, 6].some(i => all.now().get(`w${i}`) === freed), SECOND);
  await deleteNode(v, 'w3');
  await untilAllocated(v, all, 5, 6);
  all.check();
});

it('tells of overlapping pod CIDRs that somebody else has made, once, and changes nothing', async t => {
  const v = virtualApp(t);
  for (const i of [1, 2]) v.addServer(i);
  await v.join(1, { podCIDRs: ['10.244.0.0/24'] });
  await v.advance(2 * SECOND);
  await v.join(2, { podCIDRs: ['10.244.0.128/25'] });
  await joinAll(v, 3);
  const controller = start(v);
  await v.untilRouted(3);
  await heartbeat(v, 'w2');
  await v.advance(10 * MINUTE);
  const [line, ...more] = linesOf(controller, 'Found nodes with overlapping pod CIDRs');
  assert.deepEqual([line?.node, line?.podCIDR, more.length], ['w2', '10.244.0.128/25', 0]);
  const events = v.eventsOf('w2').filter(event => event.reason === 'OverlappingPodCIDRs');
  assert.match(String(events[0]?.message), /^Pod CIDR 10\.244\.0\.128\/25 overlaps 10\.244\.0\.0\/24 of node w1; /);
  assert.equal(events.length, 1);
  assert.deepEqual([v.node('w1')?.spec.podCIDR, v.node('w2')?.spec.podCIDR], ['10.244.0.0/24', '10.244.0.128/25']);
  assert.equal(v.node('w3')?.spec.podCIDR, '10.244.1.0/24');
});

it('gives 250 nodes that join at once their pod CIDRs with one write each', async t => {
  const v = virtualApp(t);
  const all = watchAllocations(v.kubernetes, () => '10.244.0.0/16');
  const controller = start(v, { args: ['--configure-cloud-routes=false'] });
  await v.advance(5 * SECOND);
  const numbers = Array.from({ length: 250 }, (_, i) => i + 1);
  for (const i of numbers) v.addServer(i, { ip: false, ipv4: null });
  for (const i of numbers) await v.join(i, { podCIDRs: [] });
  const took = await untilAllocated(v, all, ...numbers);
  assert.ok(took < 30 * SECOND, `${took} ms`);
  all.check();
  const written = v.kubernetes.journal
    .writes()
    .filter(({ user, body }) => user === controller.user && body.includes('podCIDR'));
  assert.equal(written.length, 250);
});

const untaint = (v: VirtualApp, i: number): unknown => v.kubernetes.patch(nodePath(`w${i}`), { spec: { taints: [] } });

/** Registers a node of a server of its own that needs nothing but a pod CIDR. That it may have one is the last thing written to it. */
const register = async (v: VirtualApp, i: number, keepsTaint = false): Promise<void> => {
  await createNode(v, { name: `w${i}`, providerID: `hcloud://${v.addServer(i)}` });
  if (!keepsTaint) untaint(v, i);
};

/** Waits until the controller has sent the pod CIDR of a node. */
const untilSent = (v: VirtualApp, { user }: VirtualController, i: number): Promise<number> =>
  v.until(`the pod CIDR of w${i} is sent`, () =>
    v.kubernetes.journal
      .writes()
      .some(one => one.user === user && one.path === nodePath(`w${i}`) && one.body.includes('podCIDR')),
  );

/** Only writes that give a pod CIDR. */
const body = /podCIDR/;

/**
 * A leader whose last write gives a block to w2, and lands a minute after it was killed. What its successor writes to w2
 * gets lost twice, so that w2 stays as it was until that write lands. w1 waits for its initialisation.
 */
const takeOver = async (
  v: VirtualApp,
  { given, beforeLast }: { readonly given: number; readonly beforeLast: (successor: VirtualController) => void },
): Promise<{ readonly all: Allocations; readonly successor: VirtualController }> => {
  const all = watchAllocations(v.kubernetes, () => '10.244.0.0/22');
  const args = [narrow, '--controllers=node-ipam-controller'];
  const leader = start(v, { args });
  await v.advance(SECOND);
  const successor = start(v, { args });
  await register(v, 1, true);
  // Blocks that the leader has handed out and got back: it is ahead of where the successor will begin.
  for (let i = 0; i < given; i += 1) {
    await register(v, 50 + i);
    await untilAllocated(v, all, 50 + i);
    await deleteNode(v, `w${50 + i}`);
  }
  await v.advance(SECOND);
  beforeLast(successor);
  const path = nodePath('w2');
  v.kubernetes.faults.add({ path, body, user: leader.user, fault: { kind: 'late', ms: MINUTE } });
  await register(v, 2);
  await untilSent(v, leader, 2);
  await leader.kill();
  v.kubernetes.faults.add({ path, body, user: successor.user, fault: { kind: 'hang' }, times: 2 });
  return { all, successor };
};

it('gives nothing to a node that a write of the leader before may still give to another one', async t => {
  const v = virtualApp(t);
  const { all } = await takeOver(v, { given: 0, beforeLast: () => {} });
  untaint(v, 1);
  await untilAllocated(v, all, 1, 2);
  await v.advance(2 * MINUTE);
  all.check();
});

it('does so for nodes that its own watch has not told it of', async t => {
  const v = virtualApp(t);
  const { all, successor } = await takeOver(v, {
    given: 1,
    beforeLast: ({ user }) => v.kubernetes.freezeWatches({ user, path: '/api/v1/nodes' }),
  });
  await v.advance(25 * SECOND);
  untaint(v, 1);
  v.kubernetes.cutWatches({ user: successor.user });
  await untilAllocated(v, all, 1, 2);
  await v.advance(2 * MINUTE);
  all.check();
});

it('sees by the answers to its fences what has landed until then, however late its watch tells', async t => {
  const v = virtualApp(t);
  // The fence of w2 comes after the late write; the watch tells of that of w1, and then nothing for long.
  const lost = { verb: 'patch', path: nodePath('w2'), fault: { kind: 'hang' }, times: 2 } as const;
  const { all, successor } = await takeOver(v, {
    given: 0,
    beforeLast: ({ user }) => v.kubernetes.faults.add({ ...lost, user }),
  });
  await v.until('w1 is fenced', () => JSON.stringify(v.node('w1')?.metadata.annotations).includes('fence'));
  untaint(v, 1);
  await v.advance(SECOND);
  v.kubernetes.freezeWatches({ user: successor.user, path: '/api/v1/nodes' });
  await untilAllocated(v, all, 1, 2);
  await v.advance(2 * MINUTE);
  all.check();
});

it('knows what the leader before has written though its own watch has not told it', async t => {
  const v = virtualApp(t);
  const all = watchAllocations(v.kubernetes, () => '10.244.0.0/22');
  const args = [narrow, '--controllers=node-ipam-controller'];
  const leader = start(v, { args });
  await v.advance(SECOND);
  const successor = start(v, { args });
  // The leader keeps the first block for w1, and can't give it to it; the second one is another's already.
  const refused = { kind: 'status', code: 503 } as const;
  v.kubernetes.faults.add({ verb: 'patch', path: nodePath('w1'), user: leader.user, fault: refused });
  await register(v, 1);
  await untilSent(v, leader, 1);
  await v.advance(2 * SECOND);
  await v.join(3, { podCIDRs: ['10.244.1.0/24'], taint: false });
  await v.advance(SECOND);
  // By what the successor knows the third is free; the leader gives it to a node that the successor does not know.
  v.kubernetes.freezeWatches({ user: successor.user, path: '/api/v1/nodes' });
  await register(v, 2);
  await untilAllocated(v, all, 2);
  assert.equal(all.now().get('w2'), '10.244.2.0/24');
  await leader.kill();
  await v.until('w1 has a pod CIDR', () => all.now().has('w1'), 30 * MINUTE);
  await v.advance(MINUTE);
  all.check();
});

it('keeps a block for the node that it may have been written to, however that write ended', async t => {
  const v = virtualApp(t);
  const all = watchAllocations(v.kubernetes, () => '10.244.0.0/23');
  const controller = start(v, { args: ['--cluster-cidr=10.244.0.0/23', '--controllers=node-ipam-controller'] });
  await v.advance(5 * SECOND);
  // No answer in time, but it lands much later; in between the API server refuses what is tried again.
  const path = nodePath('w1');
  const { faults } = v.kubernetes;
  faults.add({ verb: 'patch', path, user: controller.user, fault: { kind: 'late', ms: 50 * SECOND }, times: 1 });
  faults.add({ verb: 'patch', path, user: controller.user, fault: { kind: 'status', code: 503 } });
  await register(v, 1);
  await untilSent(v, controller, 1);
  await v.advance(35 * SECOND);
  for (const i of [2, 3]) await register(v, i);
  await untilAllocated(v, all, 1, 2);
  faults.clear();
  await v.advance(10 * MINUTE);
  all.check();
  assert.deepEqual([...all.now().keys()].sort(), ['w1', 'w2']);
  await deleteNode(v, 'w1');
  await untilAllocated(v, all, 3);
  all.check();
});

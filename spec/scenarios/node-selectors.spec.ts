import assert from 'node:assert/strict';
import { it } from 'node:test';
import { JSON_PATCH } from '../support/kube-client.ts';
import { deleteNode, nodePath, setReady } from '../support/nodes.ts';
import { createService } from '../support/services.ts';
import { type VirtualApp, type VirtualController, virtualApp } from '../support/virtual-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

type Group = 'a' | 'b';

/** An instance that looks after one group of nodes. */
const startFor = (v: VirtualApp, group: Group, args: readonly string[] = []): VirtualController =>
  v.start({ env: { HCLOUD_SERVER_LABEL_SELECTOR: `node-group=${group}` }, args });

const joinGroup = async (v: VirtualApp, i: number, group: Group): Promise<void> => {
  v.addServer(i);
  await v.join(i, { labels: { 'node-group': group } });
};

const relabel = async (v: VirtualApp, i: number, group: Group): Promise<void> => {
  const ops = [{ op: 'add', path: '/metadata/labels/node-group', value: group }];
  await v.client.must('PATCH', nodePath(`w${i}`), ops, JSON_PATCH);
};

const loseServer = (v: VirtualApp, i: number): void =>
  v.hetzner.servers.remove(v.hetzner.servers.byName(`w${i}`)?.id ?? 0);

/** Numbers of the nodes that a user of the Kubernetes API has written to, itself or by an event about it, since then. */
const touchedBy = (v: VirtualApp, { user }: VirtualController, since = 0): number[] => {
  const entries = v.kubernetes.journal.writes().filter(entry => entry.user === user && entry.at >= since);
  const names = entries.flatMap(({ path, body }) => [
    ...[...path.matchAll(/\/nodes\/w(\d+)/g)].map(([, i]) => Number(i)),
    ...[...body.matchAll(/"name":"w(\d+)"/g)].map(([, i]) => Number(i)),
  ]);
  return [...new Set(names)].sort((x, y) => x - y);
};

/** The same of the routes that a user has changed at Hetzner. */
const routedBy = (v: VirtualApp, { user }: VirtualController, since = 0): string[] =>
  v.hetzner.requests.filter(({ at, writer }) => at >= since && writer?.includes(user)).map(({ path }) => path);

it('BUG-009: each of two instances looks after the nodes it selects, and no other is touched in any way', async t => {
  const v = virtualApp(t);
  for (const i of [1, 3]) await joinGroup(v, i, 'a');
  for (const i of [2, 4]) await joinGroup(v, i, 'b');
  const a = startFor(v, 'a');
  for (const i of [1, 3]) await v.untilRouted(i);
  await v.advance(10 * MINUTE);
  assert.deepEqual(v.routes(), ['10.244.1.0/24 10.0.1.1', '10.244.3.0/24 10.0.1.3']);
  assert.deepEqual(touchedBy(v, a), [1, 3]);
  assert.ok(JSON.stringify(v.node('w2')?.spec.taints).includes('uninitialized'));

  const b = startFor(v, 'b');
  for (const i of [2, 4]) await v.untilRouted(i);
  await v.advance(10 * MINUTE);
  assert.deepEqual(
    [touchedBy(v, a), touchedBy(v, b)],
    [
      [1, 3],
      [2, 4],
    ],
  );
  assert.equal(v.routes().length, 4);

  // Somebody else's node without a server: whoever is not in charge leaves it and its route alone.
  loseServer(v, 2);
  await b.kill();
  await setReady(v, 'w2', 'Unknown');
  await v.advance(24 * HOUR);
  assert.ok(v.node('w2') !== undefined);
  assert.equal(v.routes().length, 4);
  assert.deepEqual(touchedBy(v, a), [1, 3]);
  startFor(v, 'b');
  await v.until('w2 is deleted', () => v.node('w2') === undefined && v.routes().length === 3, 10 * MINUTE);
});

it('hands a node over when it is labelled anew, both ways', async t => {
  const v = virtualApp(t);
  await joinGroup(v, 1, 'a');
  await joinGroup(v, 2, 'b');
  await joinGroup(v, 3, 'a');
  const [a, b] = [startFor(v, 'a'), startFor(v, 'b')];
  for (const i of [1, 2, 3]) await v.untilRouted(i);

  for (const [to, from, group] of [
    [b, a, 'b'],
    [a, b, 'a'],
  ] as const) {
    await relabel(v, 1, group);
    await v.advance(MINUTE);
    assert.equal(v.routes().length, 3, 'handing over changes no route');
    const since = v.now();
    // Its server moves: only the one in charge repairs what follows from that.
    const { id } = v.hetzner.servers.byName('w1') ?? { id: 0 };
    v.hetzner.servers.detach(id, v.networkID);
    const ip = group === 'b' ? '10.0.1.51' : '10.0.1.1';
    v.hetzner.servers.attach(id, v.networkID, { ip });
    await v.until('the route follows', () => v.routes().includes(`10.244.1.0/24 ${ip}`), 10 * MINUTE);
    await v.advance(MINUTE);
    assert.deepEqual([touchedBy(v, to, since), touchedBy(v, from, since)], [[1], []]);
    assert.deepEqual(routedBy(v, from, since), []);
  }

  // In the hands of b to its end, with a pass of a in between.
  await relabel(v, 1, 'b');
  await v.advance(MINUTE);
  const since = v.now();
  loseServer(v, 1);
  await setReady(v, 'w1', 'Unknown');
  await v.until('w1 is deleted', () => v.node('w1') === undefined && v.routes().length === 2, 10 * MINUTE);
  assert.deepEqual(routedBy(v, a, since), []);
  assert.ok(touchedBy(v, b, since).includes(1));
});

it('lets two instances live over one cluster for a day with churn and restarts, without a foreign write', async t => {
  const v = virtualApp(t, { networkChanges: 'locked' });
  const groups = new Map<number, Group>();
  const spare = Array.from({ length: 60 }, (_, i) => i + 1);
  const running: Record<Group, VirtualController> = { a: startFor(v, 'a'), b: startFor(v, 'b') };
  const instances: [Group, VirtualController][] = Object.entries(running) as [Group, VirtualController][];
  const random = (() => {
    let state = 7;
    return (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return state % below;
    };
  })();
  const join = async (): Promise<void> => {
    const i = spare.shift() as number;
    const group: Group = random(2) === 0 ? 'a' : 'b';
    groups.set(i, group);
    await joinGroup(v, i, group);
  };
  const restart = async (): Promise<void> => {
    const group: Group = random(2) === 0 ? 'a' : 'b';
    await (random(2) === 0 ? running[group].kill() : running[group].stop());
    running[group] = startFor(v, group);
    instances.push([group, running[group]]);
  };
  const leave = async (): Promise<void> => {
    const living = [...groups.keys()].filter(i => v.node(`w${i}`) !== undefined);
    const i = living[random(living.length)];
    if (i === undefined) return;
    loseServer(v, i);
    if (random(2) === 0) await deleteNode(v, `w${i}`);
    else await setReady(v, `w${i}`, 'Unknown');
  };

  v.startHeartbeats();
  for (let i = 0; i < 12; i++) await join();
  for (let hour = 0; hour < 24; hour++) {
    await v.advance(20 * MINUTE + random(20) * MINUTE);
    await leave();
    await v.advance(random(5) * MINUTE);
    await join();
    if (random(3) === 0) await restart();
  }
  await v.advance(HOUR);
  for (const [group, controller] of instances) {
    const foreign = touchedBy(v, controller).filter(i => groups.get(i) !== group);
    assert.deepEqual(foreign, [], `${controller.user} looks after ${group}`);
    for (const { msg, destination } of controller.lines()) {
      if (typeof destination !== 'string') continue;
      const i = Number(destination.split('.')[2]);
      // What is left behind without a node and without a server is nobody's.
      const isDead = msg === 'Deleted route' && v.node(`w${i}`) === undefined;
      assert.ok(groups.get(i) === group || isDead, `${controller.user}: ${msg} ${destination}`);
    }
    assert.equal(controller.error(), undefined);
  }
  assert.ok(instances.length > 6, `${instances.length} instances were started`);
  const living = [...groups.keys()].filter(i => v.node(`w${i}`) !== undefined);
  assert.equal(living.length, 12);
  assert.deepEqual(v.routes(), living.map(i => `10.244.${i}.0/24 10.0.1.${i}`).sort());
});

it('leaves nodes that two selectors match to the instance that was there first, and says so', async t => {
  const v = virtualApp(t);
  await joinGroup(v, 1, 'a');
  await joinGroup(v, 2, 'b');
  await joinGroup(v, 5, 'a');
  const args = ['--leader-elect=true'];
  const first = startFor(v, 'a', args);
  for (const i of [1, 5]) await v.untilRouted(i, MINUTE);
  const second = v.start({ env: { HCLOUD_NODE_SELECTOR: 'node-group in (a, b)' }, args });
  await v.untilRouted(2, MINUTE);
  loseServer(v, 1);
  await setReady(v, 'w1', 'Unknown');
  await v.until('w1 is deleted', () => v.node('w1') === undefined, 10 * MINUTE);
  assert.deepEqual([touchedBy(v, first), touchedBy(v, second)], [[1, 5], [2]]);
  const said = second.lines().filter(({ level }) => level === 'warn');
  assert.deepEqual(
    said.map(({ msg, count, lease }) => [msg, count, lease]),
    [
      [
        'Left nodes to another instance that was there before',
        2,
        `kube-system/${second.settings.leaderElection.resourceName}`,
      ],
    ],
  );
  assert.match(JSON.stringify(said[0]?.err), /node-group in \(a, b\) matches 2 nodes .*: node-group=a \(lease cloud-/);
  assert.deepEqual(
    first.lines().filter(({ level }) => level === 'warn'),
    [],
  );

  // The first one leaves for good: what was its own is the other's then.
  await joinGroup(v, 3, 'a');
  await v.untilRouted(3, MINUTE);
  assert.ok(touchedBy(v, first).includes(3));
  await first.stop();
  await joinGroup(v, 4, 'a');
  await v.untilRouted(4, 3 * MINUTE);
  assert.ok(touchedBy(v, second).includes(4));
});

it('notices an instance that looks after all nodes, such as one of the peer', async t => {
  const v = virtualApp(t);
  await joinGroup(v, 1, 'a');
  const all = v.start({ args: ['--leader-elect=true'] });
  await v.untilRouted(1, MINUTE);
  const some = startFor(v, 'a', ['--leader-elect=true']);
  await v.advance(2 * MINUTE);
  assert.ok(some.lines().some(({ msg }) => msg === 'Left nodes to another instance that was there before'));
  assert.deepEqual([touchedBy(v, all), touchedBy(v, some)], [[1], []]);
});

it('leaves its nodes to an instance without selector, however late that comes, for it looks out for nobody', async t => {
  const v = virtualApp(t);
  await joinGroup(v, 1, 'a');
  const args = ['--leader-elect=true'];
  const some = startFor(v, 'a', args);
  await v.untilRouted(1, MINUTE);
  await v.advance(10 * MINUTE);
  const all = v.start({ args });
  await v.advance(2 * MINUTE);
  const since = v.now();
  await joinGroup(v, 2, 'a');
  await v.untilRouted(2, MINUTE);
  assert.deepEqual([touchedBy(v, some, since), touchedBy(v, all, since)], [[], [2]]);
  await all.stop();
  await v.advance(2 * MINUTE);
  await joinGroup(v, 3, 'a');
  await v.untilRouted(3, MINUTE);
  assert.ok(touchedBy(v, some).includes(3));
});

it('says that it waits for an instance with another selector where both were given one lease', async t => {
  const v = virtualApp(t);
  await joinGroup(v, 1, 'a');
  const args = ['--leader-elect=true', '--leader-elect-resource-name=shared'];
  const first = startFor(v, 'a', args);
  await v.untilRouted(1, MINUTE);
  const replica = startFor(v, 'a', args);
  const second = startFor(v, 'b', args);
  await v.advance(10 * MINUTE);
  const said = (one: VirtualController) =>
    one.lines().filter(({ msg }) => msg === 'Found the lease with an instance that looks after other nodes').length;
  assert.deepEqual([first, replica, second].map(said), [0, 0, 1]);
});

it('makes its own nodes targets, and leaves the targets that other instances may have added', async t => {
  const v = virtualApp(t);
  for (const i of [1, 2]) await joinGroup(v, i, 'a');
  for (const i of [3, 4]) await joinGroup(v, i, 'b');
  const env = { HCLOUD_SERVER_LABEL_SELECTOR: 'node-group=a', HCLOUD_LOAD_BALANCERS_LOCATION: 'fsn1' };
  v.start({ env });
  startFor(v, 'b', ['--controllers=-service,*']);
  await createService(v, { name: 'web' });
  const targets = (): string[] =>
    (v.hetzner.loadBalancers.list()[0]?.targets ?? [])
      .flatMap(target => (target.type === 'server' ? [v.hetzner.servers.get(target.serverID)?.name ?? ''] : []))
      .sort();
  await v.until('the nodes of a are targets', () => targets().length === 2, 10 * MINUTE);
  assert.deepEqual(targets(), ['w1', 'w2']);
  const { id } = v.hetzner.loadBalancers.list()[0] ?? { id: 0 };
  for (const name of ['w3', 'stranger']) {
    const server = v.hetzner.servers.byName(name) ?? v.hetzner.servers.create({ name });
    v.hetzner.loadBalancers.addTarget(id, { type: 'server', serverID: server.id, usePrivateIP: false });
  }
  await relabel(v, 2, 'b');
  await v.advance(48 * HOUR);
  assert.deepEqual(targets(), ['w1', 'w2', 'w3'], 'a stranger goes, as ever');
  await relabel(v, 4, 'a');
  await v.until('w4 is a target', () => targets().includes('w4'), 10 * MINUTE);
});

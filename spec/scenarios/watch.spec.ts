import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deleteNode, nodePath } from '../support/nodes.ts';
import { routeWrites } from '../support/route-checks.ts';
import { isInitialised } from '../support/scenario.ts';
import { type VirtualApp, type VirtualController, virtualApp } from '../support/virtual-app.ts';

/** What can happen to a watch in minutes; in virtual time. */

const SECOND = 1_000;
const MINUTE = 60_000;

/** A controller that has routed w1 ... w<count>. */
const routedCluster = async (v: VirtualApp, count: number): Promise<VirtualController> => {
  for (let i = 1; i <= count; i++) v.addServer(i);
  for (let i = 1; i <= count; i++) await v.join(i);
  const controller = v.start();
  for (let i = 1; i <= count; i++) await v.untilRouted(i);
  // What the last answers set off ends, too.
  await v.advance(SECOND);
  return controller;
};

/** The controller's own reads of Nodes since `since`. */
const readsOf = (v: VirtualApp, { user }: VirtualController, since: number) => {
  const reads = v.kubernetes.journal
    .all()
    .filter(r => r.at >= since && r.user === user && ['list', 'watch'].includes(r.verb ?? ''))
    .filter(r => r.path.startsWith('/api/v1/nodes'));
  // One object is asked for to see whether the server still has the history; that is no list.
  const lists = reads.filter(r => r.verb === 'list' && !r.path.includes('fieldSelector'));
  return { all: reads, lists: lists.length, watches: reads.filter(r => r.verb === 'watch').length };
};

const nodeWrites = (v: VirtualApp, { user }: VirtualController, since: number) =>
  v.kubernetes.journal.writes().filter(r => r.at >= since && r.user === user && r.path.startsWith('/api/v1/nodes'));

const eventsSeen = async (controller: VirtualController): Promise<number> =>
  Number(/^hcloud_reactive_watch_events_total\{resource="nodes"\} (\d+)$/m.exec(await controller.metrics())?.[1]);

for (const cutting of [false, true]) {
  const how = cutting ? 'each watch is cut after 30 seconds' : 'nobody cuts the watch';
  it(`loses no event of ten minutes with one each ten seconds, and lists no more, when ${how} (BUG-072)`, async t => {
    const v = virtualApp(t);
    const controller = await routedCluster(v, 2);
    const [since, before, runs] = [v.now(), await eventsSeen(controller), controller.runs.length];
    let [labels, cuts] = [0, 0];
    const change = setInterval(() => {
      v.kubernetes.patch(nodePath('w1'), { metadata: { labels: { round: String(labels++) } } });
    }, 10 * SECOND);
    const cut = setInterval(
      () => {
        if (!cutting) return;
        cuts += 1;
        v.kubernetes.cutWatches();
      },
      30 * SECOND + 1,
    );
    await v.advance(10 * MINUTE + 5 * SECOND);
    clearInterval(change);
    clearInterval(cut);
    assert.equal(labels, 60);
    assert.equal((await eventsSeen(controller)) - before, labels);
    assert.equal(controller.runs.length, runs, 'a label concerns nobody');
    const { lists, watches } = readsOf(v, controller, since);
    assert.equal(lists, 0);
    assert.ok(watches <= cuts + 2, `${watches} watches, ${cuts} cut`);
    assert.equal(v.spent(since).writes, 0);
    assert.equal(nodeWrites(v, controller, since).length, 0);
    assert.ok(v.spent(since).all <= 3, `${v.spent(since).all} requests`);
  });
}

it('notices a watch that went silent, and does what it has missed (BUG-073)', async t => {
  const v = virtualApp(t);
  await routedCluster(v, 2);
  v.addServer(3);
  v.startHeartbeats(10 * SECOND);
  await v.advance(10 * MINUTE);
  v.kubernetes.freezeWatches();
  const frozen = v.now();
  await v.join(3);
  await deleteNode(v, 'w2');
  await v.untilRouted(3, 2 * MINUTE);
  await v.until('the route of w2 is gone', () => !v.routes().includes('10.244.2.0/24 10.0.1.2'), 10 * SECOND);
  assert.ok(v.now() - frozen <= 100 * SECOND, `${v.now() - frozen} ms blind`);
});

it('comes back by itself from resets, outages and a 401, with what it knows intact (BUG-074)', async t => {
  const v = virtualApp(t);
  const controller = await routedCluster(v, 3);
  const since = v.now();
  const reads = { user: controller.user, path: '/api/v1/nodes', verb: ['list', 'watch'] } as const;
  const remove = v.kubernetes.faults.add({ ...reads, fault: { kind: 'reset' } });
  v.kubernetes.cutWatches();
  await v.advance(20 * SECOND);
  remove();
  const outage = v.kubernetes.faults.add({ ...reads, fault: { kind: 'status', code: 503 } });
  await v.advance(20 * SECOND);
  outage();
  v.kubernetes.faults.add({ ...reads, fault: { kind: 'status', code: 401 }, times: 1 });
  v.addServer(4);
  await v.join(4);
  await deleteNode(v, 'w1');
  const took = await v.untilRouted(4, 2 * MINUTE);
  assert.ok(took <= 45 * SECOND, `${took} ms`);
  await v.until('the route of w1 is gone', () => v.routes().length === 3, 10 * SECOND);
  assert.equal(controller.error(), undefined);
  assert.equal(v.spent(since).writes, 2);
  assert.equal(v.kubernetes.openWatches(reads).length, 1);
});

it('tries at most once a second while the API is away for two minutes, and then has one watch (BUG-075)', async t => {
  const v = virtualApp(t);
  const controller = await routedCluster(v, 3);
  const since = v.now();
  const away = v.kubernetes.faults.add({ user: controller.user, fault: { kind: 'reset' } });
  v.kubernetes.cutWatches();
  await v.advance(2 * MINUTE);
  away();
  const attempts = readsOf(v, controller, since).all.map(({ at }) => at);
  assert.ok(attempts.length >= 5, `${attempts.length} attempts`);
  for (const [i, at] of attempts.entries()) {
    const before = attempts[i - 1] ?? Number.NEGATIVE_INFINITY;
    assert.ok(at - before >= SECOND, `attempts at ${before - since} and ${at - since} ms`);
  }
  await v.advance(10 * SECOND);
  assert.equal(v.kubernetes.openWatches({ user: controller.user, path: '/api/v1/nodes' }).length, 1);
  assert.ok(readsOf(v, controller, since).lists <= 1);
});

for (const gone of ['event', 'http'] as const) {
  it(`forgets Nodes that were deleted while history was lost, told as ${gone} (BUG-076)`, async t => {
    const v = virtualApp(t);
    const controller = await routedCluster(v, 3);
    for (let round = 0; round < 20; round++) {
      const away = v.kubernetes.faults.add({ user: controller.user, fault: { kind: 'reset' } });
      v.kubernetes.cutWatches();
      await deleteNode(v, 'w2');
      v.kubernetes.compact({ gone });
      await v.advance(3 * SECOND);
      away();
      await v.until('the route of w2 is gone', () => v.routes().length === 2, 20 * SECOND);
      await v.join(2);
      await v.untilRouted(2, 20 * SECOND);
    }
    assert.deepEqual(routeWrites(v), { added: 23, deleted: 20, refused: 0 });
  });
}

it('takes a Node that was replaced in a gap of the watch for another one (BUG-077)', async t => {
  const v = virtualApp(t);
  const controller = await routedCluster(v, 2);
  const before = v.node('w2')?.metadata.uid;
  const away = v.kubernetes.faults.add({ user: controller.user, fault: { kind: 'reset' } });
  v.kubernetes.cutWatches();
  await deleteNode(v, 'w2');
  await v.join(2, { podCIDRs: ['10.244.22.0/24'] });
  await v.advance(5 * SECOND);
  away();
  await v.untilRouted(2, 30 * SECOND);
  const node = v.node('w2');
  assert.ok(node !== undefined && isInitialised(node) && node.metadata.uid !== before);
  await v.until('the old route is gone', () => v.routes().length === 2, 10 * SECOND);
  assert.deepEqual(v.routes(), ['10.244.1.0/24 10.0.1.1', '10.244.22.0/24 10.0.1.2']);
  const initialised = controller.lines().filter(l => l.msg === 'Initialised node' && l.node === 'w2');
  assert.equal(initialised.length, 2);
});

for (const relist of [false, true]) {
  const how = relist ? 'lists again' : 'goes on watching';
  it(`calls nobody when the watch is dropped every 30 seconds and the controller ${how} (BUG-078)`, async t => {
    const v = virtualApp(t);
    const controller = await routedCluster(v, 20);
    const since = v.now();
    const runs = controller.runs.length;
    const drop = setInterval(() => {
      v.kubernetes.cutWatches();
      if (relist) v.kubernetes.compact();
    }, 30 * SECOND);
    // The version of a store that stands still can be compacted but never be too old: something else has to be written.
    const others = setInterval(() => {
      v.kubernetes.patch('/api/v1/namespaces/default', { metadata: { labels: { at: String(v.now()) } } });
    }, SECOND);
    await v.advance(10 * MINUTE);
    clearInterval(drop);
    clearInterval(others);
    const { lists, watches } = readsOf(v, controller, since);
    assert.ok(relist ? lists >= 10 : lists === 0, `${lists} lists`);
    assert.ok(watches >= 15, `${watches} watches`);
    const { all, writes } = v.spent(since);
    assert.equal(writes, 0);
    assert.ok(all <= 3, `${all} requests; the refresh of addresses alone is two`);
    assert.equal(nodeWrites(v, controller, since).length, 0);
    assert.equal(controller.runs.length, runs, 'nothing was looked at');
  });
}

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deleteNode } from '../support/nodes.ts';
import { routeWrites } from '../support/route-checks.ts';
import { networkUnavailable } from '../support/scenario.ts';
import { type VirtualApp, virtualApp } from '../support/virtual-app.ts';

/** Many changes at once, and changes that the API refuses, loses or fails; in virtual time. */

const SECOND = 1_000;
const MINUTE = 60_000;

const addRoute = '/networks/{id}/actions/add_route';
const range = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);

/** A controller that has routed w1; the servers w2 ... w<servers> wait for their nodes. */
const running = async (v: VirtualApp, servers: number) => {
  for (const i of range(1, servers)) v.addServer(i);
  await v.join(1);
  const controller = v.start();
  await v.untilRouted(1);
  return controller;
};

/** How long each node took from its join to its route and to its condition, in ms, sorted. */
const joinTimes = async (v: VirtualApp, joins: () => Promise<void>, nodes: readonly number[], most = 5 * MINUTE) => {
  const from = v.now();
  const routed = new Map<number, number>();
  const marked = new Map<number, number>();
  const joined = new Map<number, number>();
  const look = (): boolean => {
    const routes = new Set(v.routes().map(route => route.split(' ')[0]));
    for (const i of nodes) {
      const node = v.node(`w${i}`);
      if (node === undefined) continue;
      if (!joined.has(i)) joined.set(i, v.now());
      const since = v.now() - (joined.get(i) ?? from);
      if (!routed.has(i) && routes.has(`10.244.${i}.0/24`)) routed.set(i, since);
      if (!marked.has(i) && networkUnavailable(node) === 'False') marked.set(i, since);
    }
    return marked.size === nodes.length && routed.size === nodes.length;
  };
  // What becomes true without a request is seen by looking often.
  const ticks = setInterval(() => {}, 20);
  await Promise.all([joins(), v.until('all nodes are routed', look, most)]);
  clearInterval(ticks);
  const sorted = (times: Map<number, number>) => [...times.values()].sort((a, b) => a - b);
  return { routed: sorted(routed), marked: sorted(marked) };
};

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;

it('routes ten workers that join one every two seconds in at most 13 requests, 24 with polls (BUG-032)', async t => {
  const v = virtualApp(t);
  await running(v, 11);
  const since = v.now();
  const joins = async () => {
    for (const i of range(2, 11)) setTimeout(() => void v.join(i), (i - 2) * 2 * SECOND);
  };
  const { routed, marked } = await joinTimes(v, joins, range(2, 11));
  const { all, polls } = v.spent(since);
  assert.ok(all - polls <= 13 && all <= 24, `${all} requests, ${polls} of them polls`);
  assert.ok(at(routed, 0.5) <= 500 && at(routed, 0.99) <= SECOND, `join to route: ${routed}`);
  assert.ok(at(marked, 0.5) <= SECOND && at(marked, 0.99) <= 2 * SECOND, `join to condition: ${marked}`);
});

it('routes 40 nodes that join within three seconds without a pass per event, and loses none (BUG-033)', async t => {
  const v = virtualApp(t);
  await running(v, 42);
  const since = v.now();
  const joins = async () => {
    for (const i of range(2, 41)) setTimeout(() => void v.join(i), (i - 2) * 75);
  };
  const { routed } = await joinTimes(v, joins, range(2, 41));
  assert.ok(at(routed, 0.99) <= 4 * SECOND, `join to route: ${routed}`);
  const { all, polls } = v.spent(since);
  assert.ok(all - polls <= 43, `${all - polls} requests for 40 routes`);
  assert.ok(polls <= 20, `${polls} polls`);
  // One that comes while the last ones are under way is not lost.
  await v.join(42);
  await v.untilRouted(42, 5 * SECOND);
});

it('routes 99 workers at once side by side within the target', async t => {
  const v = virtualApp(t);
  await running(v, 100);
  const since = v.now();
  const joins = async () => {
    await Promise.all(range(2, 100).map(i => v.join(i)));
  };
  const { routed } = await joinTimes(v, joins, range(2, 100));
  const { all, polls } = v.spent(since);
  assert.ok(all - polls <= 104 && all <= 125, `${all} requests, ${polls} of them polls`);
  assert.ok(at(routed, 0.5) <= 2 * SECOND && at(routed, 0.99) <= 4 * SECOND, `join to route: ${routed}`);
});

for (const networkChanges of ['locked', 'conflict'] as const) {
  it(`routes 20 nodes of a network that answers ${networkChanges} during a change, with a handful refused`, async t => {
    const v = virtualApp(t, { networkChanges });
    await running(v, 21);
    const joins = async () => {
      await Promise.all(range(2, 21).map(i => v.join(i)));
    };
    const { routed } = await joinTimes(v, joins, range(2, 21));
    const { added, refused } = routeWrites(v);
    assert.ok(refused <= 5, `${refused} refused`);
    assert.equal(added, 21 + refused);
    assert.ok(at(routed, 0.99) <= 20 * 700, `join to route: ${routed}`);
    assert.deepEqual(
      v.eventsOf('w2').filter(e => e.type === 'Warning'),
      [],
    );
  });
}

it('routes 99 workers at once within the target where the API locks the network during an action', async t => {
  const v = virtualApp(t, { networkChanges: 'locked' });
  await running(v, 100);
  const since = v.now();
  const joins = async () => {
    await Promise.all(range(2, 100).map(i => v.join(i)));
  };
  const { routed } = await joinTimes(v, joins, range(2, 100));
  const { all, polls } = v.spent(since);
  assert.ok(all - polls <= 106 && all <= 210, `${all} requests, ${polls} of them polls`);
  assert.ok(at(routed, 0.5) <= 30 * SECOND && at(routed, 0.99) <= 60 * SECOND, `join to route: ${routed}`);
});

for (const seconds of [5, 45]) {
  it(`writes all routes soon after a foreign lock of ${seconds} seconds, with at most ten tries each`, async t => {
    const v = virtualApp(t);
    await running(v, 6);
    v.hetzner.networks.lock(v.networkID, seconds * SECOND);
    const unlocked = v.now() + seconds * SECOND;
    for (const i of range(2, 6)) await v.join(i);
    for (const i of range(2, 6)) await v.untilRouted(i);
    assert.ok(v.now() - unlocked <= 10 * SECOND, `${v.now() - unlocked} ms after the unlock`);
    const { added } = routeWrites(v);
    assert.ok(added - 6 <= 10, `${added - 6} refused: changes wait for each other, so all share ten tries`);
    for (const i of range(2, 6))
      assert.deepEqual(
        v.eventsOf(`w${i}`).filter(e => e.type === 'Warning'),
        [],
      );
  });
}

it('says on the Node that the network is full at 100 routes, and recovers when a route goes', async t => {
  const v = virtualApp(t);
  for (const i of range(1, 98)) v.hetzner.networks.addRoute(v.networkID, `192.168.${i}.0/24`, '10.0.0.9');
  const controller = await running(v, 4);
  await v.join(2);
  await v.untilRouted(2);
  await v.join(3);
  await v.until('an event', () => v.eventsOf('w3').some(e => e.reason === 'RouteLimitReached'), 10 * SECOND);
  await v.until('w3 is unavailable', () => networkUnavailable(v.node('w3')) === 'True', 10 * SECOND);
  const metrics = await controller.metrics();
  assert.match(metrics, /^hcloud_reactive_routes\{network="k8s"\} 100$/m);
  assert.match(metrics, /^hcloud_reactive_route_limit\{network="k8s"\} 100$/m);

  const full = v.now();
  await v.advance(60 * MINUTE);
  const tries = v.hetzner.count({ since: full, route: addRoute });
  assert.ok(tries >= 11 && tries <= 13, `${tries} tries in an hour: one every five minutes`);
  await deleteNode(v, 'w2');
  assert.ok((await v.untilRouted(3)) < 5 * SECOND, 'at once after a route of ours went');

  await v.join(4);
  await v.until('an event', () => v.eventsOf('w4').some(e => e.reason === 'RouteLimitReached'), 10 * SECOND);
  v.hetzner.networks.removeRoute(v.networkID, '192.168.1.0/24', '10.0.0.9');
  assert.ok((await v.untilRouted(4)) < 6 * MINUTE, 'soon after somebody else made room');
});

for (const kind of ['lost-after-effect', 'reset-after-effect', 'truncated'] as const) {
  it(`converges without a duplicate when the answer to add_route is ${kind}`, async t => {
    const v = virtualApp(t);
    await running(v, 3);
    v.hetzner.faults.add({ kind, path: addRoute, times: 1 });
    await v.join(2);
    await v.join(3);
    await v.untilRouted(2, MINUTE);
    await v.untilRouted(3, MINUTE);
    assert.deepEqual(
      v.routes(),
      range(1, 3).map(i => `10.244.${i}.0/24 10.0.1.${i}`),
    );
    assert.deepEqual(routeWrites(v), { added: 3, deleted: 0, refused: 0 });
  });
}

it('tries again when the action of a new route fails, and says so on the Node', async t => {
  const v = virtualApp(t);
  await running(v, 3);
  const error = { code: 'action_failed', message: 'could not be done' };
  v.hetzner.faults.add({ kind: 'action', error, path: addRoute, times: 2 });
  await v.join(2);
  await v.until('an event', () => v.eventsOf('w2').some(e => e.message?.includes('could not be done')), MINUTE);
  await v.join(3);
  await v.untilRouted(3, MINUTE);
  await v.untilRouted(2, MINUTE);
  assert.deepEqual(
    v.routes(),
    range(1, 3).map(i => `10.244.${i}.0/24 10.0.1.${i}`),
  );
  assert.equal(routeWrites(v).added, 5);
});

it('tries again when the action that deletes a route fails', async t => {
  const v = virtualApp(t);
  await running(v, 2);
  const error = { code: 'action_failed', message: 'could not be done' };
  v.hetzner.faults.add({ kind: 'action', error, path: '/networks/{id}/actions/delete_route', times: 2 });
  await deleteNode(v, 'w1');
  await v.until('the route is gone', () => v.routes().length === 0, MINUTE);
  assert.equal(routeWrites(v).deleted, 3);
});

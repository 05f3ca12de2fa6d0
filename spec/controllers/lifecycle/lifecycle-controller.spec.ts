import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createInstances } from '../../../lib/controllers/instances.ts';
import { lifecycleController } from '../../../lib/controllers/lifecycle/lifecycle-controller.ts';
import { shutdownTaint } from '../../../lib/controllers/lifecycle/plan.ts';
import { createWitness } from '../../../lib/controllers/witness.ts';
import type { Server } from '../../../lib/hetzner/types.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { hetznerError, virtualClock } from '../../hetzner/support.ts';
import { recordingLogger } from '../../kubernetes/support.ts';
import { nodeAPI } from '../node-api.ts';
import { eventLog, joiningNode, noHooks, project, routedNode, runUntilEnd, server, uninitialized } from '../support.ts';

const second = 1_000;
const minute = 60 * second;

/** The lifecycle controller over a project and an API that are changed by hand, from the moment it leads. */
const lead = async (t: TestContext, servers: readonly Server[], nodes: readonly KubeNode[]) => {
  const hetzner = project(t, servers);
  const { time, state } = hetzner;
  const api = nodeAPI();
  const ready = (name: string, status: string): void =>
    api.patchStatus(name, { conditions: [{ type: 'Ready', status, reason: 'spec' }] });
  for (const object of nodes) {
    api.add(object);
    ready(object.name, 'True');
  }
  const events = eventLog();
  const logger = recordingLogger();
  await hetzner.servers.notBefore(Date.now(), { priority: 'initialise', signal: new AbortController().signal });
  const startedAt = Date.now();
  const instances = createInstances(hetzner.instances, undefined, virtualClock);
  const run$ = lifecycleController({
    nodes: api.store,
    instances,
    witness: createWitness(api.store.list, instances.credentialsSince),
    client: api.client,
    monitorPeriod: 5 * second,
    events,
    clock: virtualClock,
    logger,
    hooks: noHooks,
    backoff: attempt => 1_000 * 2 ** attempt,
  });
  runUntilEnd(t, run$);
  await time.advance(10 * second, second);
  return {
    time,
    api,
    state,
    ready,
    exists: (name: string) => api.get(name) !== undefined,
    /** Without those that Kubernetes itself adds. */
    taints: (name: string) =>
      (api.get(name)?.taints ?? []).map(taint => taint.key).filter(key => !key.startsWith('node.kubernetes.io/')),
    events: events.told,
    deletions: () => api.writes.filter(({ method }) => method === 'DELETE'),
    warnings: () => logger.lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg),
    infos: () => logger.lines.filter(({ level }) => level === 'info').map(({ msg }) => msg),
    /** Seconds from the start at which lists were asked for. */
    lists: () => state.lists.slice(1).map(at => (at - startedAt) / second),
  };
};
const two = [server(1), server(2)];
const nodesOf = (...ids: number[]) => ids.map(id => routedNode(id));

describe('the lifecycle controller', () => {
  it('deletes a node whose server is missing in two lists 5 s apart, with its uid and version, and says so once', async t => {
    const { time, state, ready, exists, deletions, events, infos, warnings, lists, api } = await lead(
      t,
      two,
      nodesOf(1, 2),
    );
    state.servers = [server(2)];
    ready('w1', 'Unknown');
    const { uid, resourceVersion } = api.get('w1') as KubeNode;
    await time.advance(4_900, 100);
    assert.ok(exists('w1'));
    await time.advance(200, 100);
    assert.ok(!exists('w1') && exists('w2'));
    assert.deepEqual(
      deletions().map(({ body }) => (body as { preconditions: unknown }).preconditions),
      [{ uid, resourceVersion }],
    );
    assert.deepEqual(lists(), [10, 15]);
    assert.deepEqual(
      events.map(({ node, reason }) => [node, reason]),
      [['w1', 'DeletingNode']],
    );
    assert.deepEqual([infos(), warnings()], [['Deleted node'], []]);
  });

  it('keeps a node whose server shows up in between, in a list it asked for or in one made for others', async t => {
    const { time, state, ready, exists } = await lead(t, two, nodesOf(1, 2));
    state.servers = [server(2)];
    ready('w1', 'False');
    await time.advance(2 * second, 100);
    state.servers = two;
    // Somebody else's list.
    const o = { priority: 'refresh', signal: new AbortController().signal } as const;
    await time.until(state.read(Date.now(), o));
    state.servers = [server(2)];
    await time.advance(8 * second, 100);
    assert.ok(exists('w1'), 'the first of two answers was contradicted');
    await time.advance(16 * second, 100);
    assert.ok(!exists('w1'));
  });

  it('starts anew when the node was ready for a moment', async t => {
    const { time, state, ready, exists } = await lead(t, two, nodesOf(1, 2));
    state.servers = [server(2)];
    ready('w1', 'False');
    await time.advance(4 * second, 100);
    ready('w1', 'True');
    ready('w1', 'False');
    await time.advance(4 * second, 100);
    assert.ok(exists('w1'));
    await time.advance(8 * second, 100);
    assert.ok(!exists('w1'));
  });

  it('keeps a node that turns ready while the last answer is on its way', async t => {
    const { time, state, ready, exists, deletions } = await lead(t, two, nodesOf(1, 2));
    state.servers = [server(2)];
    state.takes = 500;
    ready('w1', 'False');
    await time.advance(5_300, 100);
    ready('w1', 'True');
    await time.advance(30 * second, 100);
    assert.ok(exists('w1'));
    assert.deepEqual(deletions(), []);
  });

  it('BUG-014: does not delete the successor of the node it decided on', async t => {
    const { time, state, ready, exists, api } = await lead(t, two, nodesOf(1, 2));
    state.servers = [server(2)];
    ready('w1', 'False');
    api.state.before = ({ method }) => {
      if (method !== 'DELETE') return;
      api.state.before = () => {};
      api.state.watching = false;
      api.remove('w1');
      api.add(routedNode(1, { providerID: 'hcloud://3' }));
    };
    await time.advance(6 * second, 100);
    assert.equal(api.get('w1')?.providerID, 'hcloud://3');
    state.servers = [server(2), server(3, { name: 'w1' })];
    api.state.watching = true;
    api.watch();
    await time.advance(5 * minute, second);
    assert.ok(exists('w1'));
  });

  it('BUG-015: neither taints nor deletes while lists fail, and never by lists that hold no server of the cluster', async t => {
    const { time, state, ready, exists, taints, events, warnings, lists } = await lead(t, two, nodesOf(1, 2));
    state.failWith = hetznerError({ status: 500, code: 'server_error' });
    for (const name of ['w1', 'w2']) ready(name, 'Unknown');
    await time.advance(10 * minute, second);
    assert.ok(exists('w1') && exists('w2'));
    state.failWith = undefined;
    state.tokenSince = Date.now();
    state.servers = [server(11), server(12, { name: 'w1', status: 'off' })];
    const before = lists().length;
    await time.advance(180 * minute, second);
    assert.ok(exists('w1') && exists('w2'));
    assert.deepEqual([...taints('w1'), ...taints('w2')], []);
    assert.deepEqual(state.asked, []);
    const held = warnings().filter(msg => msg === 'Kept node, as Hetzner knows no server of this cluster');
    assert.ok(held.length === 6, `${held.length} warnings: one an hour and node`);
    assert.match(events.at(-1)?.message ?? '', /not believed/);
    assert.ok(lists().length - before < 40, `${lists().length - before} lists in three hours`);
  });

  it('deletes the last nodes of a project it knew, after ten minutes, once each server was asked for itself', async t => {
    const { time, state, ready, exists, warnings } = await lead(t, two, nodesOf(1, 2));
    state.servers = [];
    state.existing = [2];
    for (const name of ['w1', 'w2']) ready(name, 'Unknown');
    await time.advance(9 * minute, second);
    assert.ok(exists('w1') && exists('w2'));
    await time.advance(3 * minute, second);
    assert.ok(!exists('w1') && exists('w2'), 'one of the two exists');
    assert.deepEqual(new Set(state.asked), new Set([1, 2]));
    assert.deepEqual(warnings(), ['Kept node, as its server exists though the list lacks it']);
    state.existing = [];
    await time.advance(13 * minute, second);
    assert.ok(!exists('w2'));
  });

  it('BUG-017: taints a node that is off, keeps the taint until it is ready, keeps other taints in order', async t => {
    const taint = { key: 'user', effect: 'NoSchedule' };
    const nodes = [routedNode(1, { taints: [taint] }), routedNode(2)];
    const { time, state, ready, taints, infos } = await lead(t, two, nodes);
    state.servers = [server(1, { status: 'off' }), server(2)];
    await time.advance(minute, second);
    assert.deepEqual(taints('w1'), ['user'], 'not while it is ready');
    ready('w1', 'Unknown');
    await time.advance(6 * second, second);
    assert.deepEqual(taints('w1'), ['user', shutdownTaint.key]);
    for (const status of ['starting', 'running']) {
      state.servers = [server(1, { status }), server(2)];
      await time.advance(2 * minute, second);
      assert.deepEqual(taints('w1'), ['user', shutdownTaint.key]);
    }
    ready('w1', 'True');
    await time.advance(second, second);
    assert.deepEqual(taints('w1'), ['user']);
    assert.deepEqual(infos(), ['Tainted node as shut down', 'Removed shutdown taint']);
  });

  it('BUG-019: deletes a node without provider ID only when it waits for its initialisation, after ten minutes, a minute and a warning', async t => {
    const joined = joiningNode('w9');
    const lived = routedNode(8, { providerID: '' });
    const { time, ready, exists, events } = await lead(t, two, [...nodesOf(1, 2), joined, lived]);
    ready('w9', 'False');
    ready('w8', 'False');
    // The list of the first look is one minute older than the second.
    await time.advance(10 * minute - 10 * second + 59 * second, second);
    assert.ok(exists('w9'));
    assert.deepEqual(
      events.map(({ node, type, reason }) => [node, type, reason]),
      [['w9', 'Warning', 'PossibleNodeDeletion']],
    );
    await time.advance(10 * second, second);
    assert.ok(!exists('w9'));
    await time.advance(60 * minute, second);
    assert.ok(exists('w8'), 'nobody knows whose node it is');
  });

  it('BUG-012, BUG-013: leaves foreign nodes alone without a request, with one warning and event an hour each', async t => {
    const foreign = [
      'k3s://a',
      'talos://hcloud/10.0.0.71',
      'hrobot://321',
      'hcloud://bm-321',
      'hcloud://',
      'hcloud://x',
    ];
    const nodes = foreign.map((providerID, i) => routedNode(i + 1, { providerID }));
    const { time, api, ready, exists, events, warnings, lists } = await lead(t, two, nodes);
    for (const { name } of nodes) ready(name, 'False');
    await time.advance(second, second);
    // The taint that follows the condition, and a node that flaps.
    for (const { name } of nodes) api.patch(name, { spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] } });
    for (const status of ['True', 'Unknown']) {
      for (const { name } of nodes) ready(name, status);
      await time.advance(5 * minute, second);
    }
    assert.deepEqual(lists(), []);
    assert.equal(events.length, nodes.length);
    assert.deepEqual(warnings(), Array(nodes.length).fill('Left node alone'));
    await time.advance(60 * minute, 10 * second);
    assert.equal(warnings().length, 2 * nodes.length);
    assert.ok(nodes.every(({ name }) => exists(name)));
    assert.deepEqual(api.writes, []);
  });

  it('says nothing of foreign nodes that wait for their initialisation: the node controller does', async t => {
    const waiting = routedNode(1, { providerID: 'k3s://a', taints: [uninitialized] });
    const { time, ready, warnings } = await lead(t, two, [waiting]);
    ready('w1', 'False');
    await time.advance(minute, second);
    assert.deepEqual(warnings(), []);
  });

  it('looks after 10 s at first, ever more rarely later, at most once a minute', async t => {
    const { time, ready, lists } = await lead(t, two, nodesOf(1, 2));
    ready('w1', 'False');
    await time.advance(10 * minute, second);
    const gaps = lists().map((at, i, all) => at - (all[i - 1] ?? 10));
    assert.ok(lists().length <= 14, lists().join());
    assert.deepEqual(
      gaps.slice(1).every((gap, i) => gap >= 10 && gap <= 61 && (i === 0 || gap >= (gaps[i] as number) - 1)),
      true,
      gaps.join(),
    );
  });

  it('shares one list among nodes that turn not ready within the monitor period', async t => {
    const ids = Array.from({ length: 20 }, (_, i) => i + 1);
    const { time, ready, lists } = await lead(
      t,
      ids.map(id => server(id)),
      nodesOf(...ids),
    );
    for (const id of ids) {
      ready(`w${id}`, 'False');
      await time.advance(400, 100);
    }
    await time.advance(2 * second, 100);
    assert.deepEqual(lists(), [10, 15, 20].slice(0, lists().length));
  });
});

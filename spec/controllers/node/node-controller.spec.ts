import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createInstances } from '../../../lib/controllers/instances.ts';
import { nodeController } from '../../../lib/controllers/node/node-controller.ts';
import { isUninitialized } from '../../../lib/controllers/node/plan.ts';
import { createWitness } from '../../../lib/controllers/witness.ts';
import type { Server } from '../../../lib/hetzner/types.ts';
import { KubeError } from '../../../lib/kubernetes/errors.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { hetznerError, virtualClock } from '../../hetzner/support.ts';
import { node, recordingLogger } from '../../kubernetes/support.ts';
import { nodeAPI } from '../node-api.ts';
import { eventLog, joiningNode, networkID, noHooks, project, runUntilEnd, server } from '../support.ts';

interface World {
  readonly servers?: readonly Server[];
  readonly nodes?: readonly KubeNode[];
  readonly refreshEvery?: number;
}

const nodeIP = (ip: string) => ({ annotations: { 'alpha.kubernetes.io/provided-node-ip': ip } });

/** The node controller over a project and an API that are changed by hand, from the moment it leads. */
const lead = async (t: TestContext, world: World = {}) => {
  const hetzner = project(t, world.servers);
  const { time, state } = hetzner;
  const api = nodeAPI();
  for (const object of world.nodes ?? []) api.add(object);
  const events = eventLog();
  const logger = recordingLogger();
  const initialised: string[] = [];
  // What the term starts with.
  await hetzner.servers.notBefore(Date.now(), { priority: 'initialise', signal: new AbortController().signal });
  const startedAt = Date.now();
  const instances = createInstances(hetzner.instances, undefined, virtualClock);
  const run$ = nodeController({
    nodes: api.store,
    instances,
    witness: createWitness(api.store.list, instances.credentialsSince),
    client: api.client,
    settings: { family: 'ipv4', zoneLabelEnabled: true, forwardInternalIPs: false, networkID },
    maxAge: 10_000,
    concurrency: 10,
    refreshEvery: world.refreshEvery ?? 300_000,
    events,
    clock: virtualClock,
    logger,
    hooks: { ...noHooks, onInitialised: ({ name }) => initialised.push(name) },
    backoff: attempt => 1_000 * 2 ** attempt,
  });
  const subscription = runUntilEnd(t, run$);
  await time.settle();
  return {
    time,
    api,
    state,
    initialised,
    events: events.told,
    lines: (level: string) => logger.lines.filter(line => line.level === level),
    /** ms to the next try after each failure. */
    retries: () =>
      logger.lines.filter(line => line.msg === 'Failed to reconcile, will try again').map(line => line.fields.after),
    subscription,
    /** Seconds from the start at which lists were asked for, without the one of the first contact. */
    lists: () => state.lists.slice(1).map(at => (at - startedAt) / 1_000),
    get: (name: string): KubeNode => {
      const found = api.get(name);
      assert.ok(found !== undefined, `no node ${name}`);
      return found;
    },
  };
};

describe('the node controller', () => {
  it('initialises a node: addresses, then provider ID, labels and the taint in one write, in one line', async t => {
    const { time, api, get, lines, events, initialised, lists } = await lead(t, { servers: [server(1)] });
    api.add(joiningNode('w1', nodeIP('10.0.1.1')));
    await time.advance(100, 10);
    const w1 = get('w1');
    assert.equal(isUninitialized(w1), false);
    assert.equal(w1.providerID, 'hcloud://1');
    assert.deepEqual(
      w1.addresses.map(a => a.address),
      ['10.0.1.1', 'w1', '203.0.113.1'],
    );
    assert.deepEqual(
      api.writes.map(write => write.path),
      ['/api/v1/nodes/w1/status', '/api/v1/nodes/w1'],
    );
    assert.deepEqual(
      lines('info').map(line => line.msg),
      ['Noticed uninitialised node', 'Initialised node'],
    );
    assert.equal(lines('info')[1]?.fields.serverID, 1);
    assert.deepEqual(
      events.map(e => [e.node, e.type, e.reason]),
      [['w1', 'Normal', 'Synced']],
    );
    assert.deepEqual(initialised, ['w1']);
    assert.deepEqual(lists(), []);
  });

  it('writes each node once, however late the watch brings its own writes', async t => {
    const { time, api, get } = await lead(t, { servers: [server(1)], refreshEvery: 1_000 });
    api.add(joiningNode('w1'));
    api.state.watching = false;
    await time.advance(30_000, 100);
    assert.equal(api.writes.length, 2);
    assert.equal(isUninitialized(get('w1')), false);
    api.watch();
    await time.advance(30_000, 100);
    assert.equal(api.writes.length, 2);
  });

  it('ties a node that had to wait for long to the server that has its name by then (BUG-008)', async t => {
    const { time, api, state, get, lists } = await lead(t, { servers: [server(1)] });
    api.state.before = ({ method }) => {
      if (method === 'PATCH') throw new KubeError({ status: 500, reason: 'InternalError', message: 'not now' });
    };
    api.add(joiningNode('w1'));
    await time.advance(30_000, 100);
    state.servers = [server(2, { name: 'w1' })];
    await time.advance(60_000, 100);
    api.state.before = () => {};
    await time.advance(120_000, 100);
    assert.equal(get('w1').providerID, 'hcloud://2');
    assert.ok(lists().length <= 3, `lists at ${lists().join()}`);
  });

  it('makes one list for all that join within 10 s', async t => {
    const servers = Array.from({ length: 60 }, (_, i) => server(i + 1));
    const { time, api, get, lists } = await lead(t, { servers });
    await time.advance(60_000, 1_000);
    for (let id = 1; id <= 60; id += 1) {
      api.add(joiningNode(`w${id}`));
      await time.advance(500, 100);
    }
    await time.advance(1_000, 100);
    for (let id = 1; id <= 60; id += 1) assert.equal(get(`w${id}`).providerID, `hcloud://${id}`);
    assert.deepEqual(lists(), [60, 70.5, 81]);
  });

  it('waits for a server that has no name yet, tells the user on the node, and finds it within a minute (BUG-002)', async t => {
    const { time, api, state, get, events, lines, lists } = await lead(t, { servers: [server(1)] });
    api.add(joiningNode('w1.example.internal'));
    await time.advance(150_000, 100);
    assert.deepEqual(lists(), [10, 30, 70, 130]);
    assert.equal(isUninitialized(get('w1.example.internal')), true);
    assert.deepEqual(
      events.map(e => [e.node, e.type, e.reason]),
      [['w1.example.internal', 'Warning', 'InstanceNotFound']],
    );
    assert.match(events[0]?.message ?? '', /no server named w1\.example\.internal exists/);
    assert.equal(lines('warn').length, 1);
    assert.deepEqual(api.writes, []);
    state.servers = [server(1, { name: 'w1.example.internal' })];
    await time.advance(60_000, 100);
    assert.equal(get('w1.example.internal').providerID, 'hcloud://1');
    await time.advance(80_000, 100);
    assert.deepEqual(lists(), [10, 30, 70, 130, 190]);
  });

  it('makes at most two lists in 10 s however many join and wait, and tells of each node what a newer list says', async t => {
    const { time, api, lists, events } = await lead(t, {});
    for (let i = 0; i < 100; i += 1) {
      api.add(joiningNode(`w${i}`));
      await time.advance(600, 100);
    }
    await time.advance(20_000, 100);
    const all = [0, ...lists()];
    for (const at of all) {
      const near = all.filter(other => other >= at && other < at + 9.9);
      assert.ok(near.length <= 2, `lists at ${all.join()}`);
    }
    assert.equal(new Set(events.map(event => event.node)).size, 100);
    assert.equal(events.length, 100);
  });

  it('asks once more before it says that a server is missing from a list that is older than the node', async t => {
    const { time, api, state, get, lists, events } = await lead(t, { servers: [] });
    await time.advance(3_000, 100);
    state.servers = [server(1)];
    api.add(joiningNode('w1'));
    await time.advance(100, 10);
    assert.equal(get('w1').providerID, 'hcloud://1');
    assert.deepEqual(lists(), [3]);
    assert.deepEqual(
      events.map(event => event.reason),
      ['Synced'],
    );
  });

  it('initialises with the announced address once it is offered, and says what is missing until then (BUG-003)', async t => {
    const bare = server(1, { privateNets: [] });
    const { time, api, state, get, events } = await lead(t, { servers: [bare] });
    api.add(joiningNode('w1', nodeIP('10.0.1.1')));
    await time.advance(5_000, 100);
    assert.deepEqual(
      events.map(e => e.reason),
      ['ProvidedNodeIPMismatch'],
    );
    assert.match(
      events[0]?.message ?? '',
      /10\.0\.1\.1.*offers.*203\.0\.113\.1.*not attached to the network of HCLOUD_NETWORK, 7/,
    );
    assert.deepEqual(api.writes, []);
    state.servers = [server(1)];
    await time.advance(6_000, 100);
    assert.equal(get('w1').providerID, 'hcloud://1');
  });

  it('speaks of a problem that stays once an hour, also over restarts of the watch', async t => {
    const { time, api, events } = await lead(t, { nodes: [joiningNode('w1')] });
    await time.advance(3_500_000, 5_000);
    assert.equal(events.length, 1);
    api.patch('w1', { metadata: { labels: { a: 'b' } } });
    await time.advance(3_600_000, 5_000);
    assert.equal(events.length, 2);
  });

  it('ties a name that was another Node before only to a server of a newer list (BUG-008)', async t => {
    const old = server(1, { name: 'w1' });
    const { time, api, state, get, lists } = await lead(t, { servers: [old], nodes: [joiningNode('w1')] });
    await time.advance(1_000, 100);
    assert.equal(get('w1').providerID, 'hcloud://1');
    state.servers = [server(2, { name: 'w1' })];
    api.remove('w1');
    api.add(joiningNode('w1'));
    await time.advance(1_000, 100);
    assert.equal(get('w1').providerID, 'hcloud://2');
    assert.deepEqual(lists(), [1]);
  });

  it('gives a successor without taint no address of its predecessor either (BUG-008)', async t => {
    const labels = { 'beta.kubernetes.io/instance-type': 'cpx31' };
    const { time, api, state, get } = await lead(t, { servers: [server(1)], nodes: [node('w1')] });
    await time.advance(1_000, 100);
    assert.equal(get('w1').addresses[1]?.address, '203.0.113.1');
    state.servers = [server(2, { name: 'w1' })];
    api.remove('w1');
    api.add(node('w1', { labels }));
    await time.advance(1_000, 100);
    assert.deepEqual(
      get('w1').addresses.map(a => a.address),
      ['w1', '203.0.113.2', '10.0.1.2'],
    );
    assert.equal(get('w1').providerID, '');
  });

  it('binds nothing by a list that failed, and takes an outage for no news about servers (BUG-015)', async t => {
    const { time, api, state, get, events } = await lead(t, { servers: [server(1)] });
    await time.advance(60_000, 1_000);
    state.failWith = hetznerError();
    api.add(joiningNode('w1'));
    await time.advance(20_000, 100);
    assert.deepEqual(events, []);
    assert.deepEqual(api.writes, []);
    state.failWith = undefined;
    await time.advance(60_000, 100);
    assert.equal(get('w1').providerID, 'hcloud://1');
  });

  for (const providerID of ['k3s://w1', 'hrobot://321', 'hcloud://bm-321', 'hcloud://w1']) {
    it(`leaves a node of ${providerID} alone, and says so at most once an hour (BUG-012, BUG-013)`, async t => {
      const nodes = [joiningNode('w1', { providerID }), node('w2', { providerID })];
      const { time, api, events, lists } = await lead(t, { servers: [server(1), server(2), server(321)], nodes });
      await time.advance(3_010_000, 5_000);
      assert.deepEqual(api.writes, []);
      assert.deepEqual(
        events.map(e => [e.node, e.reason]),
        [['w1', 'UnknownProviderIDPrefix']],
      );
      assert.equal(lists().length, 10);
    });
  }

  it('stops looking for the server of a node that turned out to be of another provider', async t => {
    const { time, api, lists } = await lead(t, { nodes: [joiningNode('w1')], refreshEvery: 100_000_000 });
    await time.advance(15_000, 100);
    assert.deepEqual(lists(), [10]);
    api.patch('w1', { spec: { providerID: 'k3s://w1' } });
    await time.advance(600_000, 1_000);
    assert.deepEqual(lists(), [10]);
  });

  it('stops looking for the server of a node that is on its way out', async t => {
    const { time, api, lists } = await lead(t, { nodes: [joiningNode('w1')], refreshEvery: 100_000_000 });
    await time.advance(15_000, 100);
    const [w1] = api.store.list();
    assert.ok(w1 !== undefined);
    api.store.apply({ ...w1, resourceVersion: '99999', deleting: true }, 0);
    await time.advance(600_000, 1_000);
    assert.deepEqual(lists(), [10]);
  });

  it('brings label pairs of any initialised node in step, without a server', async t => {
    const labels = { 'beta.kubernetes.io/instance-type': 'a' };
    const nodes = [node('w1', { labels, providerID: 'k3s://w1' }), node('w2', { labels, providerID: 'hcloud://99' })];
    const { time, get, lines, api } = await lead(t, { nodes });
    await time.advance(1_000, 100);
    for (const name of ['w1', 'w2']) assert.equal(get(name).labels['node.kubernetes.io/instance-type'], 'a');
    assert.equal(api.writes.length, 2);
    assert.deepEqual(
      lines('info').map(line => line.msg),
      ['Updated node labels', 'Updated node labels'],
    );
  });

  it('follows a server that got another address, once it is seen in a list made for any reason', async t => {
    const nodes = [joiningNode('w1'), joiningNode('w2')];
    const { time, api, state, get, lines } = await lead(t, { servers: [server(1), server(2)], nodes });
    await time.advance(1_000, 100);
    const before = api.writes.length;
    state.servers = [server(1, { ipv4: '203.0.113.99' }), server(2)];
    await time.advance(300_000, 1_000);
    assert.ok(get('w1').addresses.some(a => a.address === '203.0.113.99'));
    assert.equal(api.writes.length, before + 1);
    assert.equal(lines('info').filter(line => line.msg === 'Updated node addresses').length, 1);
  });

  it('does nothing in the steady state but one list each refresh, and none for heartbeats (BUG-005, BUG-032)', async t => {
    const { time, api, lists } = await lead(t, { servers: [server(1)], nodes: [joiningNode('w1')] });
    await time.advance(1_000, 100);
    const before = api.writes.length;
    for (let i = 0; i < 360; i += 1) {
      api.patchStatus('w1', { conditions: [{ type: 'Ready', status: 'True', reason: `beat${i % 2}` }] });
      await time.advance(10_000, 1_000);
    }
    assert.equal(api.writes.length, before);
    assert.equal(lists().length, 12);
  });

  it('tries again soon when somebody else wrote the node at the same moment', async t => {
    const { time, api, get, lines, retries } = await lead(t, { servers: [server(1)] });
    let refusals = 3;
    api.state.before = ({ method }) => {
      if (method !== 'GET' && refusals-- > 0)
        throw new KubeError({ status: 409, reason: 'Conflict', message: 'changed' });
    };
    api.add(joiningNode('w1'));
    await time.advance(1_000, 50);
    assert.equal(get('w1').providerID, 'hcloud://1');
    assert.deepEqual(retries(), [200, 200, 200]);
    assert.deepEqual(lines('warn'), []);
  });

  it('backs off when the API server goes on refusing', async t => {
    const { time, api, retries } = await lead(t, { servers: [server(1)] });
    api.state.before = () => {
      throw new KubeError({ status: 409, reason: 'Conflict', message: 'changed' });
    };
    api.add(joiningNode('w1'));
    await time.advance(200_000, 100);
    assert.deepEqual(retries().slice(0, 7), [200, 200, 200, 200, 200, 32_000, 64_000]);
  });

  it('takes a node that went meanwhile for settled', async t => {
    const { time, api, lines } = await lead(t, { servers: [server(1)] });
    api.state.before = () => {
      throw new KubeError({ status: 404, reason: 'NotFound', message: 'gone' });
    };
    api.add(joiningNode('w1'));
    api.add(node('w2', { providerID: 'k3s://w2', labels: { 'beta.kubernetes.io/instance-type': 'a' } }));
    await time.advance(10_000, 100);
    assert.equal(api.writes.length, 2);
    assert.deepEqual(lines('warn'), []);
  });

  it('leaves nodes alone that are being deleted', async t => {
    const { time, api } = await lead(t, { servers: [server(1)] });
    api.state.watching = false;
    const joined = api.add(joiningNode('w1'));
    api.store.apply({ ...joined, deleting: true }, 0);
    await time.advance(60_000, 1_000);
    assert.deepEqual(api.writes, []);
  });

  it('keeps a label value that was set before, and warns of it once (BUG-011)', async t => {
    const labels = { 'instance.hetzner.cloud/provided-by': 'robot' };
    const { time, get, lines } = await lead(t, { servers: [server(1)], nodes: [joiningNode('w1', { labels })] });
    await time.advance(1_000, 100);
    assert.equal(get('w1').labels['instance.hetzner.cloud/provided-by'], 'robot');
    assert.deepEqual(
      lines('warn').map(line => [line.msg, line.fields.labels]),
      [['Kept label that was set before', 'instance.hetzner.cloud/provided-by']],
    );
  });

  it('does nothing any more when the term ends', async t => {
    const { time, api, state, subscription, lists } = await lead(t, { nodes: [joiningNode('w1')] });
    await time.advance(1_000, 100);
    subscription.unsubscribe();
    state.servers = [server(1)];
    api.add(joiningNode('w2'));
    await time.advance(600_000, 5_000);
    assert.deepEqual(lists(), []);
    assert.deepEqual(api.writes, []);
  });
});

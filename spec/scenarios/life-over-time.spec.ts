import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createFakeHetzner } from '../../lib/simulator/hetzner/fake.ts';
import { createNode, nodePath, setReady } from '../support/nodes.ts';
import { type VirtualApp, virtualApp } from '../support/virtual-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const SHUTDOWN = 'node.cloudprovider.kubernetes.io/shutdown';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const taintsOf = (v: VirtualApp, name: string): string[] =>
  ((v.node(name)?.spec.taints ?? []) as { key: string }[]).map(({ key }) => key);
const removeServer = (v: VirtualApp, name: string): void =>
  v.hetzner.servers.remove(v.hetzner.servers.byName(name)?.id ?? 0);
const fresh = 'another-token-of-64-characters'.padEnd(64, 'x');

/** Nodes 1 to `count`, routed and quiet for a minute. */
const settled = async (v: VirtualApp, count: number, options: Parameters<VirtualApp['start']>[0] = {}) => {
  for (const i of range(count)) {
    v.addServer(i);
    await v.join(i);
  }
  const controller = v.start(options);
  for (const i of range(count)) await v.untilRouted(i);
  await v.advance(MINUTE);
  return controller;
};

for (const [minutes, most] of [
  [2, 5],
  [6, 10],
] as const) {
  it(`BUG-067: one node NotReady for ${minutes} minutes with a running server costs at most ${most} requests`, async t => {
    const v = virtualApp(t);
    await settled(v, 3);
    const since = v.now();
    await setReady(v, 'w1', 'Unknown', since);
    await v.advance(minutes * MINUTE);
    const { all } = v.spent(since);
    assert.ok(all >= 2 && all <= most, JSON.stringify(v.hetzner.counts({ since })));
    assert.deepEqual(taintsOf(v, 'w1'), ['node.kubernetes.io/unreachable']);
  });
}

it('BUG-020: fifty servers switched off at once cost three lists in a minute, and all nodes are tainted within 10 s', async t => {
  const v = virtualApp(t);
  await settled(v, 50);
  for (const { id } of v.hetzner.servers.list()) v.hetzner.servers.setStatus(id, 'off');
  const since = v.now();
  for (const i of range(50)) await setReady(v, `w${i}`, 'Unknown', since);
  await v.until('all are tainted', () => range(50).every(i => taintsOf(v, `w${i}`).includes(SHUTDOWN)), MINUTE);
  const took = v.now() - since;
  assert.ok(took <= 10 * SECOND, `${took} ms`);
  await v.advance(MINUTE - took);
  assert.deepEqual(v.hetzner.counts({ since }), { 'GET /servers': v.spent(since).all });
  assert.ok(v.spent(since).all <= 3, `${v.spent(since).all} lists`);
});

it('BUG-012, BUG-013: twenty foreign nodes that are not ready cost no request and twenty warnings, and stay as they are', async t => {
  const v = virtualApp(t);
  const controller = v.start({ args: ['--node-status-update-frequency=1h'] });
  await v.advance(MINUTE);
  const foreign = range(20).map(i => ({ name: `edge${i}`, providerID: `talos://hcloud/10.0.0.${i}` }));
  foreign[0] = { name: 'edge1', providerID: 'hrobot://321' };
  foreign[1] = { name: 'edge2', providerID: 'k3s://edge2' };
  const since = v.now();
  for (const node of foreign) await createNode(v, { ...node, taint: false, ready: false });
  const before = foreign.map(({ name }) => v.node(name)?.metadata.resourceVersion);
  await v.advance(10 * MINUTE);
  for (const { name } of foreign.slice(0, 10)) await setReady(v, name, 'Unknown', v.now());
  await v.advance(10 * MINUTE);
  assert.deepEqual(v.spent(since).all, 0);
  assert.equal(controller.lines().filter(({ level }) => level === 'warn').length, 20);
  for (const { name } of foreign) {
    const events = v.eventsOf(name);
    assert.deepEqual(
      events.map(({ type, reason, count }) => [type, reason, count]),
      [['Warning', 'UnknownProviderIDPrefix', 1]],
    );
  }
  assert.match(v.eventsOf('edge1')[0]?.message ?? '', /Robot support is not enabled/);
  const after = foreign.map(({ name }) => v.node(name)?.metadata.resourceVersion);
  assert.deepEqual(after.slice(10), before.slice(10), 'nothing was written to them');
});

it('two hundred nodes that lost their servers are gone within seconds, by a few shared lists', async t => {
  const v = virtualApp(t);
  await settled(v, 1);
  for (const i of range(200)) {
    await createNode(v, { name: `x${i}`, providerID: `hcloud://${7_000 + i}`, taint: false, ready: false });
  }
  const since = v.now();
  await v.until('all are gone', () => range(200).every(i => v.node(`x${i}`) === undefined), MINUTE);
  const lists = v.spent(since).all;
  assert.ok(lists <= 4 && v.now() - since <= 15 * SECOND, `${lists} lists, ${v.now() - since} ms`);
});

it('two hundred nodes without a server of their name cost a list in 10 s at first, one a minute later, and go only after ten minutes', async t => {
  const v = virtualApp(t);
  await settled(v, 1);
  const since = v.now();
  for (const i of range(200)) await createNode(v, { name: `x${i}`, ready: false });
  await v.advance(9 * MINUTE);
  const early = v.hetzner.requests.filter(({ at }) => at >= since && at < since + 2 * MINUTE).length;
  const later = v.hetzner.requests.filter(({ at }) => at >= since + 2 * MINUTE).length;
  assert.ok(early <= 12, `${early} in the first two minutes`);
  assert.ok(later <= 9, `${later} in seven minutes`);
  assert.ok(range(200).every(i => v.node(`x${i}`) !== undefined));
  await v.advance(5 * MINUTE);
  assert.ok(range(200).every(i => v.node(`x${i}`) === undefined));
});

it('a deleted server takes its node along within 10 s, and its route', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 3);
  removeServer(v, 'w2');
  const since = v.now();
  await setReady(v, 'w2', 'Unknown', since);
  const took = await v.until('the node is gone', () => v.node('w2') === undefined);
  assert.ok(took >= 5 * SECOND && took <= 10 * SECOND, `${took} ms: the second look comes 5 s after the first`);
  const route = await v.until('the route is gone', () => v.routes().every(r => !r.startsWith('10.244.2.')), MINUTE);
  assert.ok(took + route <= 12 * SECOND, `${took + route} ms`);
  assert.ok(v.spent(since).all <= 6, JSON.stringify(v.hetzner.counts({ since })));
  const told = controller.lines().filter(({ node, controller: by }) => node === 'w2' && by === 'lifecycle');
  assert.deepEqual(
    told.map(({ level, msg }) => [level, msg]),
    [['info', 'Deleted node']],
  );
  assert.deepEqual(
    v
      .eventsOf('w2')
      .map(({ reason }) => reason)
      .filter(r => r === 'DeletingNode'),
    ['DeletingNode'],
  );
});

it('BUG-014: a node that is replaced under its name in the moment of the decision is left alone', async t => {
  const v = virtualApp(t);
  await settled(v, 2);
  removeServer(v, 'w1');
  await setReady(v, 'w1', 'Unknown', v.now());
  const old = v.node('w1')?.metadata.uid;
  v.kubernetes.faults.add({ verb: 'delete', path: nodePath('w1'), fault: { kind: 'delay', ms: 500 }, times: 1 });
  const asked = (): boolean =>
    v.kubernetes.journal.writes().some(({ method, path }) => method === 'DELETE' && path === nodePath('w1'));
  await v.until('the deletion is under way', asked);
  await v.client.must('DELETE', nodePath('w1'));
  const id = v.addServer(1);
  await v.join(1);
  await v.untilRouted(1);
  await v.advance(5 * MINUTE);
  assert.notEqual(v.node('w1')?.metadata.uid, old);
  assert.equal(v.node('w1')?.spec.providerID, `hcloud://${id}`);
});

const troubles = {
  'a 500': { kind: 'error', status: 500, code: 'server_error' },
  'a 503': { kind: 'html', status: 503 },
  'a 401': { kind: 'error', status: 401, code: 'unauthorized' },
  'a 403': { kind: 'error', status: 403, code: 'forbidden' },
  'a 404': { kind: 'error', status: 404, code: 'not_found' },
  'a 429': { kind: 'error', status: 429, code: 'rate_limit_exceeded' },
  silence: { kind: 'hang' },
  'a cut connection': { kind: 'reset' },
  'half an answer': { kind: 'truncated' },
  'an empty page': {
    kind: 'rewrite',
    body: () => ({ servers: [], meta: { pagination: { page: 1, next_page: null } } }),
  },
  'an answer without servers': { kind: 'rewrite', body: () => ({}) },
} as const;

for (const [what, fault] of Object.entries(troubles)) {
  it(`BUG-015: no node is deleted or tainted while each list of servers gives ${what}`, async t => {
    const v = virtualApp(t);
    await settled(v, 60);
    v.hetzner.servers.setStatus(v.hetzner.servers.byName('w3')?.id ?? 0, 'off');
    const { remove } = v.hetzner.faults.add({ ...fault, path: '/servers' });
    for (const i of [1, 2, 3, 60]) await setReady(v, `w${i}`, 'Unknown', v.now());
    await v.advance(HOUR);
    for (const i of range(60)) assert.ok(v.node(`w${i}`) !== undefined, `w${i}`);
    assert.deepEqual(
      taintsOf(v, 'w3').filter(key => key === SHUTDOWN),
      [],
    );
    remove();
    await v.until('w3 is tainted', () => taintsOf(v, 'w3').includes(SHUTDOWN), 11 * MINUTE);
    for (const i of [1, 2, 60]) assert.ok(!taintsOf(v, `w${i}`).includes(SHUTDOWN));
  });
}

for (const [what, fault] of Object.entries({
  fails: { kind: 'error', status: 500, code: 'server_error' },
  'is empty': {
    kind: 'rewrite',
    body: () => ({ servers: [], meta: { pagination: { page: 2, next_page: null, total_entries: 60 } } }),
  },
} as const)) {
  it(`BUG-015: a list whose second page ${what} is thrown away as a whole`, async t => {
    const v = virtualApp(t);
    await settled(v, 60);
    v.hetzner.faults.add({ ...fault, path: '/servers', when: ({ query }) => query.get('page') === '2' });
    for (const i of [1, 60]) await setReady(v, `w${i}`, 'Unknown', v.now());
    await v.advance(30 * MINUTE);
    for (const i of range(60)) assert.ok(v.node(`w${i}`) !== undefined, `w${i}`);
  });
}

it('BUG-016: a server that vanishes between two looks takes its node along without an error', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 2);
  v.hetzner.servers.setStatus(v.hetzner.servers.byName('w1')?.id ?? 0, 'off');
  await setReady(v, 'w1', 'Unknown', v.now());
  await v.until('it is tainted', () => taintsOf(v, 'w1').includes(SHUTDOWN), MINUTE);
  removeServer(v, 'w1');
  const took = await v.until('the node is gone', () => v.node('w1') === undefined, 2 * MINUTE);
  assert.ok(took <= 70 * SECOND, `${took} ms`);
  assert.deepEqual(
    controller.lines().filter(({ level }) => level === 'error'),
    [],
  );
});

it('BUG-017: only a server that is off taints its node, and only while that is not ready', async t => {
  const v = virtualApp(t);
  await settled(v, 2);
  const id = v.hetzner.servers.byName('w1')?.id ?? 0;
  const user = { key: 'user', effect: 'NoSchedule', value: '1' };
  await v.client.must('PATCH', nodePath('w1'), { spec: { taints: [user] } }, 'application/merge-patch+json');
  v.hetzner.servers.setStatus(id, 'off');
  await v.advance(6 * MINUTE);
  assert.deepEqual(taintsOf(v, 'w1'), ['user'], 'it is ready');
  for (const status of ['starting', 'stopping', 'migrating', 'rebuilding', 'unknown', 'running']) {
    v.hetzner.servers.setStatus(id, status);
    await setReady(v, 'w1', 'Unknown', v.now());
    await v.advance(10 * MINUTE);
    assert.deepEqual(taintsOf(v, 'w1'), ['user', 'node.kubernetes.io/unreachable'], status);
    await setReady(v, 'w1', 'True', v.now());
  }
  v.hetzner.servers.setStatus(id, 'off');
  await setReady(v, 'w1', 'Unknown', v.now());
  await v.until('it is tainted', () => taintsOf(v, 'w1').includes(SHUTDOWN), 20 * SECOND);
  assert.deepEqual(taintsOf(v, 'w1').slice(0, 2), ['user', 'node.kubernetes.io/unreachable']);
  v.hetzner.servers.setStatus(id, 'running');
  await v.advance(5 * MINUTE);
  assert.ok(taintsOf(v, 'w1').includes(SHUTDOWN), 'until it is ready');
  await setReady(v, 'w1', 'True', v.now());
  await v.advance(SECOND);
  assert.deepEqual(taintsOf(v, 'w1'), ['user']);
});

it('BUG-018: a node of a dead host is neither tainted out of service nor deleted', async t => {
  const v = virtualApp(t);
  await settled(v, 2);
  await setReady(v, 'w1', 'Unknown', v.now());
  await v.advance(HOUR);
  v.hetzner.servers.setStatus(v.hetzner.servers.byName('w1')?.id ?? 0, 'unknown');
  await v.advance(HOUR);
  assert.deepEqual(taintsOf(v, 'w1'), ['node.kubernetes.io/unreachable']);
});

it('BUG-019: a joining node without a server of its name is deleted only after ten minutes, two looks and a warning; one that lives without a provider ID never', async t => {
  const v = virtualApp(t);
  await settled(v, 1);
  await createNode(v, { name: 'w9', ready: false });
  await createNode(v, { name: 'w8', ready: false, taint: false });
  await createNode(v, { name: 'w7', ready: true });
  await v.advance(10 * MINUTE + 30 * SECOND);
  assert.ok(v.node('w9') !== undefined);
  assert.ok(v.eventsOf('w9').some(({ type, reason }) => type === 'Warning' && reason === 'PossibleNodeDeletion'));
  await v.advance(MINUTE);
  assert.equal(v.node('w9'), undefined);
  await v.advance(6 * HOUR);
  assert.ok(v.node('w8') !== undefined && v.node('w7') !== undefined);
});

it('a token of another project deletes no node however long it stays, says so, and costs little; with the right one the work goes on', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 4);
  const other = createFakeHetzner({ token: fresh, now: v.now, answerDelay: 20 });
  for (const name of ['a', 'w1', 'w2'])
    other.servers.create({ name, id: 9_000 + name.length + Number(name.slice(1) || 0) });
  removeServer(v, 'w4');
  v.rotateToken(fresh, other);
  const since = v.now();
  for (const i of range(4)) await setReady(v, `w${i}`, 'Unknown', v.now());
  await v.advance(24 * HOUR);
  for (const i of range(4)) {
    assert.ok(v.node(`w${i}`) !== undefined, `w${i}`);
    assert.ok(!taintsOf(v, `w${i}`).includes(SHUTDOWN));
  }
  const warnings = controller
    .lines()
    .filter(({ msg }) => msg === 'Kept node, as Hetzner knows no server of this cluster');
  assert.ok(warnings.length >= 4 && warnings.length <= 4 * 25, `${warnings.length} warnings in a day`);
  assert.match(v.eventsOf('w1').at(-1)?.message ?? '', /not believed/);
  assert.ok(other.count({ since }) <= 24 * 60, `${other.count({ since })} requests in a day`);
  assert.equal(controller.error(), undefined);

  v.rotateToken(fresh.replaceAll('x', 'y'));
  v.hetzner.settings.token = fresh.replaceAll('x', 'y');
  await v.until('the node without a server is gone', () => v.node('w4') === undefined, 12 * MINUTE);
  for (const i of range(3)) assert.ok(v.node(`w${i}`) !== undefined);
});

it('the last Cloud server of a cluster takes its node along after ten minutes, once it was asked for itself', async t => {
  const v = virtualApp(t);
  await settled(v, 1);
  removeServer(v, 'w1');
  const since = v.now();
  await setReady(v, 'w1', 'Unknown', since);
  const took = await v.until('the node is gone', () => v.node('w1') === undefined, HOUR);
  assert.ok(took >= 10 * MINUTE && took <= 12 * MINUTE, `${took} ms`);
  assert.equal(v.hetzner.count({ since, route: '/servers/{id}' }), 1);
});

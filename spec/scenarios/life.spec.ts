import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../support/cluster.ts';
import type { ControllerProcess } from '../support/controller-process.ts';
import type { EmbeddedCluster } from '../support/embedded-cluster.ts';
import { type KubeObject, MERGE_PATCH } from '../support/kube-client.ts';
import { createNode, getNode, nodePath, setReady } from '../support/nodes.ts';
import { clusterKind, type Scenario, scenarios } from '../support/scenario.ts';

const scenario = scenarios();
const SHUTDOWN = 'node.cloudprovider.kubernetes.io/shutdown';
const quick = { args: ['--node-monitor-period=1s'] };

const taintsOf = (node: KubeObject | undefined): string[] =>
  ((node?.spec.taints ?? []) as { key: string }[]).map(({ key }) => key);
const isGone = (node: KubeObject | undefined): boolean => node === undefined;
const linesAbout = (controller: ControllerProcess, name: string, ...levels: string[]): string[] =>
  controller
    .lines()
    .filter(({ node, level }) => node === name && levels.includes(level))
    .map(({ msg }) => msg);
const serverID = (s: Scenario, name: string): number => s.hetzner.servers.byName(name)?.id ?? 0;
const lists = (s: Scenario): number => s.hetzner.count({ route: '/servers' });

/** Nodes 1 to `count` with their servers, initialised. */
const settled = async (s: Scenario, count: number): Promise<ControllerProcess> => {
  for (let i = 1; i <= count; i += 1) {
    s.addServer(i);
    await s.join(i);
  }
  const controller = s.start(quick);
  for (let i = 1; i <= count; i += 1) await s.waitInitialised(`w${i}`);
  return controller;
};

/**
 * A proof that the controller has judged what is not ready by now: a node whose server is gone, and that turned not
 * ready last, is deleted.
 */
const untilJudged = async (s: Scenario, name = 'witness'): Promise<void> => {
  await createNode(s.cluster, { name, providerID: 'hcloud://4711', taint: false, ready: false });
  await s.waitForNode(name, isGone, 40_000);
};

it('deletes the node of a deleted server, with its route, and tells why', async t => {
  const s = await scenario(t);
  const controller = await settled(s, 2);
  await s.waitRouted(2);
  s.hetzner.servers.remove(serverID(s, 'w2'));
  await setReady(s.cluster, 'w2', 'Unknown');
  await s.waitForNode('w2', isGone, 40_000);
  await eventually(
    'the route is gone',
    async () => (s.routes().some(r => r.startsWith('10.244.2.')) ? undefined : true),
    20_000,
  );
  assert.deepEqual(linesAbout(controller, 'w2', 'warn', 'error'), []);
  assert.ok(linesAbout(controller, 'w2', 'info').includes('Deleted node'));
  const event = await eventually('the event', async () =>
    (await s.eventsOf('w2')).find(({ reason }) => reason === 'DeletingNode'),
  );
  assert.equal(event.type, 'Normal');
});

it('BUG-012, BUG-013: Robot nodes without Robot and nodes of others are left alone, with one warning and event each', async t => {
  const s = await scenario(t);
  const controller = await settled(s, 1);
  const foreign = {
    bm1: 'hrobot://321',
    bm2: 'hcloud://bm-322',
    edge1: 'k3s://edge1',
    edge2: 'talos://hcloud/10.0.0.71',
    odd: 'hcloud://x',
  };
  for (const [name, providerID] of Object.entries(foreign)) {
    await createNode(s.cluster, { name, providerID, taint: false, ready: false });
  }
  const versions = async () =>
    Promise.all(Object.keys(foreign).map(async name => (await getNode(s.cluster, name)).metadata.resourceVersion));
  const before = await versions();
  for (const name of Object.keys(foreign)) {
    await eventually(`the event about ${name}`, async () => ((await s.eventsOf(name)).length > 0 ? true : undefined));
  }
  await untilJudged(s);
  assert.deepEqual(await versions(), before);
  for (const [name, providerID] of Object.entries(foreign)) {
    assert.deepEqual(
      (await s.eventsOf(name)).map(({ type, reason, count }) => [type, reason, count]),
      [['Warning', 'UnknownProviderIDPrefix', 1]],
    );
    assert.deepEqual(linesAbout(controller, name, 'warn', 'error'), ['Left node alone'], providerID);
  }
  assert.match((await s.eventsOf('bm1'))[0]?.message ?? '', /Robot support is not enabled/);
});

it('BUG-014: a node that was replaced under its name is left alone, as the deletion names the one it was decided on', async t => {
  const s = await scenario(t);
  await settled(s, 2);
  s.hetzner.servers.remove(serverID(s, 'w1'));
  const old = await setReady(s.cluster, 'w1', 'Unknown');
  const asked = lists(s);
  await eventually('the first look', async () => (lists(s) > asked ? true : undefined));
  const { uid, resourceVersion } = old.metadata;
  // As the controller's deletion would arrive just after the replacement.
  await s.cluster.client.must('DELETE', nodePath('w1'));
  s.addServer(3, { name: 'w1' });
  await s.join(1, { ready: false });
  const preconditions = { uid, resourceVersion };
  const late = await s.cluster.client.send('DELETE', nodePath('w1'), {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions,
  });
  assert.equal(late.status, 409);
  const node = await s.waitInitialised('w1');
  await untilJudged(s);
  assert.equal((await getNode(s.cluster, 'w1')).metadata.uid, node.metadata.uid);
  assert.equal((await getNode(s.cluster, 'w1')).spec.providerID, `hcloud://${serverID(s, 'w1')}`);
});

it('BUG-015: no node is deleted or tainted while Hetzner answers with errors, half lists or empty ones', async t => {
  const s = await scenario(t);
  await settled(s, 3);
  s.hetzner.servers.setStatus(serverID(s, 'w2'), 'off');
  const empty = { servers: [], meta: { pagination: { page: 1, next_page: null, total_entries: 0 } } };
  const faults = [
    { kind: 'error', status: 500, code: 'server_error' },
    { kind: 'truncated' },
    { kind: 'error', status: 404, code: 'not_found' },
    { kind: 'rewrite', body: () => empty },
  ] as const;
  const names = ['w1', 'w2', 'w3'];
  let remove = (): void => {};
  for (const fault of faults) {
    // A node that was ready for a moment is looked at anew, at once.
    for (const name of names) await setReady(s.cluster, name, 'True');
    const fresh = s.hetzner.faults.add({ ...fault, path: '/servers' });
    remove();
    remove = () => fresh.remove();
    for (const name of names) await setReady(s.cluster, name, 'Unknown');
    await eventually(`${fault.kind} struck`, async () => (fresh.struck >= 1 ? true : undefined), 60_000);
    for (const name of names) assert.ok(!taintsOf(await getNode(s.cluster, name)).includes(SHUTDOWN), name);
  }
  remove();
  await untilJudged(s);
  for (const name of ['w1', 'w3']) assert.ok(!taintsOf(await getNode(s.cluster, name)).includes(SHUTDOWN));
  await s.waitForNode('w2', node => taintsOf(node).includes(SHUTDOWN), 60_000);
});

it('BUG-016, BUG-017: an off server taints its node until that is ready, another state does not, and one that vanishes then takes its node along', async t => {
  const s = await scenario(t);
  const controller = await settled(s, 3);
  const user = { key: 'user', effect: 'NoSchedule', value: '1' };
  for (const name of ['w1', 'w2']) {
    await s.cluster.client.must('PATCH', nodePath(name), { spec: { taints: [user] } }, MERGE_PATCH);
  }
  s.hetzner.servers.setStatus(serverID(s, 'w1'), 'off');
  s.hetzner.servers.setStatus(serverID(s, 'w2'), 'migrating');
  for (const name of ['w1', 'w2']) await setReady(s.cluster, name, 'Unknown');
  const tainted = await s.waitForNode('w1', node => taintsOf(node).includes(SHUTDOWN), 40_000);
  assert.deepEqual(
    taintsOf(tainted).filter(key => !key.startsWith('node.kubernetes.io/')),
    ['user', SHUTDOWN],
  );
  s.hetzner.servers.setStatus(serverID(s, 'w1'), 'running');
  await setReady(s.cluster, 'w1', 'True');
  await s.waitForNode('w1', node => taintsOf(node).join() === 'user', 20_000);
  assert.ok(!taintsOf(await getNode(s.cluster, 'w2')).includes(SHUTDOWN));
  await controller.waitForLine(({ msg, node }) => msg === 'Removed shutdown taint' && node === 'w1', 'w1 is back');
  assert.deepEqual(
    linesAbout(controller, 'w1', 'info').filter(msg => msg.includes('shut')),
    ['Tainted node as shut down', 'Removed shutdown taint'],
  );

  s.hetzner.servers.setStatus(serverID(s, 'w1'), 'off');
  await setReady(s.cluster, 'w1', 'Unknown');
  await s.waitForNode('w1', node => taintsOf(node).includes(SHUTDOWN), 40_000);
  s.hetzner.servers.remove(serverID(s, 'w1'));
  await s.waitForNode('w1', isGone, 60_000);
  assert.deepEqual(linesAbout(controller, 'w1', 'warn', 'error'), []);
});

it('BUG-018, BUG-019: a dead host is no gone server, and a node without a provider ID is not deleted in haste', async t => {
  const s = await scenario(t);
  await settled(s, 2);
  s.hetzner.servers.setStatus(serverID(s, 'w1'), 'unknown');
  await setReady(s.cluster, 'w1', 'Unknown');
  await createNode(s.cluster, { name: 'w8', ready: false });
  await createNode(s.cluster, { name: 'w9', ready: false, taint: false });
  await untilJudged(s);
  await untilJudged(s, 'another');
  assert.deepEqual(
    taintsOf(await getNode(s.cluster, 'w1')).filter(key => !key.startsWith('node.kubernetes.io/')),
    [],
  );
  for (const name of ['w8', 'w9']) assert.ok((await getNode(s.cluster, name)).metadata.uid);
  assert.ok((await s.eventsOf('w8')).some(({ reason }) => reason === 'InstanceNotFound'));
});

it('BUG-020: thirty servers switched off at once cost a few lists, and all their nodes are tainted', async t => {
  const s = await scenario(t);
  await settled(s, 30);
  const names = Array.from({ length: 30 }, (_, i) => `w${i + 1}`);
  for (const name of names) s.hetzner.servers.setStatus(serverID(s, name), 'off');
  const before = lists(s);
  await Promise.all(names.map(name => setReady(s.cluster, name, 'Unknown')));
  for (const name of names) await s.waitForNode(name, node => taintsOf(node).includes(SHUTDOWN), 60_000);
  const spent = lists(s) - before;
  assert.ok(spent <= 15, `${spent} lists, however slow this machine is: not two for each node`);
  assert.equal(s.hetzner.count({ route: '/servers/{id}' }), 0);
});

/** The API server refuses whatever the controller writes to the node, until the returned function is called. */
const refuseWrites = async (s: Scenario, name: string): Promise<() => Promise<void>> => {
  if (clusterKind === 'embedded') {
    const rule = {
      user: 'controller',
      verb: 'patch',
      path: nodePath(name),
      fault: { kind: 'status', code: 422 },
    } as const;
    const remove = (s.cluster as EmbeddedCluster).fake.faults.add(rule);
    return async () => void remove();
  }
  const api = '/apis/admissionregistration.k8s.io/v1';
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'refuse' },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['UPDATE'],
            resources: ['nodes', 'nodes/status'],
            resourceNames: [name],
          },
        ],
      },
      validations: [{ expression: "request.userInfo.username != 'controller'", message: 'not now' }],
    },
  };
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'refuse' },
    spec: { policyName: 'refuse', validationActions: ['Deny'] },
  };
  await s.cluster.client.must('POST', `${api}/validatingadmissionpolicies`, policy);
  await s.cluster.client.must('POST', `${api}/validatingadmissionpolicybindings`, binding);
  // It takes effect some time later.
  await new Promise(resolve => setTimeout(resolve, 5_000));
  return async () => {
    await s.cluster.client.must('DELETE', `${api}/validatingadmissionpolicybindings/refuse`);
    await s.cluster.client.must('DELETE', `${api}/validatingadmissionpolicies/refuse`);
  };
};

it('BUG-067: nodes that are not ready with running servers, and one whose writes are refused, cost a request in ten seconds at most', async t => {
  const s = await scenario(t);
  const controller = await settled(s, 2);
  const allow = await refuseWrites(s, 'w3');
  const before = s.hetzner.count();
  const since = Date.now();
  for (const name of ['w1', 'w2']) await setReady(s.cluster, name, 'Unknown');
  s.addServer(3);
  await s.join(3);
  const refused = () =>
    controller.lines().filter(({ msg, key }) => msg === 'Failed to reconcile, will try again' && key === 'w3');
  await eventually('three warnings about w3', async () => (refused().length >= 3 ? true : undefined), 60_000);
  const spent = s.hetzner.counts({ since });
  const most = 6 + (Date.now() - since) / 10_000;
  assert.ok(s.hetzner.count() - before <= most, `${JSON.stringify(spent)}, at most ${most}`);
  await allow();
  await s.waitInitialised('w3', 90_000);
});

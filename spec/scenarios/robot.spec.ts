import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../support/cluster.ts';
import type { KubeObject } from '../support/kube-client.ts';
import { createNode, getNode, setReady } from '../support/nodes.ts';
import { isInitialised, networkUnavailable, type Scenario, type StartOptions, scenarios } from '../support/scenario.ts';
import { createService, eventsAbout } from '../support/services.ts';

const scenario = scenarios();
const SHUTDOWN = 'node.cloudprovider.kubernetes.io/shutdown';
const lb = 'load-balancer.hetzner.cloud';

/** With Robot, quick to notice what changes there. */
const withRobot = (s: Scenario, env: Record<string, string | undefined> = {}, args: string[] = []): StartOptions => ({
  args: ['--node-monitor-period=1s', ...args],
  env: {
    ROBOT_ENABLED: 'true',
    ROBOT_USER: s.hetzner.robot.settings.login.user,
    ROBOT_PASSWORD: s.hetzner.robot.settings.login.password,
    ROBOT_ENDPOINT: s.robotURL,
    ROBOT_CACHE_TIMEOUT: '1s',
    ...env,
  },
});
const addressesOf = (node: KubeObject): string[] =>
  (node.status.addresses as { type: string; address: string }[]).map(({ type, address }) => `${type} ${address}`);
const taintsOf = (node: KubeObject | undefined): string[] =>
  ((node?.spec.taints ?? []) as { key: string }[]).map(({ key }) => key);
const warning = (s: Scenario, name: string, reason: string): Promise<string> =>
  eventually(
    `a Warning ${reason} about ${name}`,
    async () => {
      const events = await s.eventsOf(name);
      return events.find(event => event.type === 'Warning' && event.reason === reason)?.message;
    },
    30_000,
  );

it('BUG-061: a Robot server keeps the internal address its kubelet reports, beside routes for Cloud servers', async t => {
  const s = await scenario(t);
  s.hetzner.robot.create({
    number: 321,
    name: 'bm1',
    ipv4: '198.51.100.21',
    product: 'Server Auction (AX41+)',
    dc: 'FSN1-DC7',
  });
  s.addServer(1);
  await s.join(1);
  await createNode(s.cluster, { name: 'bm1', nodeIPs: ['10.0.2.2'], podCIDRs: ['10.244.9.0/24'] });
  s.start(withRobot(s));
  const node = await s.waitInitialised('bm1');
  assert.deepEqual(addressesOf(node), ['InternalIP 10.0.2.2', 'Hostname bm1', 'ExternalIP 198.51.100.21']);
  assert.equal(node.spec.providerID, 'hrobot://321');
  const labels = node.metadata.labels ?? {};
  assert.deepEqual(
    [
      'node.kubernetes.io/instance-type',
      'topology.kubernetes.io/region',
      'topology.kubernetes.io/zone',
      'instance.hetzner.cloud/provided-by',
    ].map(key => labels[key]),
    ['Server-Auction-AX41', 'fsn1', 'fsn1-dc7', 'robot'],
  );
  await s.waitRouted(1);
  assert.deepEqual(s.routes(), ['10.244.1.0/24 10.0.1.1']);
  assert.equal(networkUnavailable(await getNode(s.cluster, 'bm1')), undefined);
});

for (const [what, ips, env, expected, reason] of [
  [
    'equals the external one',
    ['198.51.100.21'],
    {},
    ['ExternalIP 198.51.100.21', 'Hostname bm1'],
    'MisconfiguredInternalIP',
  ],
  ['is of the other family', ['fd00::2'], {}, undefined, 'ProvidedNodeIPMismatch'],
  ['is not forwarded', ['10.0.2.2'], { ROBOT_FORWARD_INTERNAL_IPS: 'false' }, undefined, 'ProvidedNodeIPMismatch'],
] as const) {
  it(`BUG-061: an internal address that ${what} is not kept, and the node says so`, async t => {
    const s = await scenario(t);
    s.hetzner.robot.create({ number: 321, name: 'bm1', ipv4: '198.51.100.21', ipv6Net: null });
    await createNode(s.cluster, { name: 'bm1', nodeIPs: ips });
    s.start(withRobot(s, env));
    const message = await warning(s, 'bm1', reason);
    assert.match(message, new RegExp(ips[0].replaceAll('.', '\\.')));
    if (expected !== undefined) assert.deepEqual(addressesOf(await s.waitInitialised('bm1')), expected);
    else assert.ok(!isInitialised(await getNode(s.cluster, 'bm1')));
  });
}

it('BUG-062: a name that is in both clouds initialises no node until one of them is renamed', async t => {
  const s = await scenario(t);
  const id = s.addServer(1, { name: 'n1' });
  s.hetzner.robot.create({ number: 321, name: 'n1' });
  await s.join(1, { name: 'n1' });
  s.start(withRobot(s));
  assert.match(
    await warning(s, 'n1', 'InstanceLookupFailed'),
    new RegExp(`Cloud server \\(${id}\\) and a Robot server \\(321\\)`),
  );
  assert.ok(!isInitialised(await getNode(s.cluster, 'n1')));
  s.hetzner.robot.rename(321, 'other');
  assert.equal((await s.waitInitialised('n1', 60_000)).spec.providerID, `hcloud://${id}`);
});

it('BUG-063: a Robot server under another name takes its node along, with a warning first, and only while that is not ready', async t => {
  const s = await scenario(t);
  for (const [i, name] of ['bm1', 'bm2'].entries()) {
    s.hetzner.robot.create({ number: 321 + i, name });
    await createNode(s.cluster, { name });
  }
  const controller = s.start(withRobot(s));
  await s.waitInitialised('bm1');
  await s.waitInitialised('bm2');
  s.hetzner.robot.rename(321, 'other-cluster-7');
  s.hetzner.robot.rename(322, 'other-cluster-8');
  await setReady(s.cluster, 'bm2', 'Unknown');
  // Robot is asked for its list every 20 s at most.
  assert.match(await warning(s, 'bm2', 'PossibleNodeDeletion'), /Robot server 322 is called other-cluster-8, not bm2/);
  await s.waitForNode('bm2', node => node === undefined, 90_000);
  assert.ok(isInitialised(await getNode(s.cluster, 'bm1')));
  assert.deepEqual(await s.eventsOf('bm1').then(events => events.map(({ reason }) => reason)), ['Synced']);
  await controller.waitForLine(({ msg, node }) => msg === 'Deleted node' && node === 'bm2', 'the line of the deletion');
});

it('BUG-064: legacy provider IDs are those of Robot servers, malformed ones never delete a node', async t => {
  const s = await scenario(t);
  for (const number of [321, 322]) s.hetzner.robot.create({ number, name: `bm${number}` });
  const nodes = {
    bm321: 'hcloud://bm-321',
    bm999: 'hcloud://bm-999',
    a: 'hcloud://',
    b: 'hcloud://abc',
    c: 'hrobot://',
    d: 'hcloud://bm-',
  };
  s.hetzner.robot.setOperatingStatus(321, 'shut off');
  for (const [name, providerID] of Object.entries(nodes)) {
    await createNode(s.cluster, { name, providerID, taint: false, ready: false });
  }
  await createNode(s.cluster, { name: 'bm322' });
  s.start(withRobot(s));
  assert.equal((await s.waitInitialised('bm322')).spec.providerID, 'hrobot://322');
  await s.waitForNode('bm321', node => taintsOf(node).includes(SHUTDOWN), 60_000);
  await s.waitForNode('bm999', node => node === undefined, 90_000);
  for (const name of ['a', 'b', 'c', 'd']) {
    assert.match(await warning(s, name, 'UnknownProviderIDPrefix'), /malformed/);
    assert.deepEqual(
      taintsOf(await getNode(s.cluster, name)).filter(key => key === SHUTDOWN),
      [],
    );
  }
});

it('BUG-065: without a login to Robot and without node controllers, Robot servers are targets by what their nodes say', async t => {
  const s = await scenario(t);
  s.addServer(1);
  s.hetzner.networks.addSubnet(s.networkID, { type: 'vswitch', ipRange: '10.1.0.0/24', vSwitch: 4711 });
  await createNode(s.cluster, {
    name: 'w1',
    providerID: `hcloud://${s.hetzner.servers.byName('w1')?.id}`,
    taint: false,
    addresses: [{ type: 'InternalIP', address: '10.0.1.1' }],
  });
  await createNode(s.cluster, {
    name: 'bm1',
    providerID: 'hrobot://321',
    taint: false,
    addresses: [{ type: 'InternalIP', address: '10.1.0.2' }],
  });
  await createNode(s.cluster, {
    name: 'bm2',
    providerID: 'hrobot://322',
    taint: false,
    addresses: [{ type: 'Hostname', address: 'bm2' }],
  });
  await createService(s.cluster, {
    name: 'web',
    annotations: { [`${lb}/location`]: 'fsn1', [`${lb}/use-private-ip`]: 'true' },
  });
  s.start(
    withRobot(s, { ROBOT_USER: undefined, ROBOT_PASSWORD: undefined }, [
      '--controllers=*,-cloud-node-controller,-cloud-node-lifecycle-controller',
    ]),
  );
  const made = await eventually(
    'the load balancer',
    async () => s.hetzner.loadBalancers.list().find(l => l.targets.length === 2),
    30_000,
  );
  assert.match(JSON.stringify(made.targets), /10\.1\.0\.2/);
  const told = await eventually('what is said about bm2', async () => {
    const events = [...(await eventsAbout(s.cluster, 'web')), ...(await eventsAbout(s.cluster, 'bm2'))];
    return events.find(({ reason }) => reason === 'InternalIPNotConfigured');
  });
  assert.match(told.message ?? '', /bm2|InternalIP/);
  assert.equal(s.hetzner.requests.filter(({ path }) => path.startsWith('/robot')).length, 0);
});

it('BUG-065: one half of a login is an error at the start', async t => {
  const s = await scenario(t);
  for (const half of ['ROBOT_USER', 'ROBOT_PASSWORD']) {
    const controller = s.start(withRobot(s, { [half]: undefined }));
    assert.equal(await controller.exited, 1);
    assert.match(controller.output(), new RegExp(half));
  }
});

it('the node of a Robot server that was given back is deleted, that of one whose account cannot be read is not (BUG-012)', async t => {
  const s = await scenario(t);
  for (const number of [321, 322, 323]) {
    s.hetzner.robot.create({ number, name: `bm${number}` });
    await createNode(s.cluster, { name: `bm${number}` });
  }
  s.start(withRobot(s));
  for (const number of [321, 322, 323]) await s.waitInitialised(`bm${number}`);
  const fault = s.hetzner.faults.add({ kind: 'error', status: 503, code: 'UNAVAILABLE', path: /^\/robot/ });
  s.hetzner.robot.remove(322);
  for (const number of [321, 322]) await setReady(s.cluster, `bm${number}`, 'Unknown');
  await eventually('Robot was asked', async () => (fault.struck >= 1 ? true : undefined), 60_000);
  for (const number of [321, 322]) assert.ok(isInitialised(await getNode(s.cluster, `bm${number}`)));
  fault.remove();
  await s.waitForNode('bm322', node => node === undefined, 120_000);
  assert.ok(isInitialised(await getNode(s.cluster, 'bm321')));
});

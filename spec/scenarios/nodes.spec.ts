import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../support/cluster.ts';
import { type KubeObject, MERGE_PATCH } from '../support/kube-client.ts';
import { deleteNode, getNode, nodePath, UNINITIALIZED } from '../support/nodes.ts';
import { isInitialised, type Scenario, scenarios } from '../support/scenario.ts';

const scenario = scenarios();

const without = (env: Record<string, string> = {}) => ({ env: { ...env, HCLOUD_NETWORK: undefined } });
const addressesOf = (node: KubeObject | undefined): string[] =>
  ((node?.status.addresses ?? []) as { type: string; address: string }[]).map(a => `${a.type} ${a.address}`);

/** Message of the Warning with this reason, once there is one. */
const warningAbout = (s: Scenario, name: string, reason: string): Promise<string> =>
  eventually(`a Warning ${reason} about ${name}`, async () => {
    const events = await s.eventsOf(name);
    return events.find(event => event.type === 'Warning' && event.reason === reason)?.message;
  });

it('BUG-001: a node without the taint and without a provider ID keeps both ways but gets its addresses, and is initialised once it is tainted', async t => {
  const s = await scenario(t);
  s.addServer(1);
  s.addServer(2);
  await s.join(1, { taint: false });
  await s.join(2);
  const controller = s.start();
  await s.waitInitialised('w2');
  const node = await s.waitForNode('w1', n => addressesOf(n).length === 3);

  assert.deepEqual(addressesOf(node), ['Hostname w1', 'ExternalIP 203.0.113.1', 'InternalIP 10.0.1.1']);
  assert.equal(node?.spec.providerID, undefined);
  assert.equal(node?.metadata.labels?.['node.kubernetes.io/instance-type'], undefined);
  assert.deepEqual(await s.eventsOf('w1'), []);
  await controller.waitForLine(line => line.node === 'w1', 'the line about the addresses');
  assert.deepEqual(
    controller
      .lines()
      .filter(line => line.node === 'w1')
      .map(line => line.msg),
    ['Updated node addresses'],
  );

  const taints = [{ key: UNINITIALIZED, value: 'true', effect: 'NoSchedule' }];
  await s.cluster.client.must('PATCH', nodePath('w1'), { spec: { taints } }, MERGE_PATCH);
  await s.waitInitialised('w1');
  await s.waitRouted(1);
});

it('BUG-003: a node that announces a private address stays as it is without HCLOUD_NETWORK, and the event says why; with it, it is initialised', async t => {
  const s = await scenario(t);
  const id = s.addServer(1);
  await s.join(1, { nodeIPs: ['10.0.1.1'] });
  const first = s.start(without());
  const message = await warningAbout(s, 'w1', 'ProvidedNodeIPMismatch');
  for (const part of ['10.0.1.1', 'ExternalIP=203.0.113.1', 'HCLOUD_NETWORK is not set', `server ${id}`])
    assert.ok(message.includes(part), `${part} in: ${message}`);
  assert.ok(!isInitialised(await getNode(s.cluster, 'w1')));
  await first.stop();

  s.start();
  assert.deepEqual(addressesOf(await s.waitInitialised('w1')), [
    'InternalIP 10.0.1.1',
    'Hostname w1',
    'ExternalIP 203.0.113.1',
  ]);
});

it('BUG-004: a server without any public address gives its node exactly the host name and the private address', async t => {
  const s = await scenario(t);
  s.addServer(1, { ipv4: null, ipv6: null });
  await s.join(1);
  s.start({ env: { HCLOUD_INSTANCES_ADDRESS_FAMILY: 'dualstack' } });
  assert.deepEqual(addressesOf(await s.waitInitialised('w1')), ['Hostname w1', 'InternalIP 10.0.1.1']);
  await s.waitRouted(1);
});

it('BUG-005: with both families the IPv4 address comes before the IPv6 one', async t => {
  const s = await scenario(t);
  s.addServer(1, { ipv6: '2001:db8:11::/64' });
  await s.join(1);
  s.start({ env: { HCLOUD_INSTANCES_ADDRESS_FAMILY: 'dualstack' } });
  assert.deepEqual(addressesOf(await s.waitInitialised('w1')), [
    'Hostname w1',
    'ExternalIP 203.0.113.1',
    'ExternalIP 2001:db8:11::1',
    'InternalIP 10.0.1.1',
  ]);
});

it('BUG-006: servers without a datacenter, in unknown locations, or with fields missing and added, are initialised', async t => {
  const s = await scenario(t);
  for (const i of [1, 2, 3]) s.addServer(i);
  const locations: Record<string, unknown> = { w1: { name: 'fsn1' }, w2: { name: 'xyz1', extra: [{}] }, w3: undefined };
  const body = (answer: unknown): unknown => {
    const list = answer as { servers: Record<string, unknown>[] };
    for (const server of list.servers) {
      for (const key of ['datacenter', 'image', 'created', 'volumes', 'protection', 'labels']) delete server[key];
      Object.assign(server, {
        location: locations[String(server.name)],
        server_type: server.name === 'w3' ? null : server.server_type,
        news: 1,
      });
    }
    return list;
  };
  s.hetzner.faults.add({ kind: 'rewrite', path: '/servers', body });
  const controller = s.start();
  for (const i of [1, 2, 3]) await s.join(i);
  const labels = [];
  for (const name of ['w1', 'w2', 'w3']) labels.push((await s.waitInitialised(name)).metadata.labels ?? {});

  const shown = labels.map(l => [
    l['topology.kubernetes.io/region'],
    l['topology.kubernetes.io/zone'],
    l['node.kubernetes.io/instance-type'],
  ]);
  assert.deepEqual(shown, [
    ['fsn1', 'fsn1-dc14', 'cx23'],
    ['xyz1', 'xyz1', 'cx23'],
    [undefined, undefined, undefined],
  ]);
  await s.waitRouted(3);
  await controller.stop();

  s.start({ env: { HCLOUD_INSTANCES_ZONE_LABEL_ENABLED: 'false' } });
  s.addServer(4);
  locations.w4 = { name: 'fsn1' };
  await s.join(4);
  const { metadata } = await s.waitInitialised('w4');
  const topology = Object.entries(metadata.labels ?? {}).filter(([key]) => /region|zone/.test(key));
  assert.deepEqual(Object.fromEntries(topology), {
    'failure-domain.beta.kubernetes.io/region': 'fsn1',
    'topology.kubernetes.io/region': 'fsn1',
  });
});

it('BUG-008, BUG-077: a node that is deleted and re-created under its name gets the new server, and the route follows', async t => {
  const s = await scenario(t);
  const old = s.addServer(1);
  s.addServer(2);
  await s.join(1);
  await s.join(2);
  const controller = s.start();
  await s.waitRouted(1);
  await s.waitRouted(2);

  await deleteNode(s.cluster, 'w1');
  s.hetzner.servers.remove(old);
  const replacement = s.addServer(1, { ip: '1.77', ipv4: '203.0.113.77' });
  await s.join(1);
  const node = await s.waitInitialised('w1');
  assert.equal(node.spec.providerID, `hcloud://${replacement}`);
  assert.deepEqual(addressesOf(node), ['Hostname w1', 'ExternalIP 203.0.113.77', 'InternalIP 10.0.1.77']);
  await eventually('the routes', async () =>
    s.routes().join() === '10.244.1.0/24 10.0.1.77,10.244.2.0/24 10.0.1.2' ? true : undefined,
  );
  const wrong = controller.lines().filter(line => line.level === 'error' || line.level === 'warn');
  assert.deepEqual(wrong, []);
});

it('BUG-077: a node that is replaced while the watch is cut is initialised anew', async t => {
  const s = await scenario(t);
  const old = s.addServer(1);
  await s.join(1);
  const controller = s.start();
  await s.waitRouted(1);
  await s.cluster.killAPIServer();
  await controller.waitForLine(line => line.level === 'warn' && line.resource === 'nodes', 'the watch is lost');
  s.hetzner.servers.remove(old);
  const replacement = s.addServer(1);
  await s.cluster.startAPIServer();
  await deleteNode(s.cluster, 'w1');
  await s.join(1);
  const node = await s.waitInitialised('w1', 60_000);
  assert.equal(node.spec.providerID, `hcloud://${replacement}`);
  await s.waitRouted(1, 60_000);
});

it('BUG-011: a label that was set before the node joined is kept with a warning, topology labels are set', async t => {
  const s = await scenario(t);
  s.addServer(1);
  const provided = 'instance.hetzner.cloud/provided-by';
  await s.join(1, { labels: { [provided]: 'robot', 'topology.kubernetes.io/region': 'mine' } });
  const controller = s.start();
  const { labels = {} } = (await s.waitInitialised('w1')).metadata;
  assert.equal(labels[provided], 'robot');
  assert.equal(labels['topology.kubernetes.io/region'], 'fsn1');
  const kept = await controller.waitForLine(line => line.msg === 'Kept label that was set before', 'a label kept');
  assert.deepEqual([kept.level, kept.node, kept.labels], ['warn', 'w1', provided]);
});

it('BUG-011: nodes that were initialised earlier are not labelled again', async t => {
  const s = await scenario(t);
  const ids = [s.addServer(1), s.addServer(2)];
  await s.join(1, { taint: false, providerID: `hcloud://${ids[0]}` });
  s.start();
  await s.join(2);
  await s.waitRouted(2);
  await s.waitRouted(1);
  const { labels = {} } = (await getNode(s.cluster, 'w1')).metadata;
  assert.deepEqual(
    Object.keys(labels).filter(key => /hetzner|instance-type|region|zone/.test(key)),
    [],
  );
});

it('RC-04: a node that arrives with a provider ID is looked up by it, whatever its name', async t => {
  const s = await scenario(t);
  const id = s.addServer(1, { name: 'other-name' });
  s.addServer(9, { name: 'w1' });
  await s.join(1, { providerID: `hcloud://${id}` });
  s.start();
  const node = await s.waitInitialised('w1');
  assert.equal(node.spec.providerID, `hcloud://${id}`);
  assert.ok(addressesOf(node).includes('InternalIP 10.0.1.1'), String(addressesOf(node)));
  await s.waitRouted(1);
});

it('leaves a tainted node of another provider alone, and tells why once', async t => {
  const s = await scenario(t);
  s.addServer(1);
  s.addServer(2);
  await s.join(1, { providerID: 'k3s://w1' });
  const controller = s.start();
  const message = await warningAbout(s, 'w1', 'UnknownProviderIDPrefix');
  assert.match(message, /k3s:\/\/w1/);
  await s.join(2);
  await s.waitRouted(2);
  const node = await getNode(s.cluster, 'w1');
  assert.equal(node.spec.providerID, 'k3s://w1');
  assert.ok(!isInitialised(node));
  assert.equal(controller.lines().filter(line => line.node === 'w1' && line.level === 'warn').length, 1);
});

it('RC-29: a node that announces one address of each family gets these first and no others of their type', async t => {
  const s = await scenario(t);
  s.addServer(1, { ipv6: '2001:db8:11::/64' });
  await s.join(1, { nodeIPs: ['10.0.1.1', '2001:db8:11::1'] });
  s.start({ env: { HCLOUD_INSTANCES_ADDRESS_FAMILY: 'dualstack' } });
  assert.deepEqual(addressesOf(await s.waitInitialised('w1')), [
    'InternalIP 10.0.1.1',
    'ExternalIP 2001:db8:11::1',
    'Hostname w1',
  ]);
});

it('RC-29: "::" and "0.0.0.0" announce a family, not an address', async t => {
  const s = await scenario(t);
  const annotation = 'alpha.kubernetes.io/provided-node-ip';
  for (const i of [1, 2]) s.addServer(i, { ipv6: `2001:db8:${i}::/64` });
  await s.join(1, { annotations: { [annotation]: '::' } });
  await s.join(2, { annotations: { [annotation]: '0.0.0.0' } });
  s.start(without({ HCLOUD_INSTANCES_ADDRESS_FAMILY: 'dualstack' }));
  for (const i of [1, 2]) {
    assert.deepEqual(addressesOf(await s.waitInitialised(`w${i}`)), [
      `Hostname w${i}`,
      `ExternalIP 203.0.113.${i}`,
      `ExternalIP 2001:db8:${i}::1`,
    ]);
  }
});

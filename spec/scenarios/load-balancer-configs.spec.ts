import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { LoadBalancer } from '../../lib/hetzner/lb-types.ts';
import { type Ingress, ingressOf, lb, type PortWish, ports, targetsOf } from '../support/balanced.ts';
import { eventually } from '../support/cluster.ts';
import { type KubeObject, MERGE_PATCH } from '../support/kube-client.ts';
import { type Scenario, scenarios } from '../support/scenario.ts';
import { createService, deleteService, eventsAbout, servicePath } from '../support/services.ts';

/** The ten most used public configurations of Services (real-configs.md, part B), unchanged. */

const scenario = scenarios();
const timeout = 60_000;

/** Annotations, ports and spec as they were published. */
const published = {
  'rc-18': {
    annotations: lb({
      name: 'cluster-a',
      location: 'fsn1',
      type: 'lb11',
      'use-private-ip': 'true',
      'disable-private-ingress': 'true',
      'disable-public-network': 'false',
      'ipv6-disabled': 'false',
      'uses-proxyprotocol': 'true',
      'algorithm-type': 'round_robin',
      'health-check-interval': '15s',
      'health-check-timeout': '10s',
      'health-check-retries': '3',
      hostname: 'lb.example.com',
    }),
    ports: [80, 443],
  },
  'rc-19': {
    annotations: lb({
      'use-private-ip': 'true',
      'health-check-retries': '3',
      'health-check-interval': '3s',
      hostname: '',
    }),
    ports: [80, 443],
  },
  'rc-20': {
    annotations: lb({ 'http-redirect-https': 'false', algorithm: 'round_robin', network: 'k8s', id: '7' }),
    ports: [80],
  },
  'rc-21-a': { annotations: lb({ 'network-zone': 'eu-central', hostname: 'www.example.com' }), ports: [80] },
  'rc-21-b': { annotations: lb({ location: 'nbg1', 'network-zone': 'eu-central' }), ports: [80] },
  'rc-21-c': { annotations: lb({ name: 'kubelb' }), ports: [6443] },
  'rc-21-d': { annotations: lb({ location: '' }), ports: [80] },
  'rc-22': {
    annotations: lb({
      protocol: 'https',
      'http-certificates': 'wildcard-example',
      'http-redirect-http': 'true',
      'ipv6-disabled': 'true',
    }),
    ports: [443],
  },
  'rc-24': { annotations: lb({ 'health-check-port': '9000', 'use-private-ip': 'true' }), ports: [80, 443] },
  'rc-25-gateway': {
    annotations: lb({ name: 'gw-lb', location: 'nbg1', 'use-private-ip': 'true' }),
    ports: [80, 443, { port: 443, protocol: 'UDP' }],
    spec: { ipFamilyPolicy: 'PreferDualStack' },
  },
  'rc-25-kura': {
    annotations: lb({
      'algorithm-type': 'least_connections',
      protocol: 'tcp',
      'health-check-protocol': 'tcp',
      'node-selector': 'node.cluster.x-k8s.io/pool=kura',
    }),
    ports: [443],
  },
  'rc-26': {
    annotations: {
      ...lb({ name: 'workers', 'node-selector': 'node-role.kubernetes.io/worker' }),
      'external-dns.alpha.kubernetes.io/hostname': 'www.example.com',
    },
    ports: [80, 443],
    spec: { loadBalancerIP: '203.0.113.7' },
  },
  'rc-27': {
    annotations: lb({
      'disable-public-network': 'true',
      'use-private-ip': 'true',
      'private-ipv4': '10.0.0.101',
      'private-subnet-ip-range': '10.0.0.0/24',
      location: 'nbg1',
    }),
    ports: [80, 443],
  },
  'rc-30': {
    annotations: lb({
      name: 'ingress',
      'health-check-interval': '10s',
      'health-check-timeout': '5s',
      'health-check-retries': '3',
    }),
    ports: [80, 443],
  },
} as const satisfies Record<string, { annotations: object; ports: readonly PortWish[]; spec?: object }>;

type Name = keyof typeof published;

const apply = (s: Scenario, name: Name): Promise<KubeObject> => {
  const {
    annotations,
    ports: wanted,
    ...more
  }: { annotations: object; ports: readonly PortWish[]; spec?: object } = published[name];
  return createService(s.cluster, {
    name,
    annotations: annotations as Record<string, string>,
    spec: { ...more.spec, ports: ports(...wanted) },
  });
};

const get = (s: Scenario, name: Name): Promise<KubeObject> => s.cluster.client.must('GET', servicePath(name));

/** The load balancer and the addresses of a Service, once its status names them. */
const made = async (s: Scenario, name: Name): Promise<{ lb: LoadBalancer; ingress: readonly Ingress[] }> => {
  const service = await eventually(
    `status of ${name}`,
    async () => {
      const found = await get(s, name);
      return ingressOf(found).length > 0 ? found : undefined;
    },
    timeout,
  );
  const own = s.hetzner.loadBalancers
    .list()
    .filter(one => one.labels['hcloud-ccm/service-uid'] === service.metadata.uid);
  assert.equal(own.length, 1, name);
  return { lb: own[0] as LoadBalancer, ingress: ingressOf(service) };
};

const addresses = ({ ingress }: { ingress: readonly Ingress[] }) => ingress.map(one => one.ip ?? one.hostname);

const warnings = async (s: Scenario, name: Name): Promise<string[]> =>
  (await eventsAbout(s.cluster, name))
    .filter(({ type }) => type === 'Warning')
    .map(({ reason, message }) => `${reason} ${message}`);

/** Two workers; the first has the labels that selectors ask for. */
const cluster = async (s: Scenario): Promise<number[]> => {
  const ids = [1, 2].map(i => s.addServer(i));
  await s.join(1, { labels: { 'node-role.kubernetes.io/worker': '', 'node.cluster.x-k8s.io/pool': 'kura' } });
  await s.join(2);
  return ids;
};

/** Deletes the Services; protected load balancers stay. */
const tearDown = async (s: Scenario, names: readonly Name[], left: readonly string[]): Promise<void> => {
  for (const name of names) await deleteService(s.cluster, name);
  await eventually(
    'all Services are gone',
    async () => {
      const { items } = await s.cluster.client.must('GET', '/api/v1/namespaces/default/services');
      return items.every(({ metadata }) => !metadata.name.startsWith('rc-')) || undefined;
    },
    timeout,
  );
  assert.deepEqual(
    s.hetzner.loadBalancers.list().map(({ name }) => name),
    left,
  );
};

it('gives each Service that says where it wants to be the load balancer that its author expects', async t => {
  const s = await scenario(t);
  // With a subnet of its own for load balancers, as RC-27 has one.
  const subnets = ['10.0.0.0/24', '10.0.1.0/24'];
  s.hetzner.networks.remove(s.networkID);
  s.hetzner.networks.create({ id: s.networkID, name: 'k8s', ipRange: '10.0.0.0/8', subnets });
  const ids = await cluster(s);
  const terraform = s.hetzner.loadBalancers.create({ name: 'cluster-a', protected: true });
  const kubelb = s.hetzner.loadBalancers.create({ name: 'kubelb', location: 'hel1' });
  const controller = s.start();
  for (const i of [1, 2]) await s.waitRouted(i, timeout);
  const names = ['rc-18', 'rc-21-a', 'rc-21-b', 'rc-21-c', 'rc-25-gateway', 'rc-27'] as const;
  for (const name of names) await apply(s, name);

  const rc18 = await made(s, 'rc-18');
  assert.equal(rc18.lb.id, terraform.id);
  assert.deepEqual(rc18.ingress, [{ hostname: 'lb.example.com' }]);
  assert.deepEqual(
    targetsOf(rc18.lb),
    ids.map(id => `${id} private`),
  );
  for (const { proxyProtocol, healthCheck } of rc18.lb.services) {
    const { interval, timeout: patience, retries } = healthCheck;
    assert.deepEqual([proxyProtocol, interval, patience, retries], [true, 15, 10, 3]);
  }
  assert.deepEqual(
    rc18.lb.services.map(({ listenPort }) => listenPort),
    [80, 443],
  );

  const rc21a = await made(s, 'rc-21-a');
  assert.equal(rc21a.lb.networkZone, 'eu-central');
  assert.deepEqual(rc21a.ingress, [{ hostname: 'www.example.com' }]);
  assert.equal((await made(s, 'rc-21-b')).lb.location, 'nbg1');
  const rc21c = await made(s, 'rc-21-c');
  assert.deepEqual([rc21c.lb.id, rc21c.lb.location], [kubelb.id, 'hel1']);

  const gateway = await made(s, 'rc-25-gateway');
  assert.deepEqual([gateway.lb.name, gateway.lb.location], ['gw-lb', 'nbg1']);
  assert.deepEqual(
    gateway.lb.services.map(({ listenPort, protocol }) => [listenPort, protocol]),
    [
      [80, 'tcp'],
      [443, 'tcp'],
    ],
  );
  assert.ok((await warnings(s, 'rc-25-gateway')).some(text => /^UnsupportedProtocolConfigured .*443.*UDP/.test(text)));

  const rc27 = await made(s, 'rc-27');
  assert.deepEqual(rc27.ingress, [{ ip: '10.0.0.101', ipMode: 'VIP' }]);
  assert.equal(rc27.lb.publicNet.enabled, false);
  assert.deepEqual(rc27.lb.privateNets, [{ network: s.networkID, ip: '10.0.0.101' }]);
  assert.deepEqual(
    targetsOf(rc27.lb),
    ids.map(id => `${id} private`),
  );
  const publicAgain = { metadata: { annotations: lb({ 'disable-public-network': 'false' }) } };
  await s.cluster.client.must('PATCH', servicePath('rc-27'), publicAgain, MERGE_PATCH);
  await eventually('public again', async () => (await made(s, 'rc-27')).ingress.length === 3 || undefined, timeout);

  const errors = controller.lines().filter(({ level }) => level === 'error');
  assert.deepEqual(errors, []);
  await tearDown(s, names, ['cluster-a']);
});

it('gives each Service that leaves the place to the variables the load balancer that its author expects', async t => {
  const s = await scenario(t);
  const ids = await cluster(s);
  const [w1, w2] = ids.map(String);
  const { id: certificate } = s.hetzner.certificates.create({ name: 'wildcard-example' });
  s.hetzner.loadBalancers.create({ id: 7, name: 'by-hand' });
  const env = { HCLOUD_LOAD_BALANCERS_LOCATION: 'fsn1' };
  const controller = s.start({ env });
  for (const i of [1, 2]) await s.waitRouted(i, timeout);
  const names = ['rc-19', 'rc-20', 'rc-21-d', 'rc-22', 'rc-24', 'rc-25-kura', 'rc-26', 'rc-30'] as const;
  for (const name of names) await apply(s, name);

  const rc19 = await made(s, 'rc-19');
  const { publicNet, privateNets } = rc19.lb;
  assert.deepEqual(addresses(rc19), [publicNet.ipv4?.ip, publicNet.ipv6?.ip, privateNets[0]?.ip]);
  for (const { healthCheck } of rc19.lb.services) assert.deepEqual([healthCheck.interval, healthCheck.retries], [3, 3]);

  assert.equal((await made(s, 'rc-20')).lb.id, 7);
  const [unknown = ''] = (await warnings(s, 'rc-20')).filter(text => text.startsWith('UnknownAnnotation'));
  for (const key of ['http-redirect-https', 'algorithm (did you mean algorithm-type?)'])
    assert.ok(unknown.includes(`load-balancer.hetzner.cloud/${key}`), unknown);

  assert.ok((await warnings(s, 'rc-21-d')).some(text => text.includes('load-balancer.hetzner.cloud/network-zone')));
  assert.deepEqual(ingressOf(await get(s, 'rc-21-d')), []);
  const zone = { metadata: { annotations: lb({ 'network-zone': 'eu-central' }) } };
  await s.cluster.client.must('PATCH', servicePath('rc-21-d'), zone, MERGE_PATCH);
  assert.equal((await made(s, 'rc-21-d')).lb.networkZone, 'eu-central');

  const rc22 = await made(s, 'rc-22');
  const [https] = rc22.lb.services;
  assert.equal(rc22.lb.services.length, 1);
  assert.deepEqual(
    [https?.protocol, https?.http?.certificates, https?.http?.redirectHTTP],
    ['https', [certificate], true],
  );
  assert.equal(https?.healthCheck.protocol, 'tcp');
  assert.ok(addresses(rc22).every(ip => ip?.includes(':') === false));

  const rc24 = await made(s, 'rc-24');
  assert.deepEqual(
    rc24.lb.services.map(({ healthCheck }) => healthCheck.port),
    [9000, 9000],
  );
  const noPort = { metadata: { annotations: { 'load-balancer.hetzner.cloud/health-check-port': null } } };
  await s.cluster.client.must('PATCH', servicePath('rc-24'), noPort, MERGE_PATCH);
  const back = async () =>
    (await made(s, 'rc-24')).lb.services.every(one => one.healthCheck.port === one.destinationPort) || undefined;
  await eventually('health checks on the node ports', back, timeout);

  const kura = await made(s, 'rc-25-kura');
  assert.deepEqual([kura.lb.algorithm, targetsOf(kura.lb)], ['least_connections', [w1]]);

  const rc26 = await made(s, 'rc-26');
  assert.deepEqual([rc26.lb.name, targetsOf(rc26.lb)], ['workers', [w1]]);
  assert.notEqual(addresses(rc26)[0], '203.0.113.7');
  const { annotations } = (await get(s, 'rc-26')).metadata;
  assert.deepEqual(annotations, published['rc-26'].annotations);

  const rc30 = await made(s, 'rc-30');
  assert.deepEqual([rc30.lb.name, targetsOf(rc30.lb)], ['ingress', [w1, w2]]);
  const label = { metadata: { labels: { 'node.kubernetes.io/exclude-from-external-load-balancers': '' } } };
  await s.cluster.client.must('PATCH', '/api/v1/nodes/w2', label, MERGE_PATCH);
  const isOut = async () => targetsOf((await made(s, 'rc-30')).lb).join() === w1 || undefined;
  await eventually('w2 is no target', isOut, timeout);
  await eventually(
    'all are at rest',
    async () =>
      s.hetzner.loadBalancers.list().every(one => !targetsOf(one).some(target => target.startsWith(w2 as string))) ||
      undefined,
    timeout,
  );

  assert.equal(await controller.stop(), 0);
  s.hetzner.clearRequests();
  const again = s.start({ env });
  await again.waitForLine(({ msg }) => msg === 'Became the leader', 'the lead', timeout);
  await eventually(
    'the list is read',
    async () => s.hetzner.count({ route: '/load_balancers' }) > 0 || undefined,
    timeout,
  );
  await tearDown(s, names, []);
  const writes = s.hetzner.requests
    .filter(({ method }) => method !== 'GET')
    .map(({ method, route }) => `${method} ${route}`);
  assert.deepEqual(
    writes,
    names.map(() => 'DELETE /load_balancers/{id}'),
  );
});

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { LoadBalancer } from '../../lib/hetzner/lb-types.ts';
import { type Cluster, eventually } from '../support/cluster.ts';
import { type KubeObject, MERGE_PATCH } from '../support/kube-client.ts';
import { nodePath, setReady } from '../support/nodes.ts';
import { type PeerState, peerIngress, peerState } from '../support/peer-state.ts';
import { networkUnavailable, type Scenario, scenarios } from '../support/scenario.ts';
import { deleteService, servicePath, servicesPath } from '../support/services.ts';

const scenario = scenarios();

/** The next scenario of this file shall find no Services. */
async function removeServices(cluster: Cluster): Promise<void> {
  const list = await cluster.client.must('GET', servicesPath());
  for (const { metadata } of list.items.filter(({ spec }) => spec.type === 'LoadBalancer')) {
    const patch = { metadata: { finalizers: null } };
    await cluster.client.must('PATCH', servicePath(metadata.name), patch, MERGE_PATCH);
    await cluster.client.send('DELETE', servicePath(metadata.name));
  }
}

interface PeerScenario {
  readonly s: Scenario;
  readonly peer: PeerState;
}

async function peerScenario(t: TestContext): Promise<PeerScenario> {
  const s = await scenario(t);
  t.after(() => removeServices(s.cluster));
  return { s, peer: peerState(s) };
}

/** Three nodes and a Service of each kind that the peer treats in a way of its own. */
async function wholeState({ s, peer }: PeerScenario): Promise<string[]> {
  for (const i of [1, 2, 3]) await peer.node(i);
  const targets = [1, 2, 3];
  await peer.service({ name: 'plain', targets });
  await peer.service({
    name: 'private',
    annotations: { name: 'edge', 'use-private-ip': 'true', 'uses-proxyprotocol': 'true' },
    ports: [80, 443],
    listener: { proxyProtocol: true },
    targets,
    usePrivateIP: true,
    ingress: peerIngress('Proxy'),
  });
  await peer.service({
    name: 'inside',
    annotations: { 'disable-public-network': 'true', 'use-private-ip': 'true', 'ipv6-disabled': 'true' },
    targets,
    usePrivateIP: true,
    publicInterface: false,
  });
  await peer.service({
    name: 'http',
    annotations: {
      protocol: 'http',
      'http-sticky-sessions': 'true',
      'http-cookie-lifetime': '10m',
      'health-check-interval': '5s',
      'health-check-http-path': '/ready',
      'algorithm-type': 'round_robin',
      hostname: 'www.example.com',
    },
    listener: { protocol: 'http', http: { stickySessions: true, cookieLifetime: 600 } },
    healthCheck: { protocol: 'http', interval: 5, http: { path: '/ready' } },
    targets,
    ingress: () => [{ hostname: 'www.example.com' }],
  });
  const uploaded = s.hetzner.certificates.create({ name: 'wildcard' });
  await peer.service({
    name: 'https',
    annotations: { protocol: 'https', 'http-certificates': 'wildcard', 'http-redirect-http': 'true' },
    ports: [443],
    listener: { protocol: 'https', http: { certificates: [uploaded.id], redirectHTTP: true } },
    targets,
  });
  const managed = s.hetzner.certificates.create({ name: 'later', domainNames: ['example.com'] });
  const { service } = await peer.service({
    name: 'managed',
    annotations: {
      protocol: 'https',
      'certificate-type': 'managed',
      'http-managed-certificate-domains': 'example.com',
      'http-managed-certificate-name': 'later',
    },
    ports: [443],
    listener: { protocol: 'https', http: { certificates: [managed.id] } },
    targets,
  });
  s.hetzner.certificates.setLabels(managed.id, { 'hcloud-ccm/service-uid': service.metadata.uid });
  return ['plain', 'private', 'inside', 'http', 'https', 'managed'];
}

/** All of Hetzner's side that a controller could change. */
const stateOf = ({ hetzner }: Scenario): unknown => [
  hetzner.networks.list(),
  hetzner.loadBalancers.list(),
  hetzner.certificates.list(),
];

const writesOf = ({ hetzner }: Scenario): string[] =>
  hetzner.requests.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`);

/** Verbs and resources of the controller's requests that change something, but for lease and events. */
const kubeWritesOf = async ({ cluster }: Scenario): Promise<string[]> =>
  (await cluster.requests())
    .filter(({ user, verb }) => user === 'controller' && !['get', 'list', 'watch'].includes(verb))
    .map(({ verb, path }) => `${verb} ${path}`)
    .filter(request => !/\/(events|leases)(\/|\?|$)/.test(request));

interface Document {
  readonly network: { readonly id: number; readonly name: string } | null;
  readonly networks: readonly { readonly id: number; readonly name: string }[];
  readonly changes: { readonly total: number; readonly hetzner: number; readonly kubernetes: number };
  readonly controllers: readonly {
    readonly controller: string;
    readonly changes: readonly {
      readonly object: string;
      readonly action: string;
      readonly details: Readonly<Record<string, unknown>>;
      readonly why: string;
    }[];
    readonly notes: readonly { readonly object: string; readonly text: string }[];
  }[];
}

async function plan(s: Scenario, code: number, env: Readonly<Record<string, string>> = {}): Promise<Document> {
  const result = await s.command('plan', { args: ['--json=true'], env });
  assert.equal(result.code, code, `${result.stdout}\n${result.stderr}`);
  return JSON.parse(result.stdout);
}

/** `controller object: action` of each change. */
const actionsOf = ({ controllers }: Document): string[] =>
  controllers.flatMap(({ controller, changes }) =>
    changes.map(({ object, action }) => `${controller} ${object}: ${action}`),
  );

it('prints nothing on a cluster run by the peer, with exit code 0, and sends only GETs', async t => {
  const p = await peerScenario(t);
  await wholeState(p);
  const before = stateOf(p.s);
  const seen = (await p.s.cluster.requests()).length;
  p.s.hetzner.clearRequests();
  const { code, stdout, stderr } = await p.s.command('plan');
  assert.equal(stdout, '');
  assert.equal(code, 0);
  assert.match(
    stderr,
    /^Read 3 nodes, \d+ Services, 3 servers, 6 load balancers: nothing to change\. Nothing was written\.\n$/,
  );
  const document = await plan(p.s, 0);
  assert.deepEqual(document.changes, { total: 0, hetzner: 0, kubernetes: 0 });
  assert.deepEqual(document.networks, [{ id: p.s.networkID, name: 'k8s' }]);
  assert.deepEqual(
    document.controllers.map(({ controller }) => controller),
    ['node', 'lifecycle', 'route', 'loadBalancer'],
  );

  assert.deepEqual(writesOf(p.s), []);
  assert.ok(p.s.hetzner.requests.length > 0);
  const requests = (await p.s.cluster.requests()).slice(seen).filter(({ user }) => user === 'controller');
  assert.deepEqual([...new Set(requests.map(({ verb }) => verb))], ['list']);
  assert.deepEqual(stateOf(p.s), before);
});

it('starts on what the peer left without a write to Hetzner or to a node or Service, and leaves it so for the peer', async t => {
  const p = await peerScenario(t);
  const { s } = p;
  const services = await wholeState(p);
  const before = stateOf(s);
  s.hetzner.clearRequests();
  const seen = (await kubeWritesOf(s)).length;
  const controller = s.start({ args: ['--v=5'] });
  const reconciled = (name: string, key: string) =>
    controller.waitForLine(l => l.msg === 'Reconciled' && l.controller === name && l.key === key, `${name} ${key}`);
  for (const i of [1, 2, 3]) await reconciled('route', `10.244.${i}.0/24`);
  for (const name of services) await reconciled('loadBalancer', `default/${name}`);
  assert.equal(await controller.stop(), 0);
  assert.deepEqual(writesOf(s), []);
  assert.deepEqual(stateOf(s), before);
  assert.deepEqual((await kubeWritesOf(s)).slice(seen), []);
  const said = controller.lines().filter(({ level }) => level === 'warn' || level === 'error');
  assert.deepEqual(said, []);
});

it('names each difference from the peer that is one by design, where a peer has left it', async t => {
  const { s, peer } = await peerScenario(t);
  for (const i of [1, 2]) await peer.node(i);
  await peer.node(3, {
    podCIDRs: ['10.244.3.0/24', 'fd00:3::/64'],
    condition: { status: 'True', reason: 'NoRouteCreated' },
  });
  await s.cluster.client.must('PATCH', nodePath('w2'), { spec: { unschedulable: true } }, MERGE_PATCH);
  await peer.service({ name: 'local', spec: { externalTrafficPolicy: 'Local' }, targets: [1, 2, 3] });
  const managed = s.hetzner.certificates.create({ name: 'old', domainNames: ['old.example.com'] });
  const { service } = await peer.service({
    name: 'managed',
    annotations: {
      protocol: 'https',
      'certificate-type': 'managed',
      'http-managed-certificate-domains': 'new.example.com',
      'http-managed-certificate-name': 'old',
    },
    ports: [443],
    listener: { protocol: 'https', http: { certificates: [managed.id] } },
    targets: [1, 3],
  });
  s.hetzner.certificates.setLabels(managed.id, { 'hcloud-ccm/service-uid': service.metadata.uid });
  const document = await plan(s, 2);
  assert.deepEqual(actionsOf(document).sort(), [
    'loadBalancer Service default/local: remove target',
    'loadBalancer Service default/local: update listener',
    'loadBalancer Service default/managed: create certificate',
    'loadBalancer Service default/managed: delete certificate',
    'loadBalancer Service default/managed: update listener',
    'route Node w3: set NetworkUnavailable',
  ]);
  assert.deepEqual(writesOf(s), []);
});

it('tells of everything that differs what would be done and why, as text and as data, and what only looks wrong', async t => {
  const { s, peer } = await peerScenario(t);
  const first = await peer.node(1);
  await peer.node(2);
  const { loadBalancer } = await peer.service({ name: 'web', targets: [1, 2] });
  const { service: left } = await peer.service({ name: 'left', targets: [1, 2] });
  await deleteService(s.cluster, 'left');
  // A worker that joins, one without a server, one whose server is gone, one whose server is off.
  s.addServer(4);
  await s.join(4);
  await s.join(5);
  await peer.node(6);
  s.hetzner.servers.remove(s.hetzner.servers.byName('w6')?.id as number);
  await setReady(s.cluster, 'w6', 'Unknown');
  const off = await peer.node(7);
  s.hetzner.servers.setStatus(off, 'off');
  await setReady(s.cluster, 'w7', 'Unknown');
  s.hetzner.servers.setPublicIPs(first, { ipv4: '203.0.113.200' });
  s.hetzner.networks.removeRoute(s.networkID, '10.244.2.0/24', '10.0.1.2');
  s.hetzner.networks.addRoute(s.networkID, '10.244.99.0/24', '10.0.1.1');
  s.hetzner.loadBalancers.removeTarget(loadBalancer.id, { type: 'server', serverID: first, usePrivateIP: false });
  s.hetzner.loadBalancers.setAlgorithm(loadBalancer.id, 'least_connections');
  const annotations = {
    'load-balancer.hetzner.cloud/algorithm-type': 'round_robin',
    'load-balancer.hetzner.cloud/node-selecter': 'a=b',
  };
  await s.cluster.client.must('PATCH', servicePath('web'), { metadata: { annotations } }, MERGE_PATCH);
  const createdFor = async (name: string, more: object): Promise<KubeObject> =>
    s.cluster.client.must('POST', servicesPath(), {
      metadata: { name, annotations: { 'load-balancer.hetzner.cloud/location': 'fsn1', ...more } },
      spec: { type: 'LoadBalancer', ports: [{ port: 80, protocol: 'TCP' }] },
    });
  await createdFor('new', {});
  await createdFor('lost', { 'load-balancer.hetzner.cloud/location': '' });

  s.hetzner.clearRequests();
  const document = await plan(s, 2);
  assert.deepEqual(actionsOf(document).sort(), [
    'lifecycle Node w6: delete after confirmation',
    'lifecycle Node w7: taint as shut down',
    'loadBalancer Service default/left: delete load balancer',
    'loadBalancer Service default/left: remove finalizer',
    'loadBalancer Service default/new: add finalizer',
    'loadBalancer Service default/new: create load balancer',
    'loadBalancer Service default/web: add target',
    'loadBalancer Service default/web: add target',
    'loadBalancer Service default/web: add target',
    'loadBalancer Service default/web: change algorithm',
    'node Node w1: replace addresses',
    'node Node w4: initialise',
    'node Node w4: replace addresses',
    'route Network k8s: create route',
    'route Network k8s: create route',
    'route Network k8s: delete route',
    'route Node w4: set NetworkUnavailable',
  ]);
  assert.deepEqual(document.changes, { total: 17, hetzner: 9, kubernetes: 8 });
  const notes = document.controllers.flatMap(one => one.notes.map(({ object, text }) => `${object}: ${text}`));
  for (const expected of [
    /^Node w5: stays as it is: no server named w5 exists/,
    /^Service default\/web: These annotations are not known .*node-selecter \(did you mean node-selector\?\)/,
    /^Service default\/lost: .*neither a location nor a network zone is set/,
  ]) {
    assert.ok(
      notes.some(note => expected.test(note)),
      `${expected} in\n${notes.join('\n')}`,
    );
  }
  const changes = document.controllers.flatMap(one => one.changes);
  assert.ok(changes.every(({ why }) => why.length > 10));
  const removal = changes.find(({ action }) => action === 'delete route');
  assert.deepEqual(removal?.details, { destination: '10.244.99.0/24', gateway: '10.0.1.1' });

  const { code, stdout } = await s.command('plan');
  assert.equal(code, 2);
  assert.match(stdout, /^route: 4 changes$/m);
  assert.match(stdout, /^ {2}Network k8s: create route \(Hetzner\)\n {6}destination: 10\.244\.2\.0\/24\n/m);
  assert.match(stdout, /^ {6}because node w2 has this pod CIDR, and there is no route to it$/m);
  assert.deepEqual(writesOf(s), []);
  assert.equal(left.metadata.name, 'left');
});

/** What the controller is to do after what it has done is nothing. */
it('says nothing any more once the controller has done what it said', async t => {
  const { s, peer } = await peerScenario(t);
  await peer.node(1);
  s.addServer(2);
  await s.join(2);
  await peer.service({ name: 'local', spec: { externalTrafficPolicy: 'Local' }, targets: [1] });
  const before = await plan(s, 2);
  assert.ok(actionsOf(before).includes('route Network k8s: create route'));
  const controller = s.start();
  await s.waitRouted(2);
  const isDone = (one: LoadBalancer): boolean =>
    one.targets.length === 2 && one.services.every(({ healthCheck }) => healthCheck.protocol === 'http');
  await eventually('targets and check', async () => s.hetzner.loadBalancers.list().every(isDone) || undefined);
  await controller.stop();
  const { stdout } = await s.command('plan');
  assert.equal(stdout, '');
});

it('speaks with a node selector of the nodes of this instance alone, and of nothing once that has done its part', async t => {
  const { s, peer } = await peerScenario(t);
  const groups = { 1: 'a', 2: 'b', 3: 'a', 4: 'b' } as const;
  const group = (i: number, value: string) =>
    s.cluster.client.must('PATCH', nodePath(`w${i}`), { metadata: { labels: { 'node-group': value } } }, MERGE_PATCH);
  for (const i of [1, 2] as const) {
    await peer.node(i);
    await group(i, groups[i]);
  }
  for (const i of [3, 4] as const) {
    s.addServer(i);
    await s.join(i, { labels: { 'node-group': groups[i] } });
  }
  await peer.service({ name: 'web', targets: [1, 2] });
  // Of a node of the other instance, and of nobody.
  s.hetzner.networks.removeRoute(s.networkID, '10.244.2.0/24', '10.0.1.2');
  const env = { HCLOUD_SERVER_LABEL_SELECTOR: 'node-group=a' };
  const document = await plan(s, 2, env);
  assert.deepEqual(actionsOf(document).sort(), [
    'loadBalancer Service default/web: add target',
    'node Node w3: initialise',
    'node Node w3: replace addresses',
    'route Network k8s: create route',
    'route Node w3: set NetworkUnavailable',
  ]);
  const route = document.controllers.flatMap(({ changes }) => changes).find(({ action }) => action === 'create route');
  assert.equal(route?.details.destination, '10.244.3.0/24');
  assert.deepEqual(writesOf(s), []);

  const controller = s.start({ env });
  await s.waitRouted(3);
  await eventually('the target', async () => s.hetzner.loadBalancers.list()[0]?.targets.length === 3 || undefined);
  await controller.stop();
  assert.equal((await plan(s, 0, env)).changes.total, 0);
  assert.ok((await plan(s, 2)).changes.total > 0, 'the other nodes are still to do');
});

it('speaks with several networks of the routes of each, and of nothing once they are there', async t => {
  const { s } = await peerScenario(t);
  const env = { HCLOUD_NETWORK: 'k8s', HCLOUD_WORKER_NETWORK_REGEX: 'workers-[0-9]+' };
  const workers = s.hetzner.networks.create({
    name: 'workers-1',
    ipRange: '172.16.0.0/16',
    subnets: ['172.16.0.0/24'],
  });
  const other = s.hetzner.networks.create({ name: 'others', ipRange: '172.17.0.0/16', subnets: ['172.17.0.0/24'] });
  s.addServer(1);
  await s.join(1);
  s.hetzner.servers.create({ name: 'w2', network: workers.id, ip: '172.16.0.2' });
  await s.join(2);
  s.hetzner.servers.create({ name: 'w3', network: other.id, ip: '172.17.0.3' });
  await s.join(3);
  const document = await plan(s, 2, env);
  assert.deepEqual(document.network, { id: s.networkID, name: 'k8s' });
  assert.deepEqual(document.networks, [document.network, { id: workers.id, name: 'workers-1' }]);
  const routes = document.controllers
    .flatMap(({ changes }) => changes)
    .filter(({ action }) => action === 'create route')
    .map(({ object, details }) => `${object}: ${details.destination} ${details.gateway}`);
  assert.deepEqual(routes.sort(), [
    'Network k8s: 10.244.1.0/24 10.0.1.1',
    'Network workers-1: 10.244.2.0/24 172.16.0.2',
  ]);
  const addresses = actionsOf(document).filter(action => action.endsWith('replace addresses'));
  assert.deepEqual(addresses.sort(), [
    'node Node w1: replace addresses',
    'node Node w2: replace addresses',
    'node Node w3: replace addresses',
  ]);
  assert.deepEqual(writesOf(s), []);

  const controller = s.start({ env });
  const routesOf = (id: number) => s.hetzner.networks.get(id)?.routes.length;
  await eventually(
    'the routes',
    async () => (routesOf(s.networkID) === 1 && routesOf(workers.id) === 1) || undefined,
    30_000,
  );
  for (const name of ['w1', 'w2']) await s.waitForNode(name, node => networkUnavailable(node) === 'False', 30_000);
  await s.waitInitialised('w3');
  await controller.stop();
  assert.equal(routesOf(other.id), 0);
  assert.deepEqual(actionsOf(await plan(s, 0, env)), []);

  // The user's with several networks, a left-over with one.
  s.hetzner.networks.addRoute(s.networkID, '10.244.128.0/17', '10.0.1.1');
  assert.deepEqual(actionsOf(await plan(s, 0, env)), []);
  const withOne = await plan(s, 2);
  const larger = withOne.controllers.flatMap(({ changes }) => changes).find(({ action }) => action === 'delete route');
  assert.equal(larger?.details.destination, '10.244.128.0/17');
});

it('tells whether it could print: one line where the disk is full, none where the reader has enough', async t => {
  const { s } = await peerScenario(t);
  s.addServer(1);
  await s.join(1);
  const full = await s.command('plan', { stdout: 'full' });
  assert.equal(full.code, 1);
  assert.equal(full.stderr, 'Standard output: ENOSPC: no space left on device, write\n');
  assert.deepEqual(await s.command('plan', { stdout: 'unread' }), { code: 1, stdout: '', stderr: '' });
});

it('plans nothing in a project that knows no server of the cluster, and says why', async t => {
  const { s, peer } = await peerScenario(t);
  const id = await peer.node(1);
  await peer.service({ name: 'left', targets: [1] });
  await deleteService(s.cluster, 'left');
  await s.cluster.client.must('POST', servicesPath(), {
    metadata: { name: 'new', annotations: { 'load-balancer.hetzner.cloud/location': 'fsn1' } },
    spec: { type: 'LoadBalancer', ports: [{ port: 80, protocol: 'TCP' }] },
  });
  // As the project of another token would look like.
  for (const one of s.hetzner.loadBalancers.list()) s.hetzner.loadBalancers.remove(one.id);
  s.hetzner.servers.remove(id);
  s.hetzner.networks.addRoute(s.networkID, '10.244.99.0/24', '10.0.1.99');
  const document = await plan(s, 0);
  assert.deepEqual(actionsOf(document), []);
  const notes = document.controllers.flatMap(one => one.notes).filter(({ text }) => text.includes('another project'));
  assert.deepEqual(notes.map(({ object }) => object).sort(), [
    'Network k8s',
    'Service default/left',
    'Service default/new',
  ]);
});

it('ends with exit code 1 and one line when Hetzner refuses the token, the network is not there, or one side does not answer, and says which', async t => {
  const { s } = await peerScenario(t);
  const refused = async (options: Parameters<Scenario['command']>[1], message: RegExp): Promise<void> => {
    const { code, stdout, stderr } = await s.command('plan', options);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /\n {4}at /);
  };
  await refused({ env: { HCLOUD_TOKEN: 'y'.repeat(64) } }, /^HCLOUD_TOKEN: Hetzner refused the token/m);
  await refused({ env: { HCLOUD_NETWORK: 'nowhere' } }, /^HCLOUD_NETWORK: no network with the name or id "nowhere"/m);
  await refused({ kubernetesURL: 'http://127.0.0.1:9' }, /^Kubernetes API server: GET \S+: .*127\.0\.0\.1:9/m);
  await refused(
    { env: { HCLOUD_ENDPOINT: 'http://127.0.0.1:9' } },
    /^Hetzner cloud API: GET \/(?:networks|servers): .*ECONNREFUSED 127\.0\.0\.1:9/m,
  );
  await refused({ args: ['--json=yes'] }, /^--json="yes" is invalid: must be a boolean: /);
  await refused({ args: ['--node-monitor-perod=5s'] }, /--node-monitor-perod is not a known flag/);
});

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { Fault } from '../../lib/simulator/hetzner/faults.ts';
import { balanced, ingressOf, lb, ports, targetsOf } from '../support/balanced.ts';
import { JSON_PATCH, MERGE_PATCH } from '../support/kube-client.ts';
import { deleteNode, nodePath } from '../support/nodes.ts';
import { servicePath } from '../support/services.ts';
import { type VirtualApp, virtualApp } from '../support/virtual-app.ts';

const HOUR = 3_600_000;
const maxNodes = 5;

/** Values of annotations, with some that are wrong; null removes it. */
const annotationValues: Readonly<Record<string, readonly (string | null)[]>> = {
  name: ['edge', 'front', 'taken', null],
  type: ['lb11', 'lb21', 'lb31', 'lb99', null],
  'algorithm-type': ['round_robin', 'least_connections', 'best', null],
  'disable-public-network': ['true', 'false', 'maybe', null],
  'disable-private-ingress': ['true', 'yes', null],
  'use-private-ip': ['true', 'true', 'false', 'yes', null],
  'private-ipv4': ['10.0.7.7', '10.0.7.8', '10.0.1.1', 'x', null],
  'ipv6-disabled': ['true', null],
  hostname: ['lb.example.com', null],
  'ipv4-rdns': ['a.example.com', 'b.example.com', null],
  'node-selector': ['pool=a', 'pool notin (a)', '((', null],
  protocol: ['tcp', 'http', 'https', 'quic', null],
  'uses-proxyprotocol': ['true', 'false', 'on', null],
  'http-cookie-name': ['C', null],
  'http-cookie-lifetime': ['60', '1m40s', '1s', null],
  'http-timeout-idle': ['30s', '5s', null],
  'http-sticky-sessions': ['true', 'false', null],
  'http-redirect-http': ['true', 'false', null],
  'certificate-type': ['managed', 'uploaded', null],
  'http-certificates': ['one', 'one, two', 'one,nine', null],
  'http-managed-certificate-domains': ['example.com', 'example.com,*.example.com', null],
  'health-check-protocol': ['tcp', 'http', 'https', 'icmp', null],
  'health-check-port': ['31999', '99999', null],
  'health-check-interval': ['10', '15s', '2h', null],
  'health-check-timeout': ['5s', null],
  'health-check-retries': ['2', 'x', null],
  'health-check-http-path': ['/ready', null],
  'http-status-codes': ['200,204', null],
};

type Step =
  | { readonly do: 'annotate'; readonly values: Readonly<Record<string, string | null>> }
  | { readonly do: 'ports'; readonly ports: readonly number[]; readonly udp: boolean }
  | { readonly do: 'local'; readonly on: boolean }
  | { readonly do: 'node'; readonly i: number; readonly what: NodeChange }
  | { readonly do: 'cloud'; readonly what: CloudChange }
  | { readonly do: 'fault'; readonly fault: Fault }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'restart' };

const nodeChanges = ['add', 'remove', 'remove server', 'cordon', 'uncordon', 'exclude', 'include', 'pool'] as const;
type NodeChange = (typeof nodeChanges)[number];
const cloudChanges = [
  'no targets',
  'no listeners',
  'foreign listener',
  'algorithm',
  'detach',
  'public off',
  'public on',
  'rename',
  'delete',
  'lock',
  'other listener',
] as const;
type CloudChange = (typeof cloudChanges)[number];

const annotateStep = fc
  .subarray(Object.keys(annotationValues), { minLength: 1, maxLength: 4 })
  .chain(names =>
    fc
      .tuple(...names.map(name => fc.constantFrom(...(annotationValues[name] ?? []))))
      .map(values => Object.fromEntries(names.map((name, i) => [name, values[i] ?? null]))),
  )
  .map(values => ({ do: 'annotate', values }) as const);
const portStep = fc
  .record({ ports: fc.subarray([80, 443, 8080, 8443, 9000, 9001, 9002], { minLength: 1 }), udp: fc.boolean() })
  .map(more => ({ do: 'ports', ...more }) as const);
const lbPath = /^\/(?:load_balancers|certificates|actions)/;
const faultStep = fc
  .constantFrom<Fault[]>(
    { kind: 'error', status: 500, code: 'server_error' },
    { kind: 'error', status: 423, code: 'locked' },
    { kind: 'error', status: 409, code: 'conflict' },
    { kind: 'error', status: 422, code: 'invalid_input', message: 'invalid input' },
    { kind: 'error', status: 403, code: 'resource_limit_exceeded' },
    { kind: 'html', status: 502 },
    { kind: 'reset' },
    { kind: 'hang' },
    { kind: 'lost-after-effect' },
    { kind: 'reset-after-effect' },
    { kind: 'truncated' },
    { kind: 'action', error: { code: 'server_error', message: 'it failed' } },
    { kind: 'action', duration: 20_000 },
  )
  .chain(fault =>
    fc.record({ times: fc.integer({ min: 1, max: 6 }), skip: fc.nat(3) }).map(more => ({ ...fault, ...more })),
  )
  .map(fault => ({ do: 'fault', fault: { ...fault, path: lbPath } }) as const);
const nodeStep = fc
  .record({ i: fc.integer({ min: 1, max: maxNodes }), what: fc.constantFrom(...nodeChanges) })
  .map(more => ({ do: 'node', ...more }) as const);
const quietStep = fc.oneof(
  { weight: 6, arbitrary: annotateStep },
  { weight: 2, arbitrary: portStep },
  { weight: 1, arbitrary: fc.boolean().map(on => ({ do: 'local', on }) as const) },
  { weight: 4, arbitrary: nodeStep },
  { weight: 3, arbitrary: fc.constantFrom(...cloudChanges).map(what => ({ do: 'cloud', what }) as const) },
  { weight: 3, arbitrary: fc.constantFrom(50, 300, 2_000, 60_000).map(ms => ({ do: 'wait', ms }) as const) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' } as const) },
);

const open = async (t: TestContext) => {
  const v = virtualApp(t);
  const b = balanced(v);
  v.hetzner.certificates.create({ name: 'one' });
  v.hetzner.certificates.create({ name: 'two' });
  v.hetzner.loadBalancers.create({ name: 'taken' });
  v.hetzner.loadBalancers.setLabels(v.hetzner.loadBalancers.byName('taken')?.id as number, {
    'hcloud-ccm/service-uid': 'elsewhere',
  });
  const servers = new Map<number, number>();
  const start = () => v.start({ args: ['--node-status-update-frequency=2h'] });
  let controller = start();
  const add = async (i: number): Promise<void> => {
    if (!servers.has(i)) servers.set(i, v.addServer(i));
    if (v.node(`w${i}`) === undefined) await v.join(i, { labels: { pool: i % 2 === 0 ? 'a' : 'b' } });
  };
  await add(1);
  await add(2);
  await v.settled(b.create('web', {}, { ports: ports(80, 443) }));
  const own = () => v.hetzner.loadBalancers.list().find(one => one.name !== 'taken');

  const patchNode = (i: number, patch: object): Promise<unknown> =>
    v.node(`w${i}`) === undefined ? Promise.resolve() : v.client.must('PATCH', nodePath(`w${i}`), patch, MERGE_PATCH);
  const changeNode = async (i: number, what: NodeChange): Promise<void> => {
    switch (what) {
      case 'add':
        return add(i);
      case 'remove':
        if (v.node(`w${i}`) !== undefined) await deleteNode(v, `w${i}`);
        return;
      case 'remove server':
        if (servers.has(i)) v.hetzner.servers.remove(servers.get(i) as number);
        servers.delete(i);
        if (v.node(`w${i}`) !== undefined) await deleteNode(v, `w${i}`);
        return;
      case 'cordon':
      case 'uncordon':
        return void (await patchNode(i, { spec: { unschedulable: what === 'cordon' ? true : null } }));
      case 'exclude':
      case 'include': {
        const value = what === 'exclude' ? '' : null;
        const labels = { 'node.kubernetes.io/exclude-from-external-load-balancers': value };
        return void (await patchNode(i, { metadata: { labels } }));
      }
      case 'pool':
        return void (await patchNode(i, { metadata: { labels: { pool: 'a' } } }));
    }
  };
  const changeCloud = (what: CloudChange): void => {
    const found = own();
    if (found === undefined) return;
    const { id } = found;
    const { loadBalancers } = v.hetzner;
    switch (what) {
      case 'no targets':
        for (const target of found.targets) if (target.type === 'server') loadBalancers.removeTarget(id, target);
        return;
      case 'no listeners':
        for (const { listenPort } of found.services) loadBalancers.removeService(id, listenPort);
        return;
      case 'foreign listener':
        if (found.services.length < 5 && !found.services.some(one => one.listenPort === 6443))
          loadBalancers.addService(id, { listenPort: 6443, destinationPort: 6443, protocol: 'tcp' });
        return;
      case 'other listener':
        for (const { listenPort } of found.services)
          loadBalancers.updateService(id, { listenPort, destinationPort: 1 });
        return;
      case 'algorithm':
        loadBalancers.setAlgorithm(id, found.algorithm === 'round_robin' ? 'least_connections' : 'round_robin');
        return;
      case 'detach':
        for (const { network } of found.privateNets) loadBalancers.detach(id, network);
        return;
      case 'public off':
        loadBalancers.setPublicInterface(id, false);
        return;
      case 'public on':
        loadBalancers.setPublicInterface(id, true);
        return;
      case 'rename':
        loadBalancers.rename(id, 'by-hand');
        return;
      case 'delete':
        loadBalancers.remove(id);
        return;
      case 'lock':
        loadBalancers.lock(id, 20_000);
        return;
    }
  };
  const perform = async (step: Step): Promise<void> => {
    switch (step.do) {
      case 'annotate':
        return b.change('web', step.values);
      case 'ports': {
        const wanted = [...step.ports, ...(step.udp ? [{ port: 443, protocol: 'UDP' }] : [])];
        return void (await v.client.must(
          'PATCH',
          servicePath('web'),
          [{ op: 'replace', path: '/spec/ports', value: ports(...wanted) }],
          JSON_PATCH,
        ));
      }
      case 'local': {
        const spec = { externalTrafficPolicy: step.on ? 'Local' : 'Cluster' };
        return void (await v.client.must('PATCH', servicePath('web'), { spec }, MERGE_PATCH));
      }
      case 'node':
        return changeNode(step.i, step.what);
      case 'cloud':
        return changeCloud(step.what);
      case 'fault':
        return void v.hetzner.faults.add(step.fault);
      case 'wait':
        return v.advance(step.ms);
      case 'restart':
        await controller.kill();
        controller = start();
        return;
    }
  };
  return { v, b, own, perform, servers, controller: () => controller };
};

const settledFor = async (v: VirtualApp, ms: number): Promise<string[]> => {
  const since = v.now();
  await v.advance(ms);
  return v.hetzner.requests
    .filter(({ at, method, route }) => at >= since && method !== 'GET' && /load_balancers|certificates/.test(route))
    .map(({ method, path, status, code }) => `${method} ${path} ${status} ${code ?? ''}`);
};

/** Deleted by hand, a load balancer is not made again while one of these stands there. */
const wrongForCreation = [
  ['use-private-ip', 'yes'],
  ['private-ipv4', 'x'],
  ['disable-public-network', 'maybe'],
  ['type', 'lb99'],
] as const;

/** What is refused each time it is tried, and so is tried again. */
const refusals = new Set(['1s', '5s', '2h', 'lb99']);

async function check(t: TestContext, steps: readonly Step[]): Promise<void> {
  const world = await open(t);
  const { v, b, own, perform, servers } = world;
  const failed: string[] = [];
  await v.advance(5_000);
  for (const step of steps) await v.settled(perform(step)).catch(err => failed.push(`${step.do}: ${err}`));
  v.hetzner.faults.clear();
  assert.deepEqual(failed, []);
  // Two drift checks: what was done by hand is found, and what that leads to is found to be right.
  await v.advance(50 * HOUR);
  const annotations = (b.service('web')?.metadata.annotations ?? {}) as Record<string, string>;
  const of = (name: string): string | undefined => annotations[Object.keys(lb({ [name]: '' }))[0] as string];
  const isRefused = Object.values(annotations).some(value => refusals.has(value));
  const writes = await settledFor(v, 26 * HOUR);
  if (!isRefused) assert.deepEqual(writes, [], 'zero writes once it is settled');
  assert.equal(world.controller().error(), undefined);

  const balancer = own();
  if (balancer === undefined) {
    const unclear = of('node-selector') === '((' || wrongForCreation.some(([name, value]) => of(name) === value);
    assert.ok(unclear, 'there is a load balancer unless nobody can tell what it should be');
    return;
  }
  const wrongPorts = ['protocol', 'http-redirect-http', 'certificate-type'].some(name =>
    ['quic'].includes(of(name) ?? ''),
  );
  const spec = b.service('web')?.spec as { ports: { port: number; protocol: string; nodePort: number }[] };
  const tcp = spec.ports.filter(port => port.protocol === 'TCP');
  const redirected = balancer.services.some(one => one.http?.redirectHTTP === true);
  const listeners = balancer.services.map(one => one.listenPort).sort();
  const known = tcp.map(({ port }) => port).filter(port => !(redirected && port === 80));
  for (const listener of balancer.services) {
    const port = tcp.find(one => one.port === listener.listenPort);
    assert.ok(port !== undefined, `listener ${listener.listenPort} belongs to a port`);
    if (!(of('protocol') === 'https'))
      assert.equal(listener.destinationPort, port.nodePort, 'it leads to the node port');
  }
  const needsCertificate = of('protocol') === 'https';
  if (!wrongPorts && !needsCertificate && of('uses-proxyprotocol') !== 'on')
    assert.equal(listeners.length, Math.min(known.length, balancer.type.maxServices ?? 0), 'all ports have listeners');

  if (of('node-selector') === '((' || of('use-private-ip') === 'yes') return;
  const nodes = Array.from({ length: maxNodes }, (_, i) => i + 1).filter(
    i => v.node(`w${i}`) !== undefined && servers.has(i),
  );
  const labelsOf = (i: number) => (v.node(`w${i}`)?.metadata.labels ?? {}) as Record<string, string>;
  const selected = nodes.filter(i => {
    const { pool } = labelsOf(i);
    if (labelsOf(i)['node.kubernetes.io/exclude-from-external-load-balancers'] !== undefined) return false;
    if (of('node-selector') === 'pool=a') return pool === 'a';
    return of('node-selector') === undefined || pool !== 'a';
  });
  const isCordoned = (i: number): boolean => v.node(`w${i}`)?.spec.unschedulable === true;
  const eligible = selected.some(i => !isCordoned(i)) ? selected.filter(i => !isCordoned(i)) : selected;
  const isPrivate = of('use-private-ip') === 'true';
  // Without a public interface there is no way to public targets, and private ones need an attachment that is clear.
  if (!isPrivate && !balancer.publicNet.enabled) return;
  if (isPrivate && balancer.privateNets.length === 0) return;
  assert.deepEqual(targetsOf(balancer), eligible.map(i => `${servers.get(i)}${isPrivate ? ' private' : ''}`).sort());
  const shown = ingressOf(b.service('web')).flatMap(({ ip }) => ip ?? []);
  const addresses = [
    balancer.publicNet.ipv4?.ip,
    balancer.publicNet.ipv6?.ip,
    ...balancer.privateNets.map(net => net.ip),
  ];
  for (const ip of shown) assert.ok(addresses.includes(ip), `${ip} of the status belongs to the load balancer`);
}

/** More with RUNS, others with SEED. */
const [runs, seed] = [Number(process.env.RUNS ?? 8), Number(process.env.SEED ?? 7)];
for (const [title, step] of [
  ['whatever users and the cloud do', quietStep],
  ['whatever fails besides', fc.oneof({ weight: 3, arbitrary: quietStep }, { weight: 1, arbitrary: faultStep })],
] as const) {
  const samples = fc.sample(fc.array<Step>(step, { minLength: 4, maxLength: 16 }), { numRuns: runs, seed });
  for (const [i, steps] of samples.entries()) {
    it(`comes to rest at what is wanted, ${title} (${i + 1})`, async t => {
      await check(t, steps).catch(err => {
        throw new Error(`${steps.map(one => JSON.stringify(one)).join('\n')}\n${err.message.slice(0, 1_500)}`);
      });
    });
  }
}

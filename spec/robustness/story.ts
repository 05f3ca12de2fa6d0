import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { FatalError } from '../../lib/fatal-error.ts';
import { type Balanced, balanced, ingressOf, ports, targetsOf } from '../support/balanced.ts';
import { JSON_PATCH, type KubeObject } from '../support/kube-client.ts';
import { deleteNode, setReady } from '../support/nodes.ts';
import { isInitialised, networkUnavailable } from '../support/scenario.ts';
import { deleteService, servicePath } from '../support/services.ts';
import { type VirtualApp, type VirtualController, virtualApp } from '../support/virtual-app.ts';

/**
 * Half an hour in a cluster in which all calls of the program occur: nodes join, leave and lose their servers, Services of
 * all kinds come, change and go. It is told twice, so that the controller goes through it and starts in it.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

export interface Story {
  readonly v: VirtualApp;
  /** All controllers that ran, newest last. */
  readonly controllers: readonly VirtualController[];
  /** How often the program ended with a FatalError and was started again. */
  readonly ends: readonly FatalError[];
  /** Changes all that can change; goes on for six minutes. */
  tell(): Promise<void>;
  /** Ends all replicas, forgets the lease, and starts the program anew. */
  restart(): Promise<void>;
  /** Lets time pass; a program that ended is started again, as the kubelet does it. */
  advance(ms: number): Promise<void>;
  /** What is not as it should be in the end. */
  wrong(): string[];
  /** What went that should have stayed, at any time up to now. */
  lost(): string[];
}

const failedIssuance = { kind: 'action', error: { code: 'issuance_failed', message: 'no' } } as const;
const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager';
const managed = { protocol: 'https', 'certificate-type': 'managed' };

export async function openStory(t: TestContext): Promise<Story> {
  const v = virtualApp(t);
  const b = balanced(v);
  const controllers: VirtualController[] = [];
  const ends: FatalError[] = [];
  const { hetzner } = v;

  const start = (): void => {
    const args = [
      '--leader-elect=true',
      '--leader-elect-lease-duration=60s',
      '--leader-elect-renew-deadline=40s',
      '--leader-elect-retry-period=10s',
      '--node-status-update-frequency=2m',
    ];
    controllers.push(v.start({ args, env: { HCLOUD_LOG_LEVEL: 'debug' } }));
  };
  /** Those that run: two for a while, of which one leads. */
  const running = (): VirtualController[] => controllers.filter(controller => !stopped.has(controller));
  const stopped = new Set<VirtualController>();
  const stop = async (controller: VirtualController): Promise<void> => {
    stopped.add(controller);
    await controller.stop();
  };
  /** The waits of a pod that fails again and again. */
  let wait = 10 * SECOND;
  const revive = async (): Promise<number> => {
    const from = v.now();
    for (const controller of running()) {
      const err = controller.error();
      if (err === undefined) continue;
      assert.ok(err instanceof FatalError, `the program ended with ${err}`);
      ends.push(err);
      await stop(controller);
      await v.advance(wait);
      wait = Math.min(2 * wait, 5 * MINUTE);
      start();
    }
    return v.now() - from;
  };
  const advance = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 5 * SECOND) {
      await v.advance(Math.min(left, 5 * SECOND));
      left -= await revive();
    }
  };
  const restart = async (): Promise<void> => {
    for (const controller of running()) await stop(controller);
    v.kubernetes.delete(lease);
    start();
  };

  const servers = new Map<number, number>();
  const addNode = async (i: number): Promise<void> => {
    servers.set(i, v.addServer(i));
    await v.join(i);
  };
  const removeServer = (i: number): void => {
    hetzner.servers.remove(servers.get(i) as number);
    servers.delete(i);
  };

  // What belongs to somebody else.
  hetzner.networks.addRoute(v.networkID, '10.99.0.0/16', '10.0.9.9');
  hetzner.loadBalancers.create({ name: 'foreign' });
  hetzner.certificates.create({ name: 'foreign' });
  hetzner.servers.create({ name: 'foreign' });
  await v.join(200, { name: 'edge', providerID: 'talos://hcloud/1', taint: false, ready: false, podCIDRs: [] });

  for (const i of [1, 2, 3, 4]) await addNode(i);
  const isPrivate = { 'use-private-ip': 'true' };
  await b.create('web', { ...isPrivate, name: 'web' }, { ports: ports(80, 8080) });
  await b.create('edge', {}, { ports: ports(443) });
  await b.create('inner', { ...isPrivate, 'disable-public-network': 'true' });
  await b.create('old', isPrivate);
  await b.create('shop', { ...managed, 'http-managed-certificate-domains': 'shop.example.com' }, { ports: ports(443) });
  start();
  await v.advance(2 * MINUTE);

  const lbIDs = new Map(['web', 'edge', 'inner', 'shop'].map(name => [name, b.balancer(name).id]));
  /** Nodes that must not go before their time, and those that went. */
  const kept = new Set<string>(['w1', 'w2', 'w3', 'w4', 'edge']);
  const gone: string[] = [];
  const look = (): void => {
    for (const name of kept) if (v.node(name) === undefined) gone.push(`node ${name}`);
    for (const [name, id] of lbIDs)
      if (hetzner.loadBalancers.get(id) === undefined) gone.push(`load balancer of ${name}`);
    if (hetzner.loadBalancers.byName('foreign') === undefined) gone.push('foreign load balancer');
    if (hetzner.certificates.byName('foreign') === undefined) gone.push('foreign certificate');
    if (!v.routes().includes('10.99.0.0/16 10.0.9.9')) gone.push('foreign route');
  };
  const watched = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 15 * SECOND) {
      await advance(Math.min(left, 15 * SECOND));
      look();
    }
  };

  const tell = async (): Promise<void> => {
    // A join, one with a route that somebody else has made, one that loses its server, one that leaves.
    await addNode(5);
    kept.add('w5');
    hetzner.networks.addRoute(v.networkID, '10.244.6.0/24', '10.0.1.6');
    await addNode(6);
    kept.add('w6');
    await b.create('new', isPrivate, { ports: ports(80) });
    hetzner.faults.add({ ...failedIssuance, method: 'POST', path: '/certificates', times: 1 });
    const domains = { 'http-managed-certificate-domains': 'mail.example.com' };
    await b.create('mail', { ...managed, ...domains }, { ports: ports(443) });
    await watched(MINUTE);
    v.kubernetes.cutWatches();
    removeServer(4);
    kept.delete('w4');
    await setReady(v, 'w4', 'Unknown', v.now());
    await watched(MINUTE);
    kept.delete('w3');
    await deleteNode(v, 'w3');
    removeServer(3);
    await deleteService(v, 'old');
    await b.change('web', {
      type: 'lb21',
      name: 'www',
      'algorithm-type': 'least_connections',
      'ipv4-rdns': 'www.example.com',
      'health-check-interval': '20s',
    });
    const wanted = [{ op: 'replace', path: '/spec/ports', value: ports(8080, 9090) }];
    await v.client.must('PATCH', servicePath('web'), wanted, JSON_PATCH);
    await watched(MINUTE);
    await b.change('edge', { ...isPrivate, 'disable-public-network': 'true' });
    await b.change('inner', { 'disable-public-network': 'false', 'private-ipv4': '10.0.7.7' });
    await b.change('shop', { 'http-managed-certificate-domains': 'shop.example.org' });
    await setReady(v, 'w2', 'Unknown', v.now());
    await watched(2 * MINUTE);
    await setReady(v, 'w2', 'True', v.now());
    await watched(SECOND);
    start();
    await watched(MINUTE);
  };

  const nodeWrong = (i: number): string[] => {
    const node = v.node(`w${i}`);
    if (node === undefined) return [`node w${i} is missing`];
    const taints = ((node.spec.taints ?? []) as { key: string }[]).map(({ key }) => key);
    return [
      ...(isInitialised(node) ? [] : [`node w${i} is not initialised`]),
      ...(networkUnavailable(node) === 'False' ? [] : [`node w${i} has no network`]),
      ...(node.spec.providerID === `hcloud://${servers.get(i)}` ? [] : [`node w${i} is ${node.spec.providerID}`]),
      ...(taints.some(key => key.includes('shutdown')) ? [`node w${i} is tainted`] : []),
    ];
  };
  const serviceWrong = (name: string, servesPublicly: boolean, listeners: readonly number[]): string[] => {
    let balancer: ReturnType<Balanced['balancer']>;
    try {
      balancer = b.balancer(name);
    } catch (err) {
      return [(err as Error).message];
    }
    const isPublic = name === 'shop' || name === 'mail';
    const ids = [...servers.values()].map(id => `${id}${isPublic ? '' : ' private'}`).sort();
    const found = balancer.services.map(({ listenPort }) => listenPort).sort();
    const same = (what: string, is: unknown, should: unknown): string[] =>
      JSON.stringify(is) === JSON.stringify(should)
        ? []
        : [`${what} of ${name}: ${JSON.stringify(is)} instead of ${JSON.stringify(should)}`];
    const status = ingressOf(b.service(name)).flatMap(({ ip }) => ip ?? []);
    return [
      ...same('targets', targetsOf(balancer), ids),
      ...same('listeners', found, listeners),
      ...same('public interface', balancer.publicNet.enabled, servesPublicly),
      ...same('addresses', status.length, servesPublicly ? 3 : 1),
    ];
  };
  const equal = (what: string, is: unknown, should: unknown): string[] => {
    try {
      assert.deepEqual(is, should);
      return [];
    } catch {
      return [`${what}: ${JSON.stringify(is)} instead of ${JSON.stringify(should)}`];
    }
  };
  const wrong = (): string[] => {
    const alive = [...servers.keys()];
    const nodes = (v.kubernetes.list('/api/v1/nodes') as unknown as KubeObject[]).map(({ metadata }) => metadata.name);
    const services = [
      ...serviceWrong('web', true, [8080, 9090]),
      ...serviceWrong('edge', false, [443]),
      ...serviceWrong('inner', true, [80]),
      ...serviceWrong('shop', true, [443]),
      ...serviceWrong('mail', true, [443]),
      ...serviceWrong('new', true, [80]),
    ];
    if (services.length > 0) return [...alive.flatMap(nodeWrong), ...services];
    const web = b.balancer('web');
    const certificates = hetzner.certificates.list();
    return [
      ...alive.flatMap(nodeWrong),
      ...equal('nodes', nodes.toSorted(), ['edge', ...alive.map(i => `w${i}`)].toSorted()),
      ...equal(
        'routes',
        v.routes(),
        [...alive.map(i => `10.244.${i}.0/24 10.0.1.${i}`), '10.99.0.0/16 10.0.9.9'].toSorted(),
      ),
      ...equal('load balancers', hetzner.loadBalancers.list().length, 7),
      ...equal('service old', b.service('old'), undefined),
      ...equal(
        'web',
        [web.name, web.type.name, web.algorithm, web.services[0]?.healthCheck.interval],
        ['www', 'lb21', 'least_connections', 20],
      ),
      ...equal('reverse DNS', web.publicNet.ipv4?.dnsPtr, 'www.example.com'),
      ...equal(
        'address of inner',
        b.balancer('inner').privateNets.map(({ ip }) => ip),
        ['10.0.7.7'],
      ),
      ...equal('domains', certificates.flatMap(({ domainNames }) => domainNames).toSorted(), [
        'mail.example.com',
        'shop.example.org',
      ]),
      ...equal(
        'issuance',
        certificates.map(({ status }) => status?.issuance ?? 'completed'),
        certificates.map(() => 'completed'),
      ),
    ];
  };
  return { v, controllers, ends, tell, restart, advance: watched, wrong, lost: () => [...new Set(gone)] };
}

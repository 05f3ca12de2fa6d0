import assert from 'node:assert/strict';
import { ingressOf, listenersOf, targetsOf } from '../support/balanced.ts';
import type { KubeObject } from '../support/kube-client.ts';
import { isInitialised, networkUnavailable, routesOf } from '../support/scenario.ts';
import { type Course, nodesOf, providerIDOf, serverOf } from './course.ts';

const HOUR = 3_600_000;
const SHUTDOWN = 'node.cloudprovider.kubernetes.io/shutdown';

const podCIDRsOf = (node: KubeObject): readonly string[] => (node.spec.podCIDRs ?? []) as readonly string[];
const isReady = (node: KubeObject): boolean =>
  (node.status.conditions as { type: string; status: string }[]).some(c => c.type === 'Ready' && c.status === 'True');

/** The state is what it should be, and for an hour nothing is written. */
export async function assertAtRest(course: Course, user: string): Promise<void> {
  const { v } = course;
  assertNodes(course);
  assertRoutes(course);
  assertBalancers(course);
  const from = v.now();
  const before = v.kubernetes.journal.writes().length;
  await v.advance(HOUR);
  const written = v.kubernetes.journal
    .writes()
    .slice(before)
    .filter(one => one.user === user && !/\/(events|leases)/.test(one.path))
    .map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual([...course.balanced.writes(from), ...written], [], 'something is written at rest');
}

function assertNodes({ v, networks, ipam }: Course): void {
  const all = nodesOf(v);
  for (const node of all) {
    const { name } = node.metadata;
    const server = serverOf(v, node);
    assert.ok(server !== undefined, `${name} (${providerIDOf(node)}) stays, though its server is gone`);
    assert.ok(isInitialised(node), `${name} is not initialised`);
    assert.equal(providerIDOf(node), `hcloud://${server.id}`);
    const home = server.privateNets.find(net => networks.includes(net.network));
    const addresses = (node.status.addresses ?? []) as { type: string; address: string }[];
    const internal = addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => address);
    assert.deepEqual(internal, [home?.ip], `addresses of ${name}`);
    const isTainted = ((node.spec.taints ?? []) as { key: string }[]).some(({ key }) => key === SHUTDOWN);
    assert.equal(isTainted, server.status === 'off' && !isReady(node), `shutdown taint of ${name}`);
    if (ipam) assert.equal(podCIDRsOf(node).length, 1, `${name} has no pod CIDR`);
    assert.equal(networkUnavailable(node), 'False', `network of ${name}`);
  }
  const cidrs = all.flatMap(podCIDRsOf);
  assert.equal(new Set(cidrs).size, cidrs.length, `two nodes have one pod CIDR: ${cidrs.join()}`);
}

function assertRoutes({ v, networks }: Course): void {
  for (const network of networks) {
    const wanted = nodesOf(v).flatMap(node => {
      const home = serverOf(v, node)?.privateNets.find(net => networks.includes(net.network));
      return home?.network === network ? podCIDRsOf(node).map(cidr => `${cidr} ${home.ip}`) : [];
    });
    // Of several networks, a route that leads to no node may be the user's, and stays.
    const machines = new Set(nodesOf(v).flatMap(node => serverOf(v, node)?.privateNets.map(({ ip }) => ip) ?? []));
    const isOurs = (route: string): boolean => networks.length === 1 || machines.has(route.split(' ')[1] ?? '');
    assert.deepEqual(routesOf(v.hetzner, network).filter(isOurs), wanted.sort(), `routes of network ${network}`);
  }
}

function assertBalancers({ v, balanced: b, networks }: Course): void {
  const present = ['web', 'api'].filter(name => b.service(name) !== undefined);
  assert.equal(v.hetzner.loadBalancers.list().length, present.length, 'load balancers of Services');
  for (const name of present) {
    const service = b.service(name) as KubeObject;
    assert.equal(service.metadata.deletionTimestamp, undefined, `Service ${name} cannot go`);
    const balancer = b.balancer(name);
    const ports = (service.spec.ports as { port: number; nodePort: number }[]).map(
      ({ port, nodePort }) => `${port} -> ${nodePort}`,
    );
    assert.deepEqual(listenersOf(balancer), ports.sort(), `listeners of ${name}`);
    const how = networks.length === 1 ? ' private' : '';
    const targets = nodesOf(v).map(node => `${serverOf(v, node)?.id}${how}`);
    assert.deepEqual(targetsOf(balancer), targets.sort(), `targets of ${name}`);
    assert.ok(ingressOf(service).length > 0, `status of ${name}`);
  }
}

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Subject } from 'rxjs';
import { parseIPv4CIDR } from '../../../lib/controllers/ip.ts';
import { createPipeline } from '../../../lib/controllers/pipeline.ts';
import { obstacleTo } from '../../../lib/controllers/route/plan.ts';
import { createRouteReport } from '../../../lib/controllers/route/report.ts';
import { routeController } from '../../../lib/controllers/route/route-controller.ts';
import { createRouteTable } from '../../../lib/controllers/route/route-table.ts';
import { classOf } from '../../../lib/hetzner/errors.ts';
import type { Action, Network, Route, Server } from '../../../lib/hetzner/types.ts';
import { KubeError } from '../../../lib/kubernetes/errors.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { fromAbortable } from '../../../lib/streams/from-abortable.ts';
import { hetznerError, virtualClock } from '../../hetzner/support.ts';
import { recordingLogger } from '../../kubernetes/support.ts';
import { eventLog, networkID, nodeStore, noHooks, project, routedNode, runUntilEnd, server } from '../support.ts';

interface World {
  readonly servers?: readonly Server[];
  readonly nodes?: readonly KubeNode[];
  readonly routes?: Readonly<Record<string, string>>;
  /** Most routes the network holds. */
  readonly limit?: number;
  /** ms an action takes. */
  readonly takes?: number;
  /** The network refuses a change while an action runs on it. */
  readonly serial?: boolean;
  /** It refuses a route that overlaps another, as Hetzner does. */
  readonly disjoint?: boolean;
  /** Why the project may be another cluster's. */
  readonly doubt?: string;
}

const refusal = (code: string, status = 422) => hetznerError({ status, code, message: code });

/** The route controller over a network, a project and a store of nodes that are changed by hand, in virtual time. */
const lead = async (t: TestContext, world: World = {}) => {
  const hetzner = project(t, world.servers);
  const { time, state } = hetzner;
  const nodes = nodeStore();
  for (const object of world.nodes ?? []) nodes.put(object);
  const routes = new Map(Object.entries(world.routes ?? {}));
  const { limit = 100, takes = 0, serial = false, disjoint = false } = world;
  let running = 0;
  const calls: string[] = [];
  const trouble = {
    add: undefined as unknown,
    delete: undefined as unknown,
    patch: undefined as unknown,
    reads: 0,
    doubt: world.doubt,
  };
  const act = (verb: 'add' | 'delete', { destination, gateway }: Route, change: () => void): Promise<Action> => {
    calls.push(`${verb} ${destination} ${gateway}`);
    if (trouble[verb] !== undefined) throw trouble[verb];
    if (serial && running > 0) throw refusal('locked', 423);
    change();
    running += 1;
    return Promise.resolve({ id: calls.length, command: verb, status: 'running', error: undefined });
  };
  const cloud = {
    addRoute: async (_id: number, route: Route) =>
      act('add', route, () => {
        if (routes.has(route.destination)) throw refusal('invalid_input');
        if (disjoint && obstacleTo(route.destination, routes)) throw refusal('invalid_input');
        if (routes.size >= limit) throw refusal('resource_limit_exceeded', 403);
        routes.set(route.destination, route.gateway);
      }),
    deleteRoute: async (_id: number, route: Route) =>
      act('delete', route, () => {
        if (routes.get(route.destination) !== route.gateway) throw refusal('not_found', 404);
        routes.delete(route.destination);
      }),
  };
  const network = (): Network => ({
    id: networkID,
    name: 'k8s',
    ipRange: '10.0.0.0/8',
    routes: [...routes].map(([destination, gateway]) => ({ destination, gateway })),
    servers: [],
  });
  const table = createRouteTable({
    read: () =>
      fromAbortable(async () => {
        trouble.reads += 1;
        return network();
      }),
    initial: { value: network(), requestedAt: Date.now() },
    clock: virtualClock,
    errorHoldOff: () => 1_000,
  });
  const pipeline = createPipeline({
    waitForAction: async () => {
      await new Promise(resolve => setTimeout(resolve, takes));
      running -= 1;
    },
    isLocked: err => classOf(err) === 'locked',
    clock: virtualClock,
  });
  const events = eventLog();
  const logger = recordingLogger();
  const safety$ = new Subject<unknown>();
  const conditions: string[] = [];
  await hetzner.servers.notBefore(Date.now(), { priority: 'initialise', signal: new AbortController().signal });
  const startedAt = Date.now();
  const run$ = routeController({
    nodes,
    servers: hetzner.servers,
    project: { doubt: async () => trouble.doubt },
    cloud,
    networkID,
    table,
    pipeline,
    clusterCIDRs: [parseIPv4CIDR('10.244.0.0/16')].filter(block => block !== undefined),
    maxAge: 10_000,
    safety$,
    patchCondition: async (node, { status, reason }) => {
      conditions.push(`${node.name} ${status} ${reason}`);
      if (trouble.patch !== undefined) throw trouble.patch;
      return nodes.put({ ...node, networkUnavailable: { status, reason } });
    },
    report: createRouteReport({ nodes, events, networkID, networkName: 'k8s', clusterCIDRs: ['10.244.0.0/16'] }),
    clock: virtualClock,
    logger,
    hooks: noHooks,
    backoff: attempt => Math.min(300_000, 5_000 * 2 ** attempt),
  });
  const subscription = runUntilEnd(t, run$);
  await time.advance(10, 1);
  return {
    time,
    state,
    nodes,
    routes: () => Object.fromEntries([...routes].sort()),
    network: routes,
    calls,
    trouble,
    conditions,
    subscription,
    events: events.told,
    pass: async () => {
      safety$.next(0);
      await time.advance(50, 1);
    },
    messages: (level: string) => logger.lines.filter(line => line.level === level).map(line => line.msg),
    lists: () => state.lists.slice(1).map(at => (at - startedAt) / 1_000),
  };
};

const unattached = (id: number) => server(id, { privateNets: [] });
const at = (id: number, ip: string) => server(id, { privateNets: [{ network: networkID, ip, aliasIPs: [] }] });

describe('the route controller', () => {
  it('gives each node its route and says so on the node, without reading the network or the servers again', async t => {
    const w = await lead(t, { servers: [server(1), server(2)], nodes: [routedNode(1), routedNode(2)] });
    assert.deepEqual(w.routes(), { '10.244.1.0/24': '10.0.1.1', '10.244.2.0/24': '10.0.1.2' });
    assert.deepEqual(w.conditions.sort(), ['w1 False RouteCreated', 'w2 False RouteCreated']);
    assert.equal(w.trouble.reads, 0);
    assert.deepEqual(w.lists(), []);
    assert.deepEqual(w.messages('warn'), []);
  });

  it('takes the route of a node that went, and nothing else (BUG-021, BUG-022)', async t => {
    const foreign = { '0.0.0.0/0': '10.0.0.254', '192.168.50.0/24': '10.0.0.9', '10.0.0.0/8': '10.0.0.8' };
    const w = await lead(t, {
      servers: [server(1)],
      nodes: [routedNode(1)],
      routes: { ...foreign, '10.244.9.0/24': '10.0.0.99' },
    });
    await w.pass();
    assert.deepEqual(w.routes(), { ...foreign, '10.244.1.0/24': '10.0.1.1' });
    w.state.servers = [];
    w.nodes.drop('w1');
    await w.time.advance(100, 10);
    assert.deepEqual(w.routes(), foreign);
    assert.deepEqual(
      w.calls.filter(call => call.startsWith('delete')),
      ['delete 10.244.9.0/24 10.0.0.99', 'delete 10.244.1.0/24 10.0.1.1'],
    );
  });

  it("takes no route from a network that may be another cluster's, but makes those of servers it knows", async t => {
    const others = { '10.244.9.0/24': '10.0.0.99' };
    const w = await lead(t, {
      servers: [server(1)],
      nodes: [routedNode(1)],
      routes: others,
      doubt: 'another project',
    });
    await w.pass();
    assert.deepEqual(w.routes(), { ...others, '10.244.1.0/24': '10.0.1.1' });
    w.trouble.doubt = undefined;
    await w.time.advance(300_000, 10_000);
    assert.deepEqual(w.routes(), { '10.244.1.0/24': '10.0.1.1' });
  });

  it('names the route that is in the way of another, and makes that as soon as it is out of it', async t => {
    const wide = routedNode(2, { podCIDRs: ['10.244.8.0/21'] });
    const w = await lead(t, { servers: [server(1), server(2)], nodes: [wide], disjoint: true });
    w.nodes.put(routedNode(1, { podCIDRs: ['10.244.9.0/24'] }));
    await w.time.advance(100, 10);
    assert.deepEqual(w.routes(), { '10.244.8.0/21': '10.0.1.2' });
    const why = 'it overlaps the route to 10.244.8.0/21 via 10.0.1.2: ';
    assert.ok(
      w.events.some(event => JSON.stringify(event).includes(why)),
      JSON.stringify(w.events),
    );
    assert.deepEqual(w.conditions, ['w2 False RouteCreated', 'w1 True NoRouteCreated']);
    w.nodes.drop('w2');
    await w.time.advance(100, 10);
    assert.deepEqual(w.routes(), { '10.244.9.0/24': '10.0.1.1' });
  });

  it('does not take a route because servers are missing, the list failed, or the node is being deleted (BUG-015)', async t => {
    const w = await lead(t, { servers: [server(1)], nodes: [routedNode(1)] });
    w.state.servers = [];
    w.nodes.put(routedNode(1, { deleting: true, providerID: 'hcloud://99' }));
    w.nodes.put(routedNode(1, { providerID: '' }));
    await w.time.advance(70_000, 1_000);
    await w.pass();
    w.state.failWith = hetznerError();
    await w.time.advance(70_000, 1_000);
    await w.pass();
    assert.deepEqual(w.routes(), { '10.244.1.0/24': '10.0.1.1' });
    assert.deepEqual(w.calls, ['add 10.244.1.0/24 10.0.1.1']);
  });

  it('does nothing twice: a pass over a network that is right reads it, and changes nothing (BUG-026, BUG-032)', async t => {
    const w = await lead(t, { servers: [server(1)], nodes: [routedNode(1)] });
    for (let i = 0; i < 3; i += 1) {
      await w.time.advance(3_600_000, 60_000);
      await w.pass();
    }
    assert.equal(w.calls.length, 1);
    assert.equal(w.trouble.reads, 3);
    assert.equal(w.lists().length, 3);
    assert.deepEqual(w.conditions, ['w1 False RouteCreated']);
  });

  it('notices on a pass what somebody else did to the routes, and what moved when nobody else lists servers', async t => {
    const w = await lead(t, { servers: [server(1), server(2)], nodes: [routedNode(1), routedNode(2)] });
    w.network.delete('10.244.1.0/24');
    w.network.set('10.244.7.0/24', '10.0.1.1');
    w.state.servers = [server(1), at(2, '10.0.1.52')];
    await w.time.advance(100_000, 1_000);
    await w.pass();
    assert.deepEqual(w.routes(), { '10.244.1.0/24': '10.0.1.1', '10.244.2.0/24': '10.0.1.52' });
  });

  it('keeps a pod CIDR with its first owner, for good, and marks the other one (BUG-026)', async t => {
    const w = await lead(t, { servers: [server(1), server(2)], nodes: [routedNode(2)] });
    w.nodes.put(routedNode(1, { podCIDRs: ['10.244.2.0/24'] }));
    await w.time.advance(600_000, 5_000);
    await w.pass();
    assert.deepEqual(w.calls, ['add 10.244.2.0/24 10.0.1.2']);
    assert.deepEqual(w.conditions, ['w2 False RouteCreated', 'w1 True NoRouteCreated']);
    assert.equal(w.events[0]?.node, 'w1');
    assert.match(w.events[0]?.message ?? '', /node w2 has the same pod CIDR/);
    w.nodes.drop('w2');
    await w.time.advance(1_000, 10);
    assert.deepEqual(w.routes(), { '10.244.2.0/24': '10.0.1.1' });
    assert.equal(w.conditions.at(-1), 'w1 False RouteCreated');
  });

  it('routes the owner of a contested CIDR even where the other one cannot be marked', async t => {
    const w = await lead(t, { servers: [server(1), server(2)] });
    w.trouble.patch = new Error('down');
    w.nodes.put(
      routedNode(2, { podCIDRs: ['10.244.9.0/24'], networkUnavailable: { status: 'False', reason: 'RouteCreated' } }),
    );
    w.nodes.put(
      routedNode(1, { podCIDRs: ['10.244.9.0/24'], networkUnavailable: { status: 'False', reason: 'RouteCreated' } }),
    );
    await w.time.advance(100, 10);
    assert.equal(w.network.size, 1);
  });

  for (const [what, providerID] of [
    ['Robot servers', 'hrobot://4'],
    ['other providers', 'k3s://w4'],
    ['nobody yet', ''],
    ['a server that is not listed', 'hcloud://99'],
  ] as const) {
    it(`leaves what is there for a node of ${what}: no call, no condition, no event (BUG-027)`, async t => {
      const theirs = { '10.244.4.0/24': '10.0.2.2' };
      const w = await lead(t, {
        servers: [server(1), server(4)],
        nodes: [routedNode(4, { providerID })],
        routes: theirs,
      });
      await w.pass();
      await w.time.advance(600_000, 5_000);
      assert.deepEqual(w.routes(), theirs);
      assert.deepEqual([w.calls, w.conditions, w.events, w.lists()], [[], [], [], []]);
    });
  }

  it('looks again soon with a newer list for a server that is attached moments later (BUG-028)', async t => {
    const w = await lead(t, { servers: [unattached(3)], nodes: [routedNode(3)] });
    assert.deepEqual(w.conditions, ['w3 True NoRouteCreated']);
    assert.match(w.events[0]?.message ?? '', /server of node w3 is not attached to network k8s/);
    await w.time.advance(4_000, 100);
    w.state.servers = [server(3)];
    await w.time.advance(2_000, 100);
    assert.deepEqual(w.routes(), { '10.244.3.0/24': '10.0.1.3' });
    assert.equal(w.conditions.at(-1), 'w3 False RouteCreated');
    assert.equal(w.lists().length, 1);
  });

  it('asks ever more rarely, and once for all, for servers that stay unattached', async t => {
    const ids = Array.from({ length: 50 }, (_, i) => i + 1);
    const w = await lead(t, { servers: ids.map(unattached) });
    for (const id of ids) {
      w.nodes.put(routedNode(id));
      await w.time.advance(3_000, 1_000);
    }
    await w.time.advance(3_600_000, 1_000);
    const late = w.lists().filter(second => second > 1_800);
    assert.ok(late.length <= 25, `${late.length} lists in half an hour`);
  });

  it('tells the API what it refused on the node, and tries that route alone again, ever more rarely (BUG-031)', async t => {
    const w = await lead(t, { servers: [server(1), server(2)], nodes: [routedNode(2)] });
    w.trouble.add = refusal('invalid_input');
    w.nodes.put(routedNode(1));
    await w.time.advance(1_800_000, 1_000);
    assert.ok(w.calls.length < 15, `${w.calls.length} calls`);
    assert.ok(w.trouble.reads < 15);
    assert.equal(w.conditions.at(-1), 'w1 True NoRouteCreated');
    assert.equal(w.conditions.length, 2);
    assert.match(
      w.events[0]?.message ?? '',
      /Could not create route to 10\.244\.1\.0\/24 via 10\.0\.1\.1 in network k8s \(7\): invalid_input/,
    );
    w.trouble.add = undefined;
    await w.time.advance(300_000, 1_000);
    assert.equal(w.network.size, 2);
  });

  it('says why the route failed, also where the condition cannot be written then', async t => {
    const w = await lead(t, { servers: [server(1)] });
    w.trouble.add = refusal('resource_limit_exceeded', 403);
    w.trouble.patch = new Error('API server down');
    w.nodes.put(routedNode(1));
    await w.time.advance(200_000, 1_000);
    assert.equal(w.calls.length, 1, 'waits five minutes for room');
    assert.deepEqual(w.messages('warn'), [
      'Failed to mark node network unavailable',
      'Failed to reconcile, will try again',
    ]);
  });

  it('gives room to those who found none as soon as a route of ours goes', async t => {
    const nodes = [routedNode(1), routedNode(2), routedNode(3)];
    const w = await lead(t, { servers: [server(1), server(2), server(3)], nodes, limit: 2 });
    assert.equal(w.network.size, 2);
    const [out] = [1, 2, 3].filter(id => !w.network.has(`10.244.${id}.0/24`));
    assert.equal(w.events.at(-1)?.reason, 'RouteLimitReached');
    await w.time.advance(10_000, 100);
    const inside = [1, 2, 3].find(id => id !== out) as number;
    w.nodes.drop(`w${inside}`);
    await w.time.advance(100, 10);
    assert.ok(w.network.has(`10.244.${out}.0/24`));
    const calls = w.calls.length;
    w.nodes.drop(`w${out}`);
    await w.time.advance(600_000, 1_000);
    assert.equal(w.calls.length, calls + 1);
  });

  it('replaces a route only by a list that is newer than what it read of the network', async t => {
    const bare = { addresses: [] };
    const nodes = [routedNode(1, bare), routedNode(2, bare)];
    const w = await lead(t, { servers: [server(1), server(2)], nodes });
    await w.time.advance(60_000, 1_000);
    // Another process moved server 1 and its route; the retry of another change reads the network, not the servers.
    const { reads } = w.trouble;
    w.state.servers = [at(1, '10.0.1.51'), server(2)];
    w.network.set('10.244.1.0/24', '10.0.1.51');
    w.trouble.delete = refusal('service_error');
    w.nodes.drop('w2');
    await w.time.advance(6_000, 10);
    assert.equal(w.trouble.reads, reads + 1);
    assert.deepEqual(w.lists(), []);
    w.nodes.put(routedNode(1, { ...bare, podCIDRs: ['10.244.1.0/24', '10.244.8.0/24'] }));
    await w.time.advance(1_000, 10);
    assert.equal(w.network.get('10.244.1.0/24'), '10.0.1.51');
    assert.equal(w.lists().length, 1);
    assert.ok(!w.calls.some(call => call.startsWith('delete 10.244.1.0/24')), w.calls.join());
  });

  it('follows a server to its other address: the wrong route goes, then the right one comes (BUG-025)', async t => {
    const w = await lead(t, { servers: [server(1), server(2)], nodes: [routedNode(1), routedNode(2)] });
    w.state.servers = [at(1, '10.0.1.51'), server(2)];
    w.nodes.put(routedNode(1, { addresses: [{ type: 'InternalIP', address: '10.0.1.51' }] }));
    await w.time.advance(100, 10);
    assert.deepEqual(w.calls.slice(2), ['delete 10.244.1.0/24 10.0.1.1', 'add 10.244.1.0/24 10.0.1.51']);
  });

  it('does not take the route of a node that joins again before its deletion is sent', async t => {
    const w = await lead(t, {
      servers: [server(1), server(2), server(3)],
      nodes: [routedNode(1), routedNode(2), routedNode(3)],
      takes: 5_000,
      serial: true,
    });
    await w.time.advance(20_000, 100);
    for (const id of [1, 2, 3]) w.nodes.drop(`w${id}`);
    await w.time.advance(100, 10);
    w.nodes.put(routedNode(3, { uid: 'again' }));
    const before = w.calls.length;
    await w.time.advance(60_000, 100);
    assert.deepEqual(w.routes(), { '10.244.3.0/24': '10.0.1.3' });
    assert.ok(!w.calls.slice(before).some(call => call.includes('10.244.3.0/24')), w.calls.join());
  });

  it('does not fight over the condition with a CNI (BUG-030)', async t => {
    const cni = { status: 'False', reason: 'CiliumIsUp' };
    const w = await lead(t, { servers: [server(1)], nodes: [routedNode(1, { networkUnavailable: cni })] });
    assert.deepEqual(w.conditions, ['w1 False RouteCreated']);
    for (let i = 0; i < 20; i += 1) {
      w.nodes.put(routedNode(1, { networkUnavailable: cni }));
      await w.time.advance(10_000, 1_000);
    }
    assert.equal(w.conditions.length, 1);
  });

  it('leaves the condition alone until there is a pod CIDR, and says available only when all routes are there', async t => {
    const w = await lead(t, {
      servers: [server(1)],
      nodes: [routedNode(1, { podCIDRs: [] })],
      takes: 500,
      serial: true,
    });
    assert.deepEqual(w.conditions, []);
    w.nodes.put(routedNode(1, { podCIDRs: ['10.244.1.0/24', '2001:db8::/64', '10.244.11.0/24'] }));
    await w.time.advance(3_000, 10);
    assert.equal(w.network.size, 2);
    assert.deepEqual(w.conditions, ['w1 False RouteCreated']);
  });

  it('takes a condition it cannot write for settled where the node is gone', async t => {
    const w = await lead(t, { servers: [server(1)] });
    w.trouble.patch = new KubeError({ status: 404, reason: 'NotFound', message: 'no' });
    w.nodes.put(routedNode(1));
    await w.time.advance(60_000, 1_000);
    assert.equal(w.conditions.length, 1);
    assert.deepEqual(w.messages('warn'), []);
  });

  it('writes a condition again that somebody else wrote at the same moment', async t => {
    const w = await lead(t, { servers: [server(1)] });
    w.trouble.patch = new KubeError({ status: 409, reason: 'Conflict', message: 'no' });
    w.nodes.put(routedNode(1));
    await w.time.advance(1_000, 100);
    w.trouble.patch = undefined;
    await w.time.advance(60_000, 1_000);
    assert.equal(w.conditions.length, 2);
    assert.deepEqual(w.messages('warn'), []);
  });

  it('warns on the node of a pod CIDR outside of the cluster CIDR, and never takes its route (BUG-022)', async t => {
    const w = await lead(t, { servers: [server(1)], nodes: [routedNode(1, { podCIDRs: ['10.42.1.0/24'] })] });
    assert.deepEqual(
      w.events.map(e => e.reason),
      ['ClusterCIDRMisconfigured'],
    );
    w.nodes.drop('w1');
    await w.time.advance(70_000, 1_000);
    await w.pass();
    assert.deepEqual(w.routes(), { '10.42.1.0/24': '10.0.1.1' });
  });

  it('does nothing any more when the term ends', async t => {
    const w = await lead(t, { servers: [unattached(1)], nodes: [routedNode(1)] });
    w.subscription.unsubscribe();
    w.state.servers = [server(1)];
    w.nodes.put(routedNode(2));
    await w.time.advance(600_000, 5_000);
    assert.deepEqual([w.calls, w.lists()], [[], []]);
  });
});

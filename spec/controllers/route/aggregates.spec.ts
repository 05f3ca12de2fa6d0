import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { contains, overlaps, parseIPv4CIDR } from '../../../lib/controllers/ip.ts';
import { type ChosenNetworks, type GatewayRule, nodeNetworks } from '../../../lib/controllers/networks.ts';
import { aggregatesOf, misplacement } from '../../../lib/controllers/route/aggregates.ts';
import { desiredRoutes } from '../../../lib/controllers/route/desired.ts';
import { createEvidence } from '../../../lib/controllers/route/evidence.ts';
import { obstacleTo, planRoutes, type RouteChange } from '../../../lib/controllers/route/plan.ts';
import { previewRoutes } from '../../../lib/controllers/route/preview.ts';
import { shareInNetwork, wholeShare } from '../../../lib/controllers/route/share.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { networkID, nodeStore, routedNode, server } from '../support.ts';

const [core, a, b] = [
  { id: networkID, name: 'core', ipRange: '10.0.0.0/16' },
  { id: 8, name: 'pool-a', ipRange: '10.1.0.0/16' },
  { id: 9, name: 'pool-b', ipRange: '10.2.0.0/16' },
] as const;
const allRanges = new Map([
  [core.id, '10.240.0.0/16'],
  [a.id, '10.241.0.0/16'],
  [b.id, '10.242.0.0/16'],
]);
const rule = (network: number, neighbour: GatewayRule['neighbour'], address?: string): GatewayRule => ({
  network,
  neighbour,
  address,
});
const chosen = (
  gateways: readonly GatewayRule[],
  podCIDRs: ReadonlyMap<number, string> = allRanges,
): ChosenNetworks => ({
  primary: core,
  controlPlane: undefined,
  all: [core, a, b],
  podCIDRs,
  gateways,
});
const waysOf = (gateways: readonly GatewayRule[], podCIDRs?: ReadonlyMap<number, string>) => {
  const { byDestination, problems } = aggregatesOf(core, chosen(gateways, podCIDRs));
  const ways = [...byDestination].map(([to, { neighbour, gateway }]) => `${to} ${neighbour} ${gateway}`);
  return [...ways, ...problems];
};

describe('the ways from one network to others', () => {
  it('are one a neighbour, by the gateway of the pair before that for all others', () => {
    assert.deepEqual(waysOf([rule(core.id, a.id, '10.0.0.10'), rule(a.id, core.id, '10.1.0.10')]), [
      '10.241.0.0/16 pool-a 10.0.0.10',
    ]);
    assert.deepEqual(waysOf([rule(core.id, 'others', '10.0.0.10'), rule(core.id, b.id, '10.0.0.11')]), [
      '10.241.0.0/16 pool-a 10.0.0.10',
      '10.242.0.0/16 pool-b 10.0.0.11',
    ]);
    assert.deepEqual(waysOf([rule(core.id, 'others', '10.0.0.10'), rule(core.id, b.id)]), [
      '10.241.0.0/16 pool-a 10.0.0.10',
    ]);
    assert.deepEqual(waysOf([rule(core.id, 'absent', '10.0.0.10'), rule(a.id, 'others', '10.1.0.10')]), []);
  });

  it('are left out with a word on each that can not be, and the others stay', () => {
    const withoutB = new Map([...allRanges].filter(([id]) => id !== b.id));
    assert.deepEqual(waysOf([rule(core.id, 'others', '10.0.0.10')], withoutB), [
      '10.241.0.0/16 pool-a 10.0.0.10',
      'HCLOUD_NETWORK_GATEWAYS: core/pool-b=10.0.0.10 leads to no range, HCLOUD_NETWORK_POD_CIDRS must have one for pool-b',
    ]);
    assert.deepEqual(waysOf([rule(core.id, a.id, '10.1.0.10'), rule(core.id, b.id, '10.0.0.1')]), [
      'HCLOUD_NETWORK_GATEWAYS: core/pool-a=10.1.0.10 must be an address in 10.0.0.0/16, the range of network core',
      'HCLOUD_NETWORK_GATEWAYS: core/pool-b=10.0.0.1 must be another address: it is the own gateway of network core',
    ]);
  });
});

describe('pods that other networks do not reach', () => {
  const why = (podCIDR: string, podCIDRs: ReadonlyMap<number, string> = allRanges) =>
    misplacement(podCIDR, core, { all: [core, a, b], podCIDRs })?.split(':')[0];

  it('are those outside of the range of their network and those in the range of another', () => {
    assert.equal(why('10.240.7.0/24'), undefined);
    assert.equal(why('10.250.7.0/24'), 'is outside of 10.240.0.0/16, the range of network core');
    assert.equal(why('10.241.7.0/24'), 'overlaps 10.241.0.0/16, the range of network pool-a');
    assert.equal(why('10.240.0.0/15'), 'overlaps 10.241.0.0/16, the range of network pool-a');
  });

  it('are not known where no range is told', () => {
    assert.equal(why('10.250.7.0/24', new Map()), undefined);
    assert.equal(why('10.250.7.0/24', new Map([[a.id, '10.241.0.0/16']])), undefined);
  });
});

/** Addresses in `core` of machines that are no nodes. */
const routers = ['10.0.0.10', '10.0.0.11', '10.0.0.98', '10.0.0.99'];

/** All that is looked at in `core`, with nodes that have the pod CIDRs that are given. */
const world = (nodes: readonly KubeNode[], gateways: readonly GatewayRule[], elsewhere: readonly KubeNode[] = []) => {
  const store = nodeStore();
  for (const node of [...nodes, ...elsewhere]) store.put(node);
  const networks = nodeNetworks(() => chosen(gateways));
  const idOf = ({ name }: KubeNode): number => Number(name.slice(1));
  const servers = createServerList(
    [
      ...nodes.map(node => server(idOf(node))),
      ...routers.map((ip, i) => server(90 + i, { privateNets: [{ network: core.id, ip, aliasIPs: [] }] })),
      ...elsewhere.map(node => server(idOf(node), { privateNets: [{ network: a.id, ip: '10.1.1.1', aliasIPs: [] }] })),
    ],
    0,
  );
  const evidence = createEvidence({ nodes: store.list, servers: () => servers, networks, networkID: core.id });
  const share = shareInNetwork(wholeShare(store), networks, core.id, evidence);
  const cluster = [parseIPv4CIDR('10.240.0.0/12')].filter(block => block !== undefined);
  const desired = (gatewaysNow: ReadonlyMap<string, string>) =>
    desiredRoutes(store.list(), servers, core.id, gatewaysNow, share).byDestination;
  return {
    plan: (now: ReadonlyMap<string, string>) => planRoutes(desired(now), now, cluster),
    preview: (now: ReadonlyMap<string, string>) =>
      previewRoutes({ network: core, gateways: now, nodes: store.list(), servers, clusterCIDRs: cluster, share }),
  };
};
const node = (id: number, podCIDR: string): KubeNode =>
  routedNode(id, { podCIDRs: [podCIDR], networkUnavailable: { status: 'False', reason: 'RouteCreated' } });
const told = (changes: readonly RouteChange[]) =>
  changes.map(change => `${change.kind} ${change.destination} ${change.gateway}`);
const both = [rule(core.id, 'others', '10.0.0.10')];

describe('the plan of a network with ways to others', () => {
  it('makes them, follows their gateway, and takes those that lead nowhere any more, but none of the user', () => {
    const { plan } = world([node(1, '10.240.1.0/24')], both);
    assert.deepEqual(told(plan(new Map([['10.240.1.0/24', '10.0.1.1']]))), [
      'create 10.241.0.0/16 10.0.0.10',
      'create 10.242.0.0/16 10.0.0.10',
    ]);
    const present = new Map([
      ['10.240.1.0/24', '10.0.1.1'],
      ['10.241.0.0/16', '10.0.0.99'],
      ['10.242.0.0/16', '10.0.0.10'],
      ['10.243.0.0/16', '10.0.0.10'],
      ['10.244.0.0/16', '10.0.0.98'],
      ['172.16.0.0/12', '10.0.0.10'],
      ['0.0.0.0/0', '10.0.0.10'],
    ]);
    assert.deepEqual(told(plan(present)), ['delete 10.243.0.0/16 10.0.0.10', 'replace 10.241.0.0/16 10.0.0.10']);
    const closed = world([node(1, '10.240.1.0/24')], [rule(core.id, 'others')]);
    assert.deepEqual(told(closed.plan(present)), ['delete 10.241.0.0/16 10.0.0.99', 'delete 10.242.0.0/16 10.0.0.10']);
    const why = closed.preview(present).changes.map(change => change.why);
    assert.match(why[0] ?? '', /nor is it a way to another network by HCLOUD_NETWORK_GATEWAYS$/);
    const without = world([node(1, '10.240.1.0/24')], []);
    assert.deepEqual(without.plan(present), []);
  });

  it('leaves a way as it is while no machine has the address that it should lead to: Hetzner takes no other', () => {
    const { plan, preview } = world([node(1, '10.240.1.0/24')], [rule(core.id, 'others', '10.0.0.77')]);
    const present = new Map([['10.241.0.0/16', '10.0.0.10']]);
    assert.deepEqual(told(plan(present)), ['create 10.242.0.0/16 10.0.0.77', 'create 10.240.1.0/24 10.0.1.1']);
    const [note] = preview(present).notes;
    assert.match(
      `${note?.object} ${note?.text}`,
      /^Network core keeps its route to 10\.241\.0\.0\/16: no server in it /,
    );
  });

  it('keeps an old way while a node of the other network has its pods there', () => {
    const old = new Map([['10.243.0.0/16', '10.0.0.10']]);
    const made = ['create 10.241.0.0/16 10.0.0.10', 'create 10.242.0.0/16 10.0.0.10'];
    const kept = world([], both, [node(2, '10.243.7.0/24')]);
    assert.deepEqual(told(kept.plan(old)), made);
    const gone = world([node(1, '10.240.1.0/24')], both, [node(2, '10.241.7.0/24')]);
    assert.deepEqual(told(gone.plan(old))[0], 'delete 10.243.0.0/16 10.0.0.10');
    const closed = world([], [rule(core.id, a.id), rule(core.id, b.id, '10.0.0.10')], [node(2, '10.243.7.0/24')]);
    assert.deepEqual(told(closed.plan(old))[0], 'delete 10.243.0.0/16 10.0.0.10', 'nothing is to lead to its network');
  });

  it('waits with a way while a node of the network has its pods in that range, and leaves one that is there', () => {
    const { plan, preview } = world([node(1, '10.241.7.0/24')], both);
    assert.deepEqual(told(plan(new Map())), ['create 10.242.0.0/16 10.0.0.10', 'create 10.241.7.0/24 10.0.1.1']);
    const notes = preview(new Map()).notes.map(({ object, text }) => `${object} ${text}`);
    assert.equal(notes[0], 'Network core gets no route to 10.241.0.0/16: the pods of node w1 are in this range');
    assert.match(notes[1] ?? '', /^Node w1 has the pod CIDR 10\.241\.7\.0\/24, which overlaps 10\.241\.0\.0\/16, /);
    const held = preview(new Map([['10.241.0.0/16', '10.0.0.10']]));
    assert.deepEqual(
      held.changes.map(({ action, details }) => `${action} ${details.destination ?? details.status}`),
      ['create route 10.242.0.0/16', 'set NetworkUnavailable True'],
    );
    assert.equal(
      held.notes[0]?.text,
      'gets no route to 10.241.7.0/24: it overlaps the route to 10.241.0.0/16 via 10.0.0.10',
    );
  });

  it('promises no route that a wider one of the user is in the way of, though it would be tried', () => {
    const { plan, preview } = world([node(1, '10.240.1.0/24')], []);
    const present = new Map([['10.240.0.0/13', '10.0.0.99']]);
    assert.deepEqual(told(plan(present)), ['create 10.240.1.0/24 10.0.1.1']);
    const { changes, notes } = preview(present);
    assert.deepEqual(
      changes.map(({ action }) => action),
      ['set NetworkUnavailable'],
    );
    assert.equal(
      notes[0]?.text,
      'gets no route to 10.240.1.0/24: it overlaps the route to 10.240.0.0/13 via 10.0.0.99',
    );
  });

  const podCIDR = fc.constantFrom('10.240.1.0/24', '10.240.2.0/24', '10.241.1.0/24', '10.250.1.0/24', '10.242.0.0/16');
  const gateway = fc.constantFrom('10.0.0.10', '10.0.0.11', '10.0.1.1', '10.0.0.99');
  const anyRule: fc.Arbitrary<GatewayRule> = fc.record({
    network: fc.constantFrom(core.id, a.id),
    neighbour: fc.constantFrom<GatewayRule['neighbour']>(a.id, b.id, 'others', 'absent'),
    address: fc.constantFrom(undefined, '10.0.0.10', '10.0.0.11'),
  });
  const anyRoutes = fc.array(
    fc.tuple(
      fc.oneof(
        podCIDR,
        fc.constantFrom('10.241.0.0/16', '10.243.0.0/16', '10.244.0.0/14', '0.0.0.0/0', '172.16.0.0/12'),
      ),
      gateway,
    ),
    { maxLength: 6 },
  );

  it('applied to a network that takes no overlap leaves only what a route that stays is in the way of', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(podCIDR, { maxLength: 4 }),
        fc.uniqueArray(anyRule, { maxLength: 4, selector: one => `${one.network}/${one.neighbour}` }),
        anyRoutes,
        (cidrs, gateways, routes) => {
          const { plan } = world(
            cidrs.map((cidr, i) => node(i + 1, cidr)),
            gateways,
          );
          const held = new Map<string, string>();
          for (const [to, by] of routes) if (obstacleTo(to, held) === undefined) held.set(to, by);
          const foreign = new Map(held);
          const addresses = new Set<string | undefined>(
            gateways.filter(one => one.network === core.id).map(({ address }) => address),
          );
          // Each round may make room for the next.
          for (let round = 0; round < 3; round += 1) {
            for (const change of plan(held)) {
              if (change.kind === 'delete') held.delete(change.destination);
              else if (obstacleTo(change.destination, held) === undefined) held.set(change.destination, change.gateway);
            }
          }
          for (const change of plan(held)) {
            assert.equal(change.kind, 'create');
            assert.notEqual(obstacleTo(change.destination, held), undefined, told([change]).join());
          }
          for (const [to, by] of foreign) {
            const isInCluster = contains(
              { first: 10 * 2 ** 24 + 240 * 2 ** 16, last: 11 * 2 ** 24 - 1, prefix: 12 },
              blockOf(to),
            );
            if (!isInCluster) assert.equal(held.get(to), by, `${to} is not ours`);
          }
          for (const one of held.keys())
            for (const other of held.keys())
              assert.ok(
                one === other ||
                  one === '0.0.0.0/0' ||
                  other === '0.0.0.0/0' ||
                  !overlaps(blockOf(one), blockOf(other)),
              );
          for (const [to, by] of held)
            if (foreign.get(to) !== by) assert.ok(addresses.has(by) || cidrs.some(cidr => cidr === to), `${to} ${by}`);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

const blockOf = (cidr: string) => parseIPv4CIDR(cidr) ?? assert.fail(cidr);

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseIPv4CIDR } from '../../../lib/controllers/ip.ts';
import { type DesiredRoute, desiredRoutes } from '../../../lib/controllers/route/desired.ts';
import { isOwned, planRoute, planRoutes, type RouteChange } from '../../../lib/controllers/route/plan.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { networkID, routedNode, server } from '../support.ts';

const blocksOf = (...cidrs: string[]) => cidrs.map(parseIPv4CIDR).filter(block => block !== undefined);
const cluster = blocksOf('10.244.0.0/16');
const to = (gateway: string): DesiredRoute => ({ kind: 'route', node: 'w1', gateway });
const hold: DesiredRoute = { kind: 'hold', node: 'w1', problem: 'notOurs' };

describe('the change of a destination', () => {
  const inside = '10.244.1.0/24';
  const outside = '192.168.50.0/24';
  for (const [name, destination, desired, gateway, kind] of [
    ['creates what is missing', inside, to('10.0.1.1'), undefined, 'create'],
    ['creates it outside of the cluster CIDR, too (BUG-022)', outside, to('10.0.1.1'), undefined, 'create'],
    ['is none where the route is right', inside, to('10.0.1.1'), '10.0.1.1', undefined],
    ['replaces a route that leads elsewhere (BUG-025)', inside, to('10.0.1.1'), '10.0.1.9', 'replace'],
    ['deletes a route of no node inside the cluster CIDR', inside, undefined, '10.0.1.9', 'delete'],
    ['leaves a route of no node outside of it alone (BUG-021)', outside, undefined, '10.0.1.9', undefined],
    ['leaves the default route alone (BUG-021)', '0.0.0.0/0', undefined, '10.0.1.9', undefined],
    ['leaves a route alone that is wider than the cluster CIDR', '10.0.0.0/8', undefined, '10.0.1.9', undefined],
    ['leaves text alone that is no CIDR', 'x', undefined, '10.0.1.9', undefined],
    ['leaves a destination on hold as it is (BUG-027)', inside, hold, '10.0.1.9', undefined],
    ['makes no route for a destination on hold', inside, hold, undefined, undefined],
    ['is none where there is nothing and nothing should be', inside, undefined, undefined, undefined],
  ] as const) {
    it(name, () => assert.equal(planRoute(destination, desired, gateway, cluster)?.kind, kind));
  }

  it('deletes nothing where no cluster CIDR is known', () => {
    assert.equal(planRoute(inside, undefined, '10.0.1.9', []), undefined);
  });

  it('tells both families of a dual-stack cluster and several blocks apart', () => {
    const blocks = blocksOf('10.244.0.0/16', '2001:db8::/48', '10.128.0.0/9');
    assert.equal(isOwned('10.244.255.0/24', blocks), true);
    assert.equal(isOwned('10.245.0.0/24', blocksOf('10.244.0.0/16')), false);
    assert.equal(isOwned('10.200.0.0/16', blocks), true);
    assert.equal(isOwned('2001:db8::/64', blocks), false);
  });
});

/** A network as Hetzner keeps it: no update, one route a destination, deletion by the exact pair. */
const modelNetwork = (routes: ReadonlyMap<string, string>) => {
  const held = new Map(routes);
  const deleted: string[] = [];
  const add = (destination: string, gateway: string) => {
    assert.ok(!held.has(destination), `added ${destination} twice`);
    held.set(destination, gateway);
  };
  const remove = (destination: string, gateway: string) => {
    assert.equal(held.get(destination), gateway);
    held.delete(destination);
    deleted.push(destination);
  };
  return {
    held,
    deleted,
    apply: (change: RouteChange) => {
      if (change.kind === 'create') add(change.destination, change.gateway);
      else if (change.kind === 'delete') remove(change.destination, change.gateway);
      else {
        remove(change.destination, change.previousGateway);
        add(change.destination, change.gateway);
      }
    },
  };
};

const gateways = ['10.0.1.1', '10.0.1.2', '10.0.1.3', '10.0.1.4', '10.0.9.9'];
const destinations = [
  '10.244.1.0/24',
  '10.244.2.0/24',
  '10.244.3.0/24',
  '10.42.1.0/24',
  '192.168.50.0/24',
  '0.0.0.0/0',
];
const anyNode: fc.Arbitrary<KubeNode> = fc
  .record({
    id: fc.integer({ min: 1, max: 6 }),
    podCIDRs: fc.subarray(['10.244.1.0/24', '10.244.2.0/24', '10.244.3.7/24', '10.42.1.0/24', '2001:db8::/64'], {
      maxLength: 2,
    }),
    providerID: fc.constantFrom('', 'hrobot://1', 'k3s://x', 'own'),
    creationTimestamp: fc.nat({ max: 3 }),
  })
  .map(({ id, providerID, ...fields }) =>
    routedNode(id, { ...fields, providerID: providerID === 'own' ? `hcloud://${id}` : providerID }),
  );
const anyWorld = fc.record({
  nodes: fc.uniqueArray(anyNode, { maxLength: 6, selector: node => node.name }),
  /** Server 5 is in another network, server 6 does not exist. */
  present: fc.subarray([1, 2, 3, 4, 5]),
  routes: fc
    .array(fc.tuple(fc.constantFrom(...destinations), fc.constantFrom(...gateways)), { maxLength: 6 })
    .map(entries => new Map(entries)),
  order: fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
});
const serversOf = (ids: readonly number[]) =>
  createServerList(
    ids.map(id => (id === 5 ? server(5, { privateNets: [{ network: 8, ip: '10.0.1.5', aliasIPs: [] }] }) : server(id))),
    0,
  );

describe('the plan of a network', () => {
  it('puts deletions first, as they make room', () => {
    const plan = planRoutes(
      new Map([
        ['10.244.1.0/24', to('10.0.1.1')],
        ['10.244.2.0/24', to('10.0.1.2')],
      ]),
      new Map([
        ['10.244.2.0/24', '10.0.1.9'],
        ['10.244.3.0/24', '10.0.1.3'],
      ]),
      cluster,
    );
    assert.deepEqual(
      plan.map(change => change.kind),
      ['delete', 'replace', 'create'],
    );
  });

  it('applied in any order leaves nothing to plan, deletes only in the cluster CIDR, and touches no foreign route', () => {
    fc.assert(
      fc.property(anyWorld, ({ nodes, present, routes, order }) => {
        const servers = serversOf(present);
        const desiredBy = (state: ReadonlyMap<string, string>) =>
          desiredRoutes(nodes, servers, networkID, state).byDestination;
        const desired = desiredBy(routes);
        const plan = planRoutes(desired, routes, cluster);
        const network = modelNetwork(routes);
        const shuffled = plan
          .map((change, i) => ({ change, at: order[i % order.length] as number }))
          .sort((a, b) => a.at - b.at);
        for (const { change } of shuffled) network.apply(change);

        assert.deepEqual(planRoutes(desiredBy(network.held), network.held, cluster), []);
        assert.deepEqual(desiredBy(network.held), desired, 'a route of ours changed who owns a destination');
        for (const [destination, gateway] of routes) {
          const claim = desired.get(destination);
          if (claim?.kind === 'route') continue;
          if (claim?.kind === 'hold' || !isOwned(destination, cluster)) {
            assert.equal(network.held.get(destination), gateway, `${destination} was not ours to change`);
          } else assert.equal(network.held.has(destination), false);
        }
        for (const destination of network.deleted) {
          assert.ok(isOwned(destination, cluster) || desired.get(destination)?.kind === 'route');
        }
        for (const [destination, gateway] of network.held) {
          if (routes.get(destination) === gateway) continue;
          const owner = nodes.find(
            node => `hcloud://${node.name.slice(1)}` === node.providerID && `10.0.1.${node.name.slice(1)}` === gateway,
          );
          assert.ok(owner !== undefined, `nobody asked for ${destination} via ${gateway}`);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('made of parts one by one, each with the state the last one left, comes to the same end', () => {
    fc.assert(
      fc.property(anyWorld, ({ nodes, present, routes, order }) => {
        const servers = serversOf(present);
        const network = modelNetwork(routes);
        const desiredNow = () => desiredRoutes(nodes, servers, networkID, network.held).byDestination;
        const whole = modelNetwork(routes);
        for (const change of planRoutes(desiredNow(), routes, cluster)) whole.apply(change);
        const keys = [...new Set([...destinations, ...desiredNow().keys()])]
          .map((key, i) => ({ key, at: order[i % order.length] as number }))
          .sort((a, b) => a.at - b.at);
        for (const { key } of keys) {
          const change = planRoute(key, desiredNow().get(key), network.held.get(key), cluster);
          if (change !== undefined) network.apply(change);
        }
        assert.deepEqual(Object.fromEntries(network.held), Object.fromEntries(whole.held));
      }),
    );
  });
});

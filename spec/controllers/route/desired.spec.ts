import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type NetworkUnavailable,
  networkUnavailable,
  sameCondition,
} from '../../../lib/controllers/route/condition.ts';
import { desiredRoutes, gatewayOf, routableCIDRs } from '../../../lib/controllers/route/desired.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { networkID, routedNode, server } from '../support.ts';

const nets = [
  { network: 8, ip: '10.8.0.1', aliasIPs: ['10.0.1.1'] },
  { network: networkID, ip: '10.0.1.1', aliasIPs: ['10.0.0.254'] },
];
const list = createServerList(
  [server(1, { privateNets: nets }), server(2), server(3), server(4, { privateNets: [] })],
  0,
);

describe('the destinations of a node', () => {
  it('are its IPv4 pod CIDRs, each once and in one spelling (BUG-029)', () => {
    const podCIDRs = ['10.244.1.9/24', '2001:db8:244:1::/64', '10.244.1.0/24', 'x', '10.244.7.0/24'];
    assert.deepEqual(routableCIDRs(routedNode(1, { podCIDRs })), ['10.244.1.0/24', '10.244.7.0/24']);
    assert.deepEqual(routableCIDRs(routedNode(1, { podCIDRs: [] })), []);
    assert.deepEqual(routableCIDRs(routedNode(1, { podCIDRs: ['0.0.0.0/0'] })), []);
  });
});

describe('the gateway of a node', () => {
  it('is the own address of its server in this network, never an alias (BUG-021)', () => {
    assert.deepEqual(gatewayOf(routedNode(1), list, networkID), { gateway: '10.0.1.1' });
    assert.deepEqual(gatewayOf(routedNode(1), list, 8), { gateway: '10.8.0.1' });
  });

  it('is none, with the reason, where the machine is not routed by us or not known', () => {
    const problem = (fields: Partial<KubeNode>) => {
      const found = gatewayOf(routedNode(1, fields), list, networkID);
      return 'problem' in found ? found.problem : found.gateway;
    };
    assert.equal(problem({ providerID: '' }), 'uninitialised');
    for (const providerID of ['hrobot://1', 'hcloud://bm-1', 'k3s://w1', 'hcloud://x'])
      assert.equal(problem({ providerID }), 'notOurs');
    assert.equal(problem({ providerID: 'hcloud://99' }), 'serverMissing');
    assert.equal(problem({ providerID: 'hcloud://4' }), 'notAttached');
  });
});

describe('a pod CIDR that two nodes claim', () => {
  const cidr = '10.244.9.0/24';
  const claim = (id: number, fields: Partial<KubeNode> = {}) => routedNode(id, { podCIDRs: [cidr], ...fields });
  const ownerOf = (nodes: readonly KubeNode[], gateway?: string) => {
    const present = new Map(gateway === undefined ? [] : [[cidr, gateway]]);
    const results = [nodes, [...nodes].reverse()].map(order => desiredRoutes(order, list, networkID, present));
    assert.deepEqual(results[0], results[1], 'the order of the nodes decided');
    const { byDestination, contested } = results[0] as (typeof results)[0];
    const owner = byDestination.get(cidr);
    return [
      owner !== undefined && 'node' in owner ? owner.node : undefined,
      ...contested.map(c => `${c.node} lost to ${c.owner}`),
    ].join(', ');
  };

  it('stays with the one its route leads to, else goes to the older, and the loser is told (BUG-026)', () => {
    assert.equal(ownerOf([claim(1), claim(2)]), 'w1, w2 lost to w1');
    assert.equal(ownerOf([claim(1), claim(2)], '10.0.1.1'), 'w1, w2 lost to w1');
    assert.equal(ownerOf([claim(1), claim(2)], '10.0.1.2'), 'w2, w1 lost to w2');
    assert.equal(ownerOf([claim(1), claim(2)], '10.0.9.9'), 'w1, w2 lost to w1');
    assert.equal(ownerOf([claim(1), claim(2), claim(3)], '10.0.1.3'), 'w3, w2 lost to w1, w1 lost to w3');
  });

  it('goes to the older by its age, not by its name, and stays with it where both are of one machine', () => {
    assert.equal(ownerOf([claim(1, { creationTimestamp: 9 }), claim(2)]), 'w2, w1 lost to w2');
    const same = claim(2, { providerID: 'hcloud://1' });
    assert.equal(ownerOf([claim(1), same], '10.0.1.1'), 'w1, w2 lost to w1');
  });

  it('goes by name where both are of the same second', () => {
    assert.equal(
      ownerOf([claim(2, { creationTimestamp: 5 }), claim(1, { creationTimestamp: 5 })]),
      'w1, w2 lost to w1',
    );
  });

  it('is held for an older node that is not routed by us, unless its route works for the younger', () => {
    const robot = claim(1, { providerID: 'hrobot://1' });
    assert.equal(ownerOf([robot, claim(2)]), 'w1, w2 lost to w1');
    assert.equal(ownerOf([robot, claim(2)], '10.0.2.2'), 'w1, w2 lost to w1');
    assert.match(ownerOf([robot, claim(2)], '10.0.1.2'), /^w2/);
  });

  it('is no contest of one node that names it twice', () => {
    assert.equal(ownerOf([routedNode(1, { podCIDRs: [cidr, '10.244.9.1/24'] })]), 'w1');
  });
});

describe('the condition NetworkUnavailable', () => {
  const has =
    (...cidrs: string[]) =>
    (cidr: string) =>
      cidrs.includes(cidr);
  const of = (podCIDRs: string[], ...present: string[]) => {
    const condition = networkUnavailable(routedNode(1, { podCIDRs }), has(...present));
    return condition && `${condition.status} ${condition.reason}`;
  };

  it('is False once all that can be routed is routed, IPv6 or not (BUG-029, BUG-030)', () => {
    assert.equal(of(['10.244.1.0/24'], '10.244.1.0/24'), 'False RouteCreated');
    assert.equal(of(['10.244.1.0/24', '2001:db8::/64'], '10.244.1.0/24'), 'False RouteCreated');
    assert.equal(of(['10.244.1.0/24', '10.244.2.0/24'], '10.244.1.0/24'), 'True NoRouteCreated');
    assert.equal(of(['10.244.1.0/24']), 'True NoRouteCreated');
  });

  it('is left alone while the node has no pod CIDR', () => assert.equal(of([]), undefined));

  it('says the same with the same status and reason, whatever the time and the words', () => {
    const wanted: NetworkUnavailable = { status: 'False', reason: 'RouteCreated', message: 'x' };
    assert.equal(sameCondition({ status: 'False', reason: 'RouteCreated', lastTransitionTime: 'y' }, wanted), true);
    assert.equal(sameCondition({ status: 'False', reason: 'CiliumIsUp' }, wanted), false);
    assert.equal(sameCondition({ status: 'True', reason: 'RouteCreated' }, wanted), false);
    assert.equal(sameCondition(undefined, wanted), false);
  });
});

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Subject } from 'rxjs';
import { parseIPv4CIDR } from '../../../lib/controllers/ip.ts';
import { routeTriggers } from '../../../lib/controllers/route/triggers.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import type { ServerList } from '../../../lib/hetzner/servers.ts';
import type { Server } from '../../../lib/hetzner/types.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { networkID, nodeStore, routedNode, server } from '../support.ts';

const listen = (
  t: TestContext,
  present: readonly KubeNode[] = [],
  routes: Readonly<Record<string, string>> = {},
  isElsewhere?: (node: KubeNode, destination: string) => boolean,
) => {
  const nodes = nodeStore();
  for (const object of present) nodes.put(object);
  const servers$ = new Subject<ServerList>();
  const safety$ = new Subject<unknown>();
  const gateways = new Map(Object.entries(routes));
  const seen: string[] = [];
  const subscription = routeTriggers({
    nodes,
    servers$,
    safety$,
    networkID,
    clusterCIDRs: [parseIPv4CIDR('10.244.0.0/16')].filter(block => block !== undefined),
    gateways: () => gateways,
    isElsewhere,
  }).subscribe(({ key, reason, priority = 0 }) => {
    seen.push(`${key}: ${reason} ${priority}`);
  });
  t.after(() => subscription.unsubscribe());
  return {
    nodes,
    safety$,
    gateways,
    list: (...servers: Server[]) => servers$.next(createServerList(servers, 0)),
    /** What was triggered since the last call. */
    seen: () => seen.splice(0),
  };
};
const moved = { privateNets: [{ network: networkID, ip: '10.0.1.77', aliasIPs: [] }] };

describe('triggers of routes', () => {
  it('come from the nodes at the start, after what changes now', t => {
    const { nodes, seen } = listen(t, [routedNode(1)]);
    assert.deepEqual(seen(), ['10.244.1.0/24: node present at start -1']);
    nodes.put(routedNode(2));
    assert.deepEqual(seen(), ['10.244.2.0/24: node added 0']);
    nodes.drop('w2');
    assert.deepEqual(seen(), ['10.244.2.0/24: node deleted 0']);
  });

  it('come from a node whose pods, machine or private address changed (BUG-025, BUG-030)', t => {
    const { nodes, seen } = listen(t, [routedNode(1, { podCIDRs: [] })]);
    assert.deepEqual(seen(), []);
    nodes.put(routedNode(1));
    assert.deepEqual(seen(), ['10.244.1.0/24: node updated 0']);
    nodes.put(routedNode(1, { providerID: '' }));
    assert.deepEqual(seen(), ['10.244.1.0/24: node updated 0']);
    nodes.put(routedNode(1, { providerID: '', addresses: [{ type: 'InternalIP', address: '10.0.1.51' }] }));
    assert.deepEqual(seen(), ['10.244.1.0/24: node updated 0']);
  });

  it('look at both the old and the new destination of a node, and of its successor', t => {
    const { nodes, seen } = listen(t, [routedNode(1)]);
    seen();
    nodes.put(routedNode(1, { podCIDRs: ['10.244.9.0/24'] }));
    assert.deepEqual(seen(), ['10.244.9.0/24: node updated 0', '10.244.1.0/24: node updated 0']);
    nodes.put(routedNode(1, { uid: 'another' }));
    assert.deepEqual(seen(), ['10.244.9.0/24: node deleted 0', '10.244.1.0/24: node added 0']);
  });

  it('do not come from heartbeats, taints, labels, public addresses or our own condition (BUG-032)', t => {
    const { nodes, seen } = listen(t, [routedNode(1)]);
    seen();
    const before = routedNode(1);
    nodes.put({ ...before, ready: { status: 'False', reason: 'KubeletNotReady' } });
    nodes.put({ ...before, networkUnavailable: { status: 'False', reason: 'RouteCreated' } });
    nodes.put({ ...before, taints: [{ key: 'x', effect: 'NoSchedule' }], labels: { a: 'b' }, unschedulable: true });
    nodes.put({ ...before, deleting: true });
    nodes.put({ ...before, addresses: [...before.addresses, { type: 'ExternalIP', address: '203.0.113.1' }] });
    assert.deepEqual(seen(), []);
  });

  it('name no destination that cannot be routed (BUG-029)', t => {
    const { nodes, seen } = listen(t);
    nodes.put(routedNode(1, { podCIDRs: ['2001:db8::/64', '10.244.1.5/24'] }));
    assert.deepEqual(seen(), ['10.244.1.0/24: node added 0']);
  });

  it('come from a list of servers that asks for a change, once for the same change', t => {
    const { list, gateways, seen } = listen(t, [routedNode(1), routedNode(2)], {
      '10.244.1.0/24': '10.0.1.1',
      '10.244.2.0/24': '10.0.1.2',
    });
    seen();
    list(server(1), server(2));
    assert.deepEqual(seen(), []);
    list(server(1), server(2, moved));
    const expected = ['10.244.2.0/24: server list differs from routes 0'];
    assert.deepEqual(seen(), expected);
    list(server(1), server(2, moved));
    assert.deepEqual(seen(), [], 'what was refused backs off by itself');
    list(server(1), server(2));
    list(server(1), server(2, moved));
    assert.deepEqual(seen(), expected);
    gateways.set('10.244.2.0/24', '10.0.1.77');
    list(server(1), server(2, moved));
    assert.deepEqual(seen(), []);
    gateways.delete('10.244.2.0/24');
    list(server(1), server(2, moved));
    assert.deepEqual(seen(), expected);
  });

  it('do not come from a list that lacks servers: what it does not know stays (BUG-015)', t => {
    const { list, seen } = listen(t, [routedNode(1)], { '10.244.1.0/24': '10.0.1.1' });
    seen();
    list();
    assert.deepEqual(seen(), []);
  });

  it('come from no node of another network, neither at the start nor later, but from one that leaves this one', t => {
    const { nodes, seen } = listen(t, [routedNode(1)], {}, node => node.providerID === 'hcloud://2');
    assert.deepEqual(seen(), [], 'a pass picks them');
    nodes.put(routedNode(2));
    nodes.drop('w2');
    assert.deepEqual(seen(), []);
    nodes.put(routedNode(1, { providerID: 'hcloud://2' }));
    assert.deepEqual(seen(), ['10.244.1.0/24: node updated 0']);
    nodes.drop('w1');
    assert.deepEqual(seen(), []);
  });

  it('come from the safety pass, last of all', t => {
    const { safety$, seen } = listen(t);
    safety$.next(0);
    assert.deepEqual(seen(), ['network: safety pass -1']);
  });
});

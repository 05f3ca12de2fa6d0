import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Subject } from 'rxjs';
import type { InstanceLists } from '../../../lib/controllers/instances.ts';
import { desiredNode, type NodeSettings } from '../../../lib/controllers/node/desired.ts';
import { nodeTriggers } from '../../../lib/controllers/node/triggers.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import type { Server } from '../../../lib/hetzner/types.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { node } from '../../kubernetes/support.ts';
import { joiningNode, networkID, nodeStore, server } from '../support.ts';

const settings: NodeSettings = { family: 'ipv4', networkID, zoneLabelEnabled: true, forwardInternalIPs: false };
/** A node that says all that server `id` has to tell. */
const settled = (id: number, fields: Partial<KubeNode> = {}): KubeNode => {
  const desired = desiredNode(node(`w${id}`), { kind: 'cloud', server: server(id) }, settings);
  assert.ok('node' in desired);
  return node(`w${id}`, { providerID: `hcloud://${id}`, addresses: desired.node.addresses, ...fields });
};

const listen = (t: TestContext, present: readonly KubeNode[] = []) => {
  const nodes = nodeStore();
  for (const object of present) nodes.put(object);
  const lists$ = new Subject<InstanceLists>();
  const seen: string[] = [];
  const subscription = nodeTriggers({ nodes, lists$, settings }).subscribe(({ key, reason }) => {
    seen.push(`${key}: ${reason}`);
  });
  t.after(() => subscription.unsubscribe());
  return {
    nodes,
    list: (...servers: Server[]) => lists$.next({ cloud: createServerList(servers, 0), robot: undefined }),
    /** What was triggered since the last call. */
    seen: () => seen.splice(0),
  };
};

describe('triggers of nodes', () => {
  it('come from nodes at the start that are not initialised or whose label pairs differ, not from the others', t => {
    const { seen } = listen(t, [
      joiningNode('w1'),
      settled(2),
      settled(3, { labels: { 'beta.kubernetes.io/instance-type': 'x' } }),
    ]);
    assert.deepEqual(seen(), ['w1: node present at start', 'w3: node present at start']);
  });

  it('come from nodes that join, not from those that go', t => {
    const { nodes, seen } = listen(t);
    nodes.put(joiningNode('w1'));
    assert.deepEqual(seen(), ['w1: node added']);
    nodes.put(settled(2));
    nodes.drop('w1');
    nodes.drop('w2');
    assert.deepEqual(seen(), []);
  });

  it('do not come from heartbeats, labels or addresses of others', t => {
    const { nodes, seen } = listen(t, [joiningNode('w1'), settled(2)]);
    seen();
    for (const before of nodes.list()) {
      nodes.put({ ...before, ready: { status: 'True', reason: 'KubeletReady' } });
      nodes.put({ ...before, labels: { mine: '1' } });
      nodes.put({ ...before, podCIDRs: ['10.244.1.0/24'] });
      nodes.put({ ...before, unschedulable: true });
      nodes.put({ ...before, taints: [...before.taints, { key: 'x', effect: 'NoSchedule' }] });
    }
    assert.deepEqual(seen(), []);
  });

  it('come from what initialisation depends on while it is due', t => {
    const { nodes, seen } = listen(t, [joiningNode('w1'), settled(2)]);
    seen();
    const expected = ['w1: node updated'];
    nodes.put(joiningNode('w1', { annotations: { 'alpha.kubernetes.io/provided-node-ip': '10.0.1.1' } }));
    assert.deepEqual(seen(), expected);
    nodes.put(joiningNode('w1', { providerID: 'hcloud://1' }));
    assert.deepEqual(seen(), expected);
    nodes.put(settled(2, { taints: joiningNode('w2').taints }));
    assert.deepEqual(seen(), ['w2: node updated']);
    nodes.put(settled(2));
    assert.deepEqual(seen(), []);
    nodes.put(settled(2, { labels: { 'beta.kubernetes.io/instance-type': 'x' } }));
    assert.deepEqual(seen(), ['w2: node updated']);
  });

  it('come from a successor under the same name, as from one that joins', t => {
    const { nodes, seen } = listen(t, [joiningNode('w1')]);
    seen();
    nodes.put(joiningNode('w1', { uid: 'another' }));
    assert.deepEqual(seen(), ['w1: node added']);
  });

  it('come from a list of servers that tells what the node does not say', t => {
    const { nodes, list, seen } = listen(t, [
      settled(1),
      settled(2),
      joiningNode('w3'),
      settled(4, { deleting: true }),
    ]);
    seen();
    const moved = { privateNets: [{ network: networkID, ip: '10.0.1.77', aliasIPs: [] }] };
    list(server(1), server(2, moved), server(4, moved));
    assert.deepEqual(seen(), ['w2: server list differs from node']);
    list(server(1), server(2), server(3));
    assert.deepEqual(seen(), ['w3: server list differs from node']);
    nodes.put(settled(3));
    list(server(1), server(2), server(3));
    assert.deepEqual(seen(), []);
  });

  it('do not come from a list that only lacks a server, has another project in it, or cannot satisfy the kubelet', t => {
    const annotations = { 'alpha.kubernetes.io/provided-node-ip': '10.9.9.9' };
    const { list, seen } = listen(t, [
      settled(1),
      joiningNode('w2', { annotations }),
      settled(3, { providerID: 'k3s://w3', addresses: [] }),
      settled(4, { providerID: 'hrobot://4', addresses: [] }),
    ]);
    seen();
    list();
    list(server(2), server(3), server(4), server(99));
    assert.deepEqual(seen(), []);
  });
});

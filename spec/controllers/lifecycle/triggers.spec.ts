import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Subject } from 'rxjs';
import type { InstanceLists } from '../../../lib/controllers/instances.ts';
import { shutdownTaint } from '../../../lib/controllers/lifecycle/plan.ts';
import { lifecycleTriggers } from '../../../lib/controllers/lifecycle/triggers.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { node } from '../../kubernetes/support.ts';
import { nodeStore, server } from '../support.ts';
import { condition, lists, notReadyNode } from './support.ts';

const readyNode = (id: number, fields: Partial<KubeNode> = {}): KubeNode =>
  notReadyNode(id, { ready: condition('True'), ...fields });

const listen = (t: TestContext, present: readonly KubeNode[] = []) => {
  const nodes = nodeStore();
  for (const object of present) nodes.put(object);
  const lists$ = new Subject<InstanceLists>();
  const seen: string[] = [];
  const subscription = lifecycleTriggers({ nodes, lists$ }).subscribe(({ key, reason }) =>
    seen.push(`${key}: ${reason}`),
  );
  t.after(() => subscription.unsubscribe());
  return { nodes, lists$, seen: () => seen.splice(0) };
};

describe('triggers of the life of nodes', () => {
  it('come at the start from nodes that are not ready, and from ready ones that are tainted', t => {
    const present = [readyNode(1), notReadyNode(2), readyNode(3, { taints: [shutdownTaint] }), node('w4')];
    assert.deepEqual(listen(t, present).seen(), [
      'w2: node not ready at start',
      'w3: node is ready',
      'w4: node not ready at start',
    ]);
  });

  it('come when a node turns not ready or ready, and when it goes', t => {
    const { nodes, seen } = listen(t, [readyNode(1)]);
    nodes.put(notReadyNode(1));
    nodes.put(readyNode(1));
    nodes.drop('w1');
    assert.deepEqual(seen(), ['w1: node is not ready', 'w1: node is ready', 'w1: node deleted']);
  });

  it('come from a change of provider ID or taints while it is not ready, not from heartbeats or between False and Unknown', t => {
    const { nodes, seen } = listen(t, [notReadyNode(1)]);
    seen();
    nodes.put(notReadyNode(1, { ready: condition('Unknown') }));
    nodes.put(notReadyNode(1, { labels: { a: 'b' } }));
    assert.deepEqual(seen(), []);
    nodes.put(notReadyNode(1, { taints: [shutdownTaint] }));
    nodes.put(notReadyNode(1));
    nodes.put(notReadyNode(1, { providerID: 'hcloud://7' }));
    assert.deepEqual(seen(), Array(3).fill('w1: node is not ready'));
  });

  it('do not come from ready nodes, whatever changes about them', t => {
    const { nodes, seen } = listen(t, [readyNode(1)]);
    nodes.put(readyNode(1, { labels: { a: 'b' }, providerID: 'hcloud://7' }));
    assert.deepEqual(seen(), []);
  });

  it('come from a list that shows no running server for a node that is not ready', t => {
    const present = [
      notReadyNode(1),
      notReadyNode(2),
      notReadyNode(3),
      readyNode(4),
      notReadyNode(5, { deleting: true }),
    ];
    const { lists$, seen } = listen(t, [...present, notReadyNode(6, { providerID: 'k3s://w6' })]);
    seen();
    lists$.next(lists([server(1), server(2, { status: 'off' })]));
    assert.deepEqual(seen(), ['w2: server list shows no running server', 'w3: server list shows no running server']);
    lists$.next({ cloud: undefined, robot: undefined });
    assert.deepEqual(seen(), []);
  });
});

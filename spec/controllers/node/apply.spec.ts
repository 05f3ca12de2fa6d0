import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { applyNode } from '../../../lib/controllers/node/apply.ts';
import type { NodeChange } from '../../../lib/controllers/node/plan.ts';
import { isConflict, isNotFound } from '../../../lib/kubernetes/errors.ts';
import { nodeAPI } from '../node-api.ts';
import { joiningNode } from '../support.ts';

const signal = new AbortController().signal;
const initialise: NodeChange = { kind: 'initialise', providerID: 'hcloud://1', labels: { a: 'b' } };
const addresses: NodeChange = { kind: 'addresses', addresses: [{ type: 'ExternalIP', address: '203.0.113.1' }] };
const labels: NodeChange = { kind: 'labels', labels: { a: 'c' } };

describe('a change of a node', () => {
  it('replaces the addresses as a whole', async () => {
    const api = nodeAPI();
    const after = await applyNode(api.client, api.add(joiningNode('w1')), addresses, signal);
    assert.deepEqual(after.addresses, [{ type: 'ExternalIP', address: '203.0.113.1' }]);
  });

  it('initialises in one write: provider ID, labels, and no taint of initialisation, whatever its value or effect', async () => {
    const api = nodeAPI();
    const key = 'node.cloudprovider.kubernetes.io/uninitialized';
    const taints = [
      { key, value: 'x', effect: 'NoExecute' },
      { key: 'mine', effect: 'NoSchedule' },
      { key, effect: 'NoSchedule' },
    ];
    const after = await applyNode(api.client, api.add(joiningNode('w1', { taints })), initialise, signal);
    assert.equal(after.providerID, 'hcloud://1');
    assert.equal(after.labels.a, 'b');
    assert.deepEqual(
      after.taints.map(taint => taint.key),
      ['mine', 'node.kubernetes.io/not-ready'],
    );
    assert.equal(api.writes.length, 1);
  });

  it('never reaches the successor of the Node it was decided on (BUG-014)', async () => {
    for (const change of [initialise, addresses, labels]) {
      const api = nodeAPI();
      const before = api.add(joiningNode('w1', { labels: { a: 'x' } }));
      api.remove('w1');
      await assert.rejects(applyNode(api.client, before, change, signal), isNotFound);
      const successor = api.add(joiningNode('w1', { labels: { a: 'x' } }));
      await assert.rejects(applyNode(api.client, before, change, signal), isConflict);
      assert.deepEqual(api.get('w1'), successor);
    }
  });

  it('does not take away or bring back a taint that another controller changed meanwhile', async () => {
    const api = nodeAPI();
    const before = api.add(joiningNode('w1'));
    api.patch('w1', { spec: { taints: [...before.taints, { key: 'drain', effect: 'NoExecute' }] } as never });
    await assert.rejects(applyNode(api.client, before, initialise, signal), isConflict);
    assert.ok(api.get('w1')?.taints.some(taint => taint.key === 'drain'));
  });
});

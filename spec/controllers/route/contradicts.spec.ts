import assert from 'node:assert/strict';
import { it } from 'node:test';
import { contradicts } from '../../../lib/controllers/route/desired.ts';
import { pruneNode } from '../../../lib/kubernetes/prune.ts';

const nodeWith = (...addresses: readonly (readonly [type: string, address: string])[]) =>
  pruneNode({
    metadata: { name: 'w1', uid: 'u1' },
    status: { addresses: addresses.map(([type, address]) => ({ type, address })) },
  });

it('finds a gateway contradicted only by internal addresses that are all others (BUG-025)', () => {
  assert.equal(contradicts(nodeWith(['InternalIP', '10.0.1.51']), '10.0.1.1'), true);
  assert.equal(contradicts(nodeWith(['InternalIP', '10.9.0.1'], ['InternalIP', '10.0.1.1']), '10.0.1.1'), false);
  assert.equal(contradicts(nodeWith(['Hostname', 'w1'], ['ExternalIP', '203.0.113.1']), '10.0.1.1'), false);
  assert.equal(contradicts(nodeWith(), '10.0.1.1'), false);
});

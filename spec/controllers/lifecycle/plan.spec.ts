import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isReady, planNotReady, planReady, shutdownTaint } from '../../../lib/controllers/lifecycle/plan.ts';
import type { Taint } from '../../../lib/kubernetes/types.ts';
import { node } from '../../kubernetes/support.ts';
import { condition } from './support.ts';

const user: Taint = { key: 'user', effect: 'NoExecute', value: '1' };
const unreachable: Taint = { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' };

describe('the plan for a node', () => {
  it('is the shutdown taint behind the others, and nothing once it is there (BUG-017)', () => {
    const change = planNotReady(node('w1', { taints: [user, unreachable] }), { kind: 'tainted' });
    assert.deepEqual(change, { kind: 'taint', taints: [user, unreachable, shutdownTaint] });
    const tainted = node('w1', { taints: [user, unreachable, shutdownTaint] });
    assert.equal(planNotReady(tainted, { kind: 'tainted' }), undefined);
  });

  it('is the removal of that taint alone once the node is ready, others keep their order', () => {
    const change = planReady(node('w1', { taints: [user, shutdownTaint, unreachable] }));
    assert.deepEqual(change, { kind: 'untaint', taints: [user, unreachable] });
    assert.equal(planReady(node('w1', { taints: change?.taints ?? [] })), undefined);
  });

  it('leaves a taint of the same key with another effect to whoever set it', () => {
    assert.equal(planReady(node('w1', { taints: [{ ...shutdownTaint, effect: 'NoExecute' }] })), undefined);
  });

  it('is nothing while the machine runs or a deletion is not certain, and the taint stays until the node is ready', () => {
    const tainted = node('w1', { taints: [shutdownTaint] });
    for (const desired of [{ kind: 'keep' }, { kind: 'confirm', notBefore: 0 }, { kind: 'verify' }] as const) {
      assert.equal(planNotReady(tainted, desired), undefined);
    }
  });

  it('is deletion for a node whose machine is gone', () => {
    assert.deepEqual(planNotReady(node('w1'), { kind: 'gone' }), { kind: 'delete' });
  });

  it('takes only a condition that is True for ready', () => {
    const kinds = ['True', 'False', 'Unknown'].map(status => isReady(node('w1', { ready: condition(status) })));
    assert.deepEqual([...kinds, isReady(node('w1'))], [true, false, false, false]);
  });
});

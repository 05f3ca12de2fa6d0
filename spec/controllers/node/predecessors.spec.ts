import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPredecessors } from '../../../lib/controllers/node/predecessors.ts';
import { manualClock, node } from '../../kubernetes/support.ts';

describe('predecessors', () => {
  it('are Nodes of the same name that were deleted in the last hour', () => {
    const clock = manualClock();
    const predecessors = createPredecessors(clock);
    const [w1, w2] = [node('w1'), node('w2')];
    assert.equal(predecessors.has(w1), false);
    predecessors.remember(w1);
    assert.equal(predecessors.has(node('w1', { uid: 'another' })), true);
    assert.equal(predecessors.has(w2), false);
    clock.advance(3_600_000);
    assert.equal(predecessors.has(w1), true);
    clock.advance(1);
    assert.equal(predecessors.has(w1), false);
  });

  it('are remembered from their last deletion on, also when others are forgotten', () => {
    const clock = manualClock();
    const predecessors = createPredecessors(clock);
    predecessors.remember(node('w1'));
    clock.advance(3_000_000);
    predecessors.remember(node('w1'));
    predecessors.remember(node('w2'));
    clock.advance(3_000_000);
    predecessors.remember(node('w3'));
    assert.deepEqual(
      ['w1', 'w2', 'w3'].map(name => predecessors.has(node(name))),
      [true, true, true],
    );
    clock.advance(700_000);
    predecessors.remember(node('w4'));
    assert.deepEqual(
      ['w1', 'w2', 'w3', 'w4'].map(name => predecessors.has(node(name))),
      [false, false, true, true],
    );
  });
});

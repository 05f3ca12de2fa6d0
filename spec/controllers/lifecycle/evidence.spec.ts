import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addObservation, foundAgain, missingWith, newEvidence } from '../../../lib/controllers/lifecycle/evidence.ts';

const fresh = newEvidence('uid', 1_000);
const seen = (state: 'running' | 'off' | 'missing', requestedAt: number) =>
  ({ state, requestedAt, trust: 'witnessed' }) as const;

describe('evidence about a node that is not ready', () => {
  it('keeps when the state last changed, not when it was last seen', () => {
    const first = addObservation(fresh, seen('running', 1_000), 1_100, undefined);
    const second = addObservation(first, seen('running', 9_000), 9_100, undefined);
    const third = addObservation(second, seen('off', 19_000), 19_100, 7);
    assert.deepEqual([first.changedAt, second.changedAt, third.changedAt], [1_100, 1_100, 19_100]);
    assert.deepEqual([third.state, third.confirmAt, third.uid, third.notReadyAt], ['off', 7, 'uid', 1_000]);
  });

  it('counts a missing machine from the first answer of the same trust after the node turned not ready', () => {
    assert.equal(missingWith(fresh, seen('missing', 999)), undefined);
    const first = addObservation(fresh, seen('missing', 1_000), 1_100, undefined);
    assert.deepEqual(first.missing, { since: 1_000, trust: 'witnessed' });
    assert.equal(addObservation(first, seen('missing', 5_000), 5_000, undefined).missing?.since, 1_000);
    const other = { ...seen('missing', 5_000), trust: 'none' } as const;
    assert.deepEqual(missingWith(first, other), { since: 5_000, trust: 'none' });
  });

  it('forgets what was missing when the machine is there', () => {
    const missing = addObservation(fresh, seen('missing', 1_000), 1_100, 6_000);
    assert.equal(addObservation(missing, seen('running', 2_000), 2_000, undefined).missing, undefined);
    assert.deepEqual(foundAgain(missing), { ...fresh, changedAt: 1_100 });
  });
});

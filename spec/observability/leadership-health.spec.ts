import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEndlessTerm } from '../../lib/kubernetes/term.ts';
import { leadershipHealth } from '../../lib/leadership-health.ts';
import { createHealth } from '../../lib/observability/health.ts';

const settings = {
  enabled: true,
  leaseDuration: 15_000,
  renewDeadline: 10_000,
  retryPeriod: 2000,
  resourceName: 'ccm',
  resourceNamespace: 'kube-system',
};

const setUp = (enabled = true) => {
  const clock = { at: 0, now: () => clock.at, monotonic: () => clock.at };
  const health = createHealth();
  const election = leadershipHealth(health, clock, { ...settings, enabled });
  const ok = () => ({ live: health.live().ok, ready: health.ready().ok, health: health.all().ok });
  return { clock, election, ok, health };
};
const { term } = createEndlessTerm('a');
const fine = { live: true, ready: true, health: true };

describe('health of the election', () => {
  it('is fine for a leader and for a follower whose loops turn', () => {
    const { clock, election, ok } = setUp();
    for (const say of [() => undefined, () => election.onOther('b'), () => election.onTerm(term)]) {
      say();
      clock.at += 29_000;
      assert.deepEqual(ok(), fine);
      election.onTurn();
    }
  });

  it('fails /livez when the loop has not turned for two lease durations, until it turns again', () => {
    const { clock, election, ok } = setUp();
    clock.at = 30_001;
    assert.deepEqual(ok(), { live: false, ready: true, health: false });
    election.onTurn();
    assert.deepEqual(ok(), fine);
  });

  it('fails /healthz alone when a lease was lost, until it is regained or another has it', () => {
    const { election, ok } = setUp();
    for (const regain of [() => election.onTerm(term), () => election.onOther('b')]) {
      election.onTerm(term);
      election.onTerm(undefined);
      assert.deepEqual(ok(), { live: true, ready: true, health: false });
      regain();
      assert.deepEqual(ok(), fine);
    }
  });

  it('has no checks where the election is off', () => {
    const { clock, election, health } = setUp(false);
    election.onTerm(undefined);
    clock.at = 1_000_000;
    assert.deepEqual(
      health.all().checks.map(check => check.name),
      ['ping'],
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type DesiredNode,
  desiredNode,
  knownMachine,
  lookAgainAfter,
  unknownMachine,
} from '../../../lib/controllers/lifecycle/desired.ts';
import {
  addObservation,
  type Evidence,
  foundAgain,
  newEvidence,
  type Observation,
} from '../../../lib/controllers/lifecycle/evidence.ts';

const second = 1_000;
const minute = 60 * second;
const missing = (requestedAt: number, trust: Observation['trust'] = 'witnessed'): Observation => ({
  state: 'missing',
  requestedAt,
  trust,
});

/** What is made of the answers, one after the other, on a node that turned not ready at 0; the last decision counts. */
const judge = (answers: readonly Observation[], confirmAfter = knownMachine): DesiredNode => {
  let evidence = newEvidence('uid', 0);
  let desired: DesiredNode = { kind: 'keep' };
  for (const answer of answers) {
    desired = desiredNode(evidence, answer, confirmAfter);
    evidence = addObservation(evidence, answer, answer.requestedAt, undefined);
  }
  return desired;
};
const kindOf = (...answers: Observation[]): DesiredNode['kind'] => judge(answers).kind;
const at = (state: Observation['state'], requestedAt: number): Observation => ({
  state,
  requestedAt,
  trust: 'witnessed',
});

describe('what should become of a node that is not ready', () => {
  it('follows its machine: running keeps it, off taints it, whatever the trust (BUG-017)', () => {
    for (const trust of ['witnessed', 'vouched', 'none'] as const) {
      assert.equal(kindOf({ state: 'running', requestedAt: 1, trust }), 'keep');
      assert.equal(kindOf({ state: 'off', requestedAt: 1, trust }), 'tainted');
    }
  });

  it('is not decided by an answer from before it turned so: neither taint nor deletion', () => {
    for (const state of ['off', 'missing'] as const) {
      assert.deepEqual(judge([at(state, -1)]), { kind: 'confirm', notBefore: 0 });
    }
    assert.deepEqual(judge([missing(-1), missing(second)]), { kind: 'confirm', notBefore: second + knownMachine });
    assert.equal(kindOf(missing(-9 * second), missing(-second), missing(0)), 'confirm');
  });

  it('is deletion once a second answer, 5 s later, lacks the machine too', () => {
    assert.deepEqual(judge([missing(0)]), { kind: 'confirm', notBefore: 5 * second });
    assert.deepEqual(judge([missing(0), missing(5 * second - 1)]), { kind: 'confirm', notBefore: 5 * second });
    assert.equal(kindOf(missing(0), missing(5 * second)), 'gone');
  });

  it('waits a minute between the two where only a name is missing (BUG-019)', () => {
    const kinds = [minute - 1, minute].map(later => judge([missing(0), missing(later)], unknownMachine).kind);
    assert.deepEqual(kinds, ['confirm', 'gone']);
  });

  it('starts anew when an answer in between has the machine', () => {
    for (const state of ['running', 'off'] as const) {
      assert.equal(kindOf(missing(0), at(state, 3 * second), missing(6 * second)), 'confirm');
      assert.equal(kindOf(missing(0), at(state, 3 * second), missing(6 * second), missing(11 * second)), 'gone');
    }
    const evidence = foundAgain(addObservation(newEvidence('uid', 0), missing(0), 0, 1));
    assert.equal(desiredNode(evidence, missing(6 * second), knownMachine).kind, 'confirm');
  });

  it('never is deletion by answers that may be about another project, however many (BUG-015)', () => {
    const many = Array.from({ length: 500 }, (_, i) => missing(i * 10 * minute, 'none'));
    assert.equal(judge(many).kind, 'confirm');
    assert.equal(judge([...many, missing(6_000 * minute)]).kind, 'confirm', 'they count for nothing afterwards either');
  });

  it('asks ever more rarely for an answer that can be believed', () => {
    assert.deepEqual(judge([missing(0, 'none')]), { kind: 'confirm', notBefore: minute });
    assert.deepEqual(judge([missing(0, 'none'), missing(10 * minute, 'none')]), {
      kind: 'confirm',
      notBefore: 20 * minute,
    });
  });

  it('is asking for the machine itself after ten minutes of answers without a witness', () => {
    assert.deepEqual(judge([missing(0, 'vouched')]), { kind: 'confirm', notBefore: 10 * minute });
    assert.equal(kindOf(missing(0, 'vouched'), missing(10 * minute - 1, 'vouched')), 'confirm');
    assert.equal(kindOf(missing(0, 'vouched'), missing(10 * minute, 'vouched')), 'verify');
  });

  it('never is deletion unless the last answers in a row, 5 s apart, all witnessed, lack the machine', () => {
    const answer = fc.record({
      state: fc.constantFrom('running' as const, 'off' as const, 'missing' as const),
      trust: fc.constantFrom('witnessed' as const, 'vouched' as const, 'none' as const),
      after: fc.nat(20 * second),
    });
    fc.assert(
      fc.property(
        fc.array(answer, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: -9_000, max: 0 }),
        (steps, from) => {
          let requestedAt = from;
          const answers = steps.map(({ state, trust, after }) => {
            requestedAt += after;
            return { state, trust, requestedAt };
          });
          const tail = answers.slice(answers.findLastIndex(a => a.state !== 'missing' || a.trust !== 'witnessed') + 1);
          const good = tail.filter(a => a.requestedAt >= 0);
          const [first, last] = [good[0], good.at(-1)];
          const isGone =
            first !== undefined && last !== undefined && last.requestedAt - first.requestedAt >= knownMachine;
          assert.equal(judge(answers).kind === 'gone', isGone);
        },
      ),
    );
  });
});

describe('the next look at a node whose machine is there', () => {
  const evidence = (state: Evidence['state']): Evidence => ({ ...newEvidence('uid', 0), state });
  it('comes after 10 s at first, after a minute from two minutes on, and starts at 30 s for one that is off', () => {
    assert.deepEqual(
      [0, 20, 60, 100, 120, 3_600].map(s => lookAgainAfter(evidence('running'), s * second)),
      [10, 20, 40, 60, 60, 60].map(s => s * second),
    );
    assert.equal(lookAgainAfter(evidence('off'), 0), 30 * second);
  });
});

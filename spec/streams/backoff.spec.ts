import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { exponentialBackoff } from '../../lib/streams/backoff.ts';

const first = (options: Parameters<typeof exponentialBackoff>[0], count: number) =>
  Array.from({ length: count }, (_, attempt) => exponentialBackoff(options)(attempt));

describe('exponentialBackoff', () => {
  it('grows by its factor up to its maximum', () => {
    assert.deepEqual(first({ initial: 100, max: 1000, jitter: 'none' }, 6), [100, 200, 400, 800, 1000, 1000]);
    assert.deepEqual(first({ initial: 100, max: 1000, factor: 3, jitter: 'none' }, 4), [100, 300, 900, 1000]);
  });

  it('draws from the whole delay with full jitter, from its upper half with equal jitter', () => {
    const at = (jitter: 'full' | 'equal', random: number) =>
      first({ initial: 100, max: 1000, jitter, random: () => random }, 3);
    assert.deepEqual(at('full', 0), [0, 0, 0]);
    assert.deepEqual(at('full', 0.75), [75, 150, 300]);
    assert.deepEqual(at('equal', 0), [50, 100, 200]);
    assert.deepEqual(at('equal', 0.5), [75, 150, 300]);
  });

  it('is a whole number of ms within its bounds for any attempt, also for absurd ones', () => {
    const options = fc.record({
      initial: fc.integer({ min: 1, max: 10_000 }),
      span: fc.nat(1_000_000),
      factor: fc.double({ min: 1, max: 10, noNaN: true }),
      jitter: fc.constantFrom('full', 'equal', 'none'),
    });
    const attempts = fc.oneof(fc.integer({ min: -1, max: 50 }), fc.constantFrom(10_000, Number.MAX_SAFE_INTEGER));
    fc.assert(
      fc.property(options, attempts, ({ span, ...rest }, attempt) => {
        const max = rest.initial + span;
        const delay = exponentialBackoff({ ...rest, max })(attempt);
        assert.ok(Number.isInteger(delay) && delay >= 0 && delay <= max, `${delay}`);
      }),
    );
  });

  it('refuses settings that cannot work, naming them', () => {
    const make = (initial: number, max: number, factor: number) => () =>
      exponentialBackoff({ initial, max, factor, jitter: 'none' });
    assert.throws(make(0, 10, 2), /initial is 0, must be above 0 and at most max \(10\)/);
    assert.throws(make(20, 10, 2), /initial is 20/);
    assert.throws(make(1, 10, 0.5), /factor is 0.5, must be at least 1/);
  });
});

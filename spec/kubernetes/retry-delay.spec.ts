import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { KubeError } from '../../lib/kubernetes/errors.ts';
import { retryDelay, defaultRetryRule as rule } from '../../lib/kubernetes/retry-delay.ts';

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const errorOf = (status: number, retryAfter?: number) =>
  new KubeError({ status, reason: 'x', message: 'x', retryAfter });

describe('retryDelay', () => {
  it('BUG-075: is never below a second and never above the cap', () => {
    fc.assert(
      fc.property(fc.nat(10_000), random, fc.constantFrom(0, 500), (attempt, r, status) => {
        const delay = retryDelay(rule, attempt, errorOf(status), () => r);
        assert.ok(delay >= 1000);
        assert.ok(delay <= (status === 0 ? rule.maxUnreachable : rule.max));
      }),
    );
  });

  it('grows from 1.8 s to 30 s at most, spread by chance', () => {
    const most = [0, 1, 2, 3, 4, 5, 6].map(attempt => retryDelay(rule, attempt, errorOf(500), () => 0.9999));
    assert.deepEqual(most, [1800, 2600, 4200, 7399, 13_799, 26_597, 30_000]);
    assert.equal(
      retryDelay(rule, 6, errorOf(500), () => 0),
      1000,
    );
  });

  it('waits as long as the server asks for, but not for ever', () => {
    assert.equal(
      retryDelay(rule, 0, errorOf(429, 60_000), () => 0),
      60_000,
    );
    assert.equal(
      retryDelay(rule, 0, errorOf(429, 1), () => 0),
      1000,
    );
    assert.equal(
      retryDelay(rule, 0, errorOf(429, 1e9), () => 0),
      300_000,
    );
  });
});

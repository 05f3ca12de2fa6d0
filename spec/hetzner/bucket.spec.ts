import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createBucket } from '../../lib/hetzner/bucket.ts';

const headers = (remaining: number, limit = 3600) => ({ limit, remaining });

describe('the bucket', () => {
  it('refills one token a second at 3600 an hour, up to the limit', () => {
    const bucket = createBucket(3600, 8, 0);
    for (let i = 0; i < 10; i += 1) bucket.take(0);
    assert.equal(bucket.tokens(4_000), 3594);
    assert.equal(bucket.tokens(60_000), 3600);
  });

  it('believes a lower number at once, and a higher one only when it is higher by more than answers can overtake', () => {
    const bucket = createBucket(3600, 8, 0);
    bucket.observe(0, headers(100), 0);
    assert.equal(bucket.tokens(0), 100);
    bucket.observe(0, headers(107), 0);
    assert.equal(bucket.tokens(0), 100);
    bucket.observe(0, headers(200), 0);
    assert.equal(bucket.tokens(0), 200);
  });

  it('counts requests under way as not counted yet by Hetzner', () => {
    const bucket = createBucket(3600, 8, 0);
    bucket.observe(0, headers(50), 3);
    assert.equal(bucket.tokens(0), 47);
    bucket.observe(0, headers(1), 3);
    assert.equal(bucket.tokens(0), 0);
  });

  it('takes over another limit, keeping what was used', () => {
    const bucket = createBucket(3600, 8, 0);
    for (let i = 0; i < 20; i += 1) bucket.take(0);
    bucket.observe(0, { limit: 7200, remaining: undefined }, 0);
    assert.equal(bucket.limit(), 7200);
    assert.equal(bucket.tokens(0), 7180);
    assert.equal(bucket.tokens(1_000), 7182);
  });

  it('says how long to wait for a token above a floor', () => {
    const bucket = createBucket(3600, 8, 0);
    bucket.drain(0);
    assert.equal(bucket.waitFor(0, 0), 1_000);
    assert.equal(bucket.waitFor(0, 10), 11_000);
    assert.equal(bucket.waitFor(11_000, 10), 0);
  });

  it('never holds more than the limit, whatever happens, and after the wait it has what was waited for', () => {
    const step = fc.record({
      kind: fc.constantFrom('take', 'refund', 'observe', 'drain'),
      after: fc.integer({ min: 0, max: 100_000 }),
      remaining: fc.integer({ min: 0, max: 9_000 }),
      floor: fc.integer({ min: 0, max: 1_000 }),
    });
    fc.assert(
      fc.property(fc.array(step), steps => {
        const bucket = createBucket(3600, 8, 0);
        let now = 0;
        for (const { kind, after, remaining, floor } of steps) {
          now += after;
          if (kind === 'take') bucket.take(now);
          else if (kind === 'refund') bucket.refund(now);
          else if (kind === 'drain') bucket.drain(now);
          else bucket.observe(now, headers(remaining), 2);
          assert.ok(bucket.tokens(now) <= 3600);
          now += bucket.waitFor(now, floor);
          assert.ok(bucket.tokens(now) >= floor + 1 - 1e-6);
        }
      }),
    );
  });
});

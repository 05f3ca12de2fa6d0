import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  claimedSpec,
  decide,
  graceAfter,
  type LeaseAnnotations,
  type LeaseView,
  microTime,
  observe,
  readLease,
  releasedSpec,
  updatedLease,
} from '../../lib/kubernetes/lease.ts';

const lease = (spec: object, rv = '1', more: object = {}) => ({ metadata: { resourceVersion: rv, ...more }, spec });
const heldBy = (holderIdentity: string, more: object = {}) => ({
  holderIdentity,
  leaseDurationSeconds: 15,
  renewTime: '2026-01-01T00:00:00.000000Z',
  acquireTime: '2026-01-01T00:00:00.000000Z',
  leaseTransitions: 3,
  ...more,
});
const view = (spec: object, at = 0): LeaseView => readLease(lease(spec), at);

describe('lease', () => {
  it('is free without a record, without a holder, and when it is ours', () => {
    assert.deepEqual(decide(undefined, 'me', 0), { do: 'create' });
    for (const spec of [{}, heldBy(''), heldBy('me'), { holderIdentity: null }]) {
      assert.deepEqual(decide(view(spec), 'me', 0), { do: 'take' });
    }
  });

  it('lapses by the own clock alone, whatever the times inside say', () => {
    fc.assert(
      fc.property(fc.nat(1e6), fc.date({ noInvalidDate: true }), (elapsed, renewed) => {
        const seen = view(heldBy('other', { renewTime: renewed.toISOString() }), 1000);
        const decision = decide(seen, 'me', 1000 + elapsed);
        if (elapsed >= 15_000) assert.deepEqual(decision, { do: 'take' });
        else assert.deepEqual(decision, { do: 'wait', lapsesIn: 15_000 - elapsed });
      }),
    );
  });

  it('starts its time anew when the record changed, not when something else of the Lease did', () => {
    const first = view(heldBy('other'), 0);
    const labelled = observe(first, readLease(lease(heldBy('other'), '2', { labels: { a: 'b' } }), 5000));
    assert.deepEqual([labelled.observedAt, labelled.resourceVersion], [0, '2']);
    const changes = [
      { renewTime: '2026-01-01T00:00:02.000000Z' },
      { holderIdentity: 'third' },
      { leaseDurationSeconds: 1 },
      { leaseTransitions: 4 },
      { acquireTime: '2026-01-01T00:00:02.000000Z' },
    ];
    for (const change of changes) {
      assert.equal(observe(first, readLease(lease({ ...heldBy('other'), ...change }), 5000)).observedAt, 5000);
    }
  });

  it('is not free for another when it was emptied, deleted or renamed by hand, until its holder must have noticed', () => {
    const none = Number.NEGATIVE_INFINITY;
    const held = view(heldBy('other'), 1000);
    const changes = [undefined, view(heldBy(''), 3000), view(heldBy('nobody', { leaseDurationSeconds: 1 }), 3000)];
    for (const seen of changes) {
      const grace = graceAfter(none, held, seen, 'me');
      assert.equal(grace, 16_000);
      assert.deepEqual(decide(seen, 'me', 9000, grace), { do: 'wait', lapsesIn: 7000 });
      assert.notEqual(decide(seen, 'me', 16_000, grace).do, 'wait');
      assert.equal(graceAfter(grace, seen, seen, 'me'), 16_000, 'seen once more');
    }
    assert.equal(graceAfter(none, undefined, view(heldBy(''), 3000), 'me'), 18_000, 'emptied before we looked');
  });

  it('is free at once when its holder released it, and when nobody has held it for all we know', () => {
    const none = Number.NEGATIVE_INFINITY;
    const held = view(heldBy('other'), 1000);
    const released = view(releasedSpec(held, 0), 3000);
    assert.equal(graceAfter(none, held, released, 'me'), none);
    assert.equal(graceAfter(16_000, undefined, released, 'me'), none, 'after a grace, too');
    assert.equal(graceAfter(none, undefined, undefined, 'me'), none);
    assert.equal(graceAfter(none, undefined, view({}), 'me'), none);
    assert.equal(graceAfter(none, held, view(heldBy('other'), 5000), 'me'), none, 'renewed');
    assert.equal(graceAfter(none, view(heldBy('me'), 1000), undefined, 'me'), none, 'it was ours');
    assert.deepEqual(decide(view(heldBy('me'), 0), 'me', 0, 5000), { do: 'take' });
  });

  it('writes times with six digits', () => {
    assert.equal(microTime(Date.UTC(2026, 0, 2, 3, 4, 5, 6)), '2026-01-02T03:04:05.006000Z');
  });

  it('counts a transition when the holder changes, and keeps acquireTime when he goes on', () => {
    const claim = { identity: 'me', duration: 15_000, now: Date.UTC(2026, 1, 1) };
    const now = '2026-02-01T00:00:00.000000Z';
    assert.deepEqual(claimedSpec(undefined, claim), {
      holderIdentity: 'me',
      leaseDurationSeconds: 15,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
    });
    const taken = claimedSpec(view(heldBy('other')), claim);
    assert.deepEqual([taken.acquireTime, taken.leaseTransitions], [now, 4]);
    const renewed = claimedSpec(view(heldBy('me')), claim);
    assert.deepEqual(
      [renewed.acquireTime, renewed.renewTime, renewed.leaseTransitions],
      ['2026-01-01T00:00:00.000000Z', now, 3],
    );
  });

  it('rounds its duration up, for nobody may take it sooner than it is given up', () => {
    assert.equal(claimedSpec(undefined, { identity: 'me', duration: 1500, now: 0 }).leaseDurationSeconds, 2);
  });

  it('is released without a holder and for a second', () => {
    const released = releasedSpec(view(heldBy('me')), 0);
    assert.deepEqual([released.holderIdentity, released.leaseDurationSeconds, released.leaseTransitions], ['', 1, 3]);
  });

  it('keeps what others have written into the Lease when it is updated', () => {
    const seen = readLease(lease(heldBy('me', { strategy: 'x' }), '7', { labels: { a: 'b' } }), 0);
    assert.deepEqual(updatedLease(seen, { renewTime: 'now' }), {
      metadata: { resourceVersion: '7', labels: { a: 'b' } },
      spec: heldBy('me', { strategy: 'x', renewTime: 'now' }),
    });
  });

  it('tells what its holder tells, and no more what another one told', () => {
    const annotations = { a: 'b', selector: 'x' };
    const seen = readLease(lease(heldBy('me'), '7', { annotations }), 0);
    const told = (more: LeaseAnnotations) => JSON.parse(JSON.stringify(updatedLease(seen, {}, more))).metadata;
    assert.deepEqual(told({ selector: 'y' }).annotations, { a: 'b', selector: 'y' });
    assert.deepEqual(told({ selector: undefined }).annotations, { a: 'b' });
    const plain = readLease(lease(heldBy('me')), 0);
    assert.deepEqual(updatedLease(plain, {}, { selector: undefined }).metadata, { resourceVersion: '1' });
  });

  it('cannot be read without a resourceVersion', () => {
    assert.throws(() => readLease({ spec: {} }, 0), /resourceVersion/);
  });
});

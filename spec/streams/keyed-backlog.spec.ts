import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Entry, keyedBacklog, type Retry } from '../../lib/streams/keyed-backlog.ts';
import type { Trigger } from '../../lib/streams/workqueue.ts';

const AGEING = 10;

interface Waiting {
  key: string;
  reason: string;
  priority: number;
  runAt: number;
  seq: number;
  own: boolean;
  ready: boolean;
}

/** The same rules, said as plainly as possible: lists that are searched. */
function plainBacklog() {
  let waiting: Waiting[] = [];
  const dirty = new Map<string, Waiting>();
  const running = new Set<string>();
  let seq = 0;
  const enter = (wanted: Waiting, now: number) => {
    wanted.seq = ++seq;
    wanted.ready = !wanted.own && wanted.runAt <= now;
    waiting.push(wanted);
  };
  const merge = (old: Waiting, added: Waiting) => {
    if (old.own && added.runAt <= old.runAt) {
      old.reason = added.reason;
      old.own = false;
    }
    old.priority = Math.max(old.priority, added.priority);
    if (added.runAt < old.runAt) {
      old.runAt = added.runAt;
      old.seq = ++seq;
    }
  };
  return {
    counts: () => [waiting.filter(w => w.ready).length, waiting.filter(w => !w.ready).length, running.size],
    nextDue: () => {
      const delayed = waiting.filter(w => !w.ready);
      return delayed.length === 0 ? undefined : Math.min(...delayed.map(w => w.runAt));
    },
    add({ key, reason, priority = 0, after = 0 }: Trigger, now: number) {
      const added = { key, reason, priority, runAt: now + after, seq: 0, own: false, ready: false };
      const old = running.has(key) ? dirty.get(key) : waiting.find(w => w.key === key);
      if (old !== undefined) {
        merge(old, added);
        old.ready ||= !running.has(key) && old.runAt <= now;
      } else if (running.has(key)) dirty.set(key, added);
      else enter(added, now);
    },
    promote(now: number) {
      for (const w of waiting) w.ready ||= w.runAt <= now;
    },
    take(now: number) {
      // The definition of ageing: a level for each AGEING ms of waiting. In integers, so that ties are ties.
      const level = (w: Waiting) => w.priority * AGEING + now - w.runAt;
      const [first] = waiting.filter(w => w.ready).sort((a, b) => level(b) - level(a) || a.seq - b.seq);
      if (first === undefined) return undefined;
      waiting = waiting.filter(w => w !== first);
      running.add(first.key);
      return first;
    },
    release(key: string, retry: Retry | undefined, now: number) {
      running.delete(key);
      const wanted = dirty.get(key);
      dirty.delete(key);
      const own = retry && { ...retry, key, runAt: now + retry.after, seq: 0, own: true, ready: false };
      if (wanted && own) merge(wanted, own);
      const next = wanted ?? own;
      if (next) enter({ ...next, runAt: Math.max(next.runAt, now) }, now);
    },
  };
}

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
const priority = fc.integer({ min: -2, max: 2 });
const after = fc.oneof(fc.constant(0), fc.nat({ max: 30 }));
const reason = fc.constantFrom('one', 'two', 'three');
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('add' as const), trigger: fc.record({ key, priority, after, reason }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat({ max: 20 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('release' as const),
      which: fc.nat({ max: 7 }),
      retry: fc.option(fc.record({ priority, after, reason }), { nil: undefined }),
    }),
  },
);

describe('keyed backlog', () => {
  it('takes the keys in the order that a plain list of the rules gives', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), steps => {
        const backlog = keyedBacklog(AGEING);
        const plain = plainBacklog();
        const running: Entry[] = [];
        let now = 0;
        for (const next of steps) {
          if (next.do === 'wait') now += next.ms;
          if (next.do === 'wait') for (const b of [backlog, plain]) b.promote(now);
          if (next.do === 'add') for (const b of [backlog, plain]) b.add(next.trigger, now);
          if (next.do === 'take') {
            const entry = backlog.take();
            const expected = plain.take(now);
            assert.deepEqual(
              entry && [entry.key, entry.reason, entry.priority, entry.runAt],
              expected && [expected.key, expected.reason, expected.priority, expected.runAt],
            );
            if (entry) running.push(entry);
          }
          if (next.do === 'release' && running.length > 0) {
            const [entry] = running.splice(next.which % running.length, 1) as [Entry];
            backlog.release(entry, 0, next.retry, now);
            plain.release(entry.key, next.retry, now);
          }
          assert.deepEqual([backlog.ready, backlog.delayed, backlog.running], plain.counts());
          assert.equal(backlog.nextDue(), plain.nextDue());
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('serves equal priorities first come, first served', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { maxLength: 50 }), keys => {
        const backlog = keyedBacklog(AGEING);
        keys.forEach((name, i) => {
          backlog.add({ key: name, reason: 'test' }, Math.floor(i / 3));
        });
        assert.deepEqual(
          keys.map(() => backlog.take()?.key),
          keys,
        );
      }),
    );
  });

  it('knows when the next delayed key is due', () => {
    const backlog = keyedBacklog(AGEING);
    assert.equal(backlog.nextDue(), undefined);
    backlog.add({ key: 'a', reason: 'test', after: 20 }, 5);
    backlog.add({ key: 'b', reason: 'test', after: 10 }, 5);
    assert.equal(backlog.nextDue(), 15);
    backlog.promote(15);
    assert.equal(backlog.nextDue(), 25);
  });
});

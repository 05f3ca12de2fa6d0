import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { afterMs, longTimer, MAX_TIMER_MS } from '../../lib/streams/timers.ts';
import { marbles } from './marbles.ts';

const month = 30 * 24 * 3_600_000;

describe('afterMs', () => {
  it('calls once after its delay, also one that no timer can hold', t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    for (const ms of [0, 5, MAX_TIMER_MS, MAX_TIMER_MS + 1, month, 3 * month]) {
      let calls = 0;
      afterMs(ms, () => {
        calls += 1;
      });
      // In steps, because the mocked clock runs at most one link of the chain a tick.
      let left = ms - 1;
      for (; left > 0; left -= MAX_TIMER_MS) t.mock.timers.tick(Math.min(left, MAX_TIMER_MS));
      assert.equal(calls, 0, `${ms} ms: too early`);
      t.mock.timers.tick(1);
      assert.equal(calls, 1, `${ms} ms: too late`);
      t.mock.timers.tick(MAX_TIMER_MS);
      assert.equal(calls, 1);
    }
  });

  it('can be cancelled in each part of its way', t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    for (const until of [0, MAX_TIMER_MS]) {
      const cancel = afterMs(month, () => assert.fail('was cancelled'));
      t.mock.timers.tick(until);
      cancel();
      t.mock.timers.tick(MAX_TIMER_MS);
    }
  });
});

describe('longTimer', () => {
  it('is not early on real timers', t => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
    let emissions = 0;
    longTimer(MAX_TIMER_MS + 10).subscribe(() => {
      emissions += 1;
    });
    t.mock.timers.tick(MAX_TIMER_MS);
    t.mock.timers.tick(9);
    assert.equal(emissions, 0);
    t.mock.timers.tick(1);
    assert.equal(emissions, 1);
  });

  it('emits after its delay, also one that no timer can hold, and leaves none when it is unsubscribed', () => {
    marbles(({ expectObservable, flush, scheduler }) => {
      expectObservable(longTimer(5)).toBe('-----(0|)', { 0: 0 });
      expectObservable(longTimer(month)).toBe(`${month}ms (0|)`, { 0: 0 });
      expectObservable(longTimer(5 * month), `${2 * month}ms !`).toBe('');
      flush();
      assert.equal(scheduler.now(), 2 * month);
    });
  });
});

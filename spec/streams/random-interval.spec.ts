import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { randomInterval } from '../../lib/streams/random-interval.ts';
import { marbles } from './marbles.ts';

const counts = { 0: 0, 1: 1, 2: 2 };

describe('randomInterval', () => {
  it('emits for ever, each time after a fresh delay within its bounds', () => {
    marbles(({ expectObservable, flush, scheduler }) => {
      const draws = [0, 0.5, 1, 0];
      const interval$ = randomInterval(2, 6, () => draws.shift() ?? 0);
      expectObservable(interval$, '-------------!').toBe('--0---1-----2-', counts);
      flush();
      assert.equal(scheduler.now(), 13, 'a timer outlived the subscription');
    });
  });

  it('keeps delays that no timer can hold', () => {
    const delay = 3_000_000_000;
    marbles(({ expectObservable }) => {
      const expected = `${delay}ms 0 ${delay - 1}ms 1`;
      expectObservable(randomInterval(delay, delay), `${2 * delay + 1}ms !`).toBe(expected, counts);
    });
  });

  it('refuses bounds that would make it spin', () => {
    assert.throws(() => randomInterval(0, 5), /min is 0, must be above 0 and at most max \(5\)/);
    assert.throws(() => randomInterval(6, 5), /min is 6/);
  });
});

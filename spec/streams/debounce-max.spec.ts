import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Subject, take, VirtualTimeScheduler } from 'rxjs';
import { bufferDebounce } from '../../lib/streams/buffer-debounce.ts';
import { debounceMax } from '../../lib/streams/debounce-max.ts';
import { marbles } from './marbles.ts';

describe('debounceMax', () => {
  it('emits the newest value after a pause', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot(' -a-b-----c----');
      const expected = '   ------b-----c--';
      const unsub = '      --------------!';
      expectObservable(source.pipe(debounceMax(3, 100)), unsub).toBe(expected);
      expectSubscriptions(source.subscriptions).toBe('^-------------!');
    });
  });

  it('emits after its longest wait when the source never pauses, counted anew from the next value', () => {
    marbles(({ hot, expectObservable }) => {
      const source = hot(' a-b-c-d-e-f-g-h-i-|');
      const expected = '   -----c-----f-----i|';
      expectObservable(source.pipe(debounceMax(3, 5))).toBe(expected);
    });
  });

  it('emits what waits when the source completes, and drops it when the source fails', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('a-|').pipe(debounceMax(5, 10))).toBe('--(a|)');
      expectObservable(cold('a-#').pipe(debounceMax(5, 10))).toBe('--#');
    });
  });

  it('leaves no timer when it is unsubscribed', () => {
    marbles(({ hot, expectObservable, expectSubscriptions, flush, scheduler }) => {
      const source = hot('-a--------');
      expectObservable(source.pipe(debounceMax(50, 100)), '--!').toBe('---');
      expectSubscriptions(source.subscriptions).toBe('^-!');
      flush();
      assert.equal(scheduler.now(), 2);
    });
  });

  it('keeps the state of its subscribers apart', () => {
    marbles(({ hot, expectObservable }) => {
      const debounced = hot('a-b-c-d-e-f-').pipe(debounceMax(3, 5));
      expectObservable(debounced, '        ------!').toBe('-----c');
      expectObservable(debounced, '---^----------!').toBe('---------e---f');
    });
  });

  it('keeps its longest wait although the wall clock is set back', () => {
    const scheduler = new VirtualTimeScheduler();
    let jump = 0;
    const now = scheduler.now.bind(scheduler);
    scheduler.now = () => now() - jump;
    const source = new Subject<number>();
    const seen: number[] = [];
    source.pipe(debounceMax(3, 5, scheduler), take(1)).subscribe(() => seen.push(now()));
    for (let frame = 0; frame < 40; frame += 2) scheduler.schedule(() => source.next(frame), frame);
    scheduler.schedule(() => {
      jump = 10_000;
    }, 3);
    scheduler.flush();
    assert.equal(seen.length, 1);
    assert.ok((seen[0] as number) <= 8, `emitted only at ${seen[0]}`);
  });
});

describe('bufferDebounce', () => {
  it('emits all values since the last emission, in order, after a pause or the longest wait', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot(' a-b----c-d-e-f-(g|)');
      const expected = '   -----x------y--(z|)';
      const values = { x: ['a', 'b'], y: ['c', 'd', 'e'], z: ['f', 'g'] };
      expectObservable(source.pipe(bufferDebounce(3, 5))).toBe(expected, values);
      expectSubscriptions(source.subscriptions).toBe('^--------------!');
    });
  });

  it('loses nothing that the consumer sends back in synchronously', () => {
    const scheduler = new VirtualTimeScheduler();
    const source = new Subject<number>();
    const seen: number[][] = [];
    source.pipe(bufferDebounce(3, 5, scheduler)).subscribe(values => {
      seen.push(values);
      if (seen.length < 3) source.next(seen.length);
    });
    source.next(0);
    scheduler.flush();
    assert.deepEqual(seen, [[0], [1], [2]]);
  });
});

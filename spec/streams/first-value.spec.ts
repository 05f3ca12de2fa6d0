import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { EMPTY, NEVER, Observable, of, range, Subject, throwError } from 'rxjs';
import { firstValue } from '../../lib/streams/first-value.ts';

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

describe('firstValue', () => {
  it('resolves with the first value, unsubscribes and removes its listener', async () => {
    const { signal } = new AbortController();
    const source = new Subject<number>();
    const value = firstValue(source, signal);
    assert.equal(listeners(signal), 1);
    source.next(1);
    assert.equal(source.observed, false);
    assert.equal(listeners(signal), 0);
    assert.equal(await value, 1);
  });

  it('takes the first of many synchronous values', async () => {
    const { signal } = new AbortController();
    assert.equal(await firstValue(range(5, Number.POSITIVE_INFINITY), signal), 5);
    assert.equal(listeners(signal), 0);
  });

  it('rejects with the reason of the signal, unsubscribes and removes its listener', async () => {
    const controller = new AbortController();
    const source = new Subject<number>();
    const value = firstValue(source, controller.signal);
    const reason = new Error('term is over');
    controller.abort(reason);
    assert.equal(source.observed, false);
    assert.equal(listeners(controller.signal), 0);
    await assert.rejects(value, reason);
  });

  it('does not subscribe when the signal has fired already', async () => {
    let subscribed = false;
    const source = new Observable<number>(() => {
      subscribed = true;
    });
    await assert.rejects(firstValue(source, AbortSignal.abort(new Error('over'))), /over/);
    assert.equal(subscribed, false);
  });

  it('unsubscribes also when the signal fires during the subscription', async () => {
    const controller = new AbortController();
    let torn = false;
    const source = new Observable<number>(() => {
      controller.abort(new Error('over'));
      return () => {
        torn = true;
      };
    });
    await assert.rejects(firstValue(source, controller.signal), /over/);
    assert.equal(torn, true);
    assert.equal(listeners(controller.signal), 0);
  });

  it('rejects when the stream fails or completes without a value', async () => {
    const { signal } = new AbortController();
    await assert.rejects(
      firstValue(
        throwError(() => new Error('boom')),
        signal,
      ),
      /boom/,
    );
    await assert.rejects(firstValue(EMPTY, signal), { name: 'EmptyError' });
    assert.equal(listeners(signal), 0);
  });

  it('keeps waiting as long as nothing happens', async () => {
    const { signal } = new AbortController();
    const settled = firstValue(NEVER, signal).then(() => 'settled');
    assert.equal(await Promise.race([settled, firstValue(of('waiting'), signal)]), 'waiting');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defer, EMPTY } from 'rxjs';
import { retryForever } from '../../lib/streams/retry-forever.ts';
import { marbles } from './marbles.ts';

const options = { backoff: (attempt: number) => 2 + attempt, resetAfter: 6 };

describe('retryForever', () => {
  it('subscribes again after each error, waiting longer each time although values came', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('a#');
      const expected = '   a--a---a----a-';
      const unsub = '      -------------!';
      expectObservable(source.pipe(retryForever(options)), unsub).toBe(expected);
      expectSubscriptions(source.subscriptions).toBe(['^!', '---^!', '-------^!', '------------^!']);
    });
  });

  it('starts again at attempt 0 once the stream has been healthy long enough', () => {
    marbles(({ cold, expectObservable, expectSubscriptions, flush }) => {
      const errors: object[] = [];
      const attempts = [cold('#'), cold('#'), cold('-----#'), cold('------#'), cold('|')];
      const left = [...attempts];
      const source = defer(() => left.shift() ?? EMPTY);
      const onError = (err: unknown, next: object) => errors.push({ err, ...next });
      expectObservable(source.pipe(retryForever({ ...options, onError }))).toBe('22ms |');
      attempts.forEach((attempt, i) => {
        expectSubscriptions(attempt.subscriptions).toBe(
          ['(^!)', '--(^!)', '-----^----!', '14ms ^-----!', '22ms (^!)'][i] as string,
        );
      });
      flush();
      const err = 'error';
      assert.deepEqual(errors, [
        { err, attempt: 0, after: 2 },
        { err, attempt: 1, after: 3 },
        { err, attempt: 2, after: 4 },
        { err, attempt: 0, after: 2 },
      ]);
    });
  });

  it('completes with the source', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-|');
      expectObservable(source.pipe(retryForever(options))).toBe('-a-|');
      expectSubscriptions(source.subscriptions).toBe('^--!');
    });
  });

  it('leaves no timer when it is unsubscribed while it waits', () => {
    marbles(({ cold, expectObservable, expectSubscriptions, flush, scheduler }) => {
      const source = cold('-#');
      expectObservable(source.pipe(retryForever({ ...options, backoff: () => 1000 })), '---!').toBe('');
      expectSubscriptions(source.subscriptions).toBe('^!');
      flush();
      assert.equal(scheduler.now(), 3);
    });
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { firstValueFrom } from 'rxjs';
import { fromAbortable } from '../../lib/streams/from-abortable.ts';

describe('fromAbortable', () => {
  it('calls the function once for each subscription, not before', async () => {
    let calls = 0;
    const source = fromAbortable(async () => {
      calls += 1;
      return calls;
    });
    assert.equal(calls, 0);
    assert.equal(await firstValueFrom(source), 1);
    assert.equal(await firstValueFrom(source), 2);
  });

  it('fires the signal when it is unsubscribed, and ignores what the function says afterwards', async () => {
    for (const settle of ['resolve', 'reject'] as const) {
      const { promise, ...settlers } = Promise.withResolvers<number>();
      const seen: unknown[] = [];
      let signal: AbortSignal | undefined;
      const source = fromAbortable(s => {
        signal = s;
        return promise;
      });
      const subscription = source.subscribe({
        next: value => seen.push(value),
        error: err => seen.push(err),
        complete: () => seen.push('complete'),
      });
      assert.equal(signal?.aborted, false);
      subscription.unsubscribe();
      assert.equal(signal?.aborted, true);
      settlers[settle](1);
      await promise.catch(() => undefined);
      assert.deepEqual(seen, []);
    }
  });

  it('does not fire the signal after a value, which may still use it', async () => {
    const signal = await firstValueFrom(fromAbortable(async s => s));
    assert.equal(signal.aborted, false);
  });

  it('fires the signal after a rejection, so that what else the function had going ends with it', async () => {
    let beside: AbortSignal | undefined;
    const source = fromAbortable(async signal => {
      beside = signal;
      throw new Error('one of several failed');
    });
    await assert.rejects(firstValueFrom(source), /one of several failed/);
    assert.equal(beside?.aborted, true);
  });

  it('hands on rejections and synchronous throws as errors', async () => {
    const rejecting = fromAbortable(() => Promise.reject(new Error('rejected')));
    const throwing = fromAbortable(() => {
      throw new Error('thrown');
    });
    await assert.rejects(firstValueFrom(rejecting), /rejected/);
    await assert.rejects(firstValueFrom(throwing), /thrown/);
  });
});

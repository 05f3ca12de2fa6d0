import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { firstValueFrom, VirtualTimeScheduler } from 'rxjs';
import { again, type Outcome } from '../../lib/streams/outcome.ts';
import { settle } from '../../lib/streams/settle.ts';

const ctx = { key: 'node/a', reason: 'test', attempt: 2 };
const err = new Error('boom');

/** A run that ends only when its signal fires. */
function endless() {
  const signals: AbortSignal[] = [];
  const run = (_: unknown, signal: AbortSignal) => {
    signals.push(signal);
    return new Promise<Outcome>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  return { run, signals };
}

describe('settle', () => {
  it('hands the context to the run and gives its outcome', async () => {
    let seen: unknown;
    const run = settle(async given => {
      seen = given;
      return again(5);
    });
    assert.deepEqual(await firstValueFrom(run(ctx)), again(5));
    assert.equal(seen, ctx);
  });

  it('turns a rejection and a throw into a failure', async () => {
    const rejecting = settle(() => Promise.reject(err));
    const throwing = settle(() => {
      throw err;
    });
    for (const run of [rejecting, throwing]) assert.deepEqual(await firstValueFrom(run(ctx)), { kind: 'failed', err });
  });

  it('fails a run that takes too long, naming key and limit, and fires its signal', () => {
    const scheduler = new VirtualTimeScheduler();
    const { run, signals } = endless();
    const seen: string[] = [];
    settle(run, { timeout: 300, scheduler })(ctx).subscribe({
      next: outcome => {
        assert.ok(outcome.kind === 'failed' && outcome.err instanceof Error);
        seen.push(`${scheduler.now()} ${outcome.err.message}`);
      },
      complete: () => seen.push('complete'),
    });
    scheduler.flush();
    assert.deepEqual(seen, ['300 Run of node/a took longer than 300 ms', 'complete']);
    assert.equal(signals[0]?.aborted, true);
  });

  it('fires the signal and leaves no timer when it is unsubscribed', () => {
    const scheduler = new VirtualTimeScheduler();
    const { run, signals } = endless();
    settle(run, { timeout: 300, scheduler })(ctx)
      .subscribe(() => assert.fail('spoke after it was left'))
      .unsubscribe();
    scheduler.flush();
    assert.equal(signals[0]?.aborted, true);
  });
});

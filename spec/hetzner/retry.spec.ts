import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Budget } from '../../lib/hetzner/budget.ts';
import type { HetznerRequest } from '../../lib/hetzner/http.ts';
import { createCall } from '../../lib/hetzner/retry.ts';
import { calling, hetznerError, refusal, rejection } from './support.ts';

const get: HetznerRequest = { method: 'GET', path: '/servers' };
const post: HetznerRequest = { method: 'POST', path: '/networks/1/actions/add_route', body: {} };

/** Answers in turn; the last one repeats. */
const setUp = (answers: readonly unknown[]) => {
  let tries = 0;
  let throttled = 0;
  const budget: Pick<Budget, 'run' | 'throttled'> = {
    run: (_, task) => task(),
    throttled: () => {
      throttled += 1;
    },
  };
  const http = {
    request: async () => {
      const answer = answers[Math.min(tries, answers.length - 1)];
      tries += 1;
      if (answer instanceof Error) throw answer;
      return answer;
    },
    close: async () => {},
  };
  const call = createCall({ http, budget: budget as Budget, baseDelay: 1 });
  return { call, count: () => ({ tries, throttled }) };
};

const timedOut = hetznerError({ status: 0, code: 'timeout', sent: true });
const refusedConnection = hetznerError({ status: 0, code: 'ECONNREFUSED', sent: false });

describe('a read', () => {
  for (const err of [
    timedOut,
    refusedConnection,
    hetznerError({ status: 502 }),
    hetznerError({ status: 0, code: 'ECONNRESET' }),
  ]) {
    it(`is tried again after ${err.status} ${err.code}`, async () => {
      const { call, count } = setUp([err, err, 'answer']);
      assert.equal(await call(get, calling()), 'answer');
      assert.equal(count().tries, 3);
    });
  }

  it('is given up after three tries', async () => {
    const { call, count } = setUp([timedOut]);
    assert.equal(await rejection(call(get, calling())), timedOut);
    assert.equal(count().tries, 3);
  });

  it('waits a random part of 1, then 2 base delays between tries', async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const delays: number[] = [];
    const { setTimeout: mocked } = globalThis;
    t.mock.method(globalThis, 'setTimeout', (f: () => void, ms: number) => {
      delays.push(ms);
      return mocked(f, 0);
    });
    const http = { request: () => Promise.reject(timedOut), close: async () => {} };
    const budget = { run: (_: unknown, task: () => Promise<unknown>) => task() } as Budget;
    const failed = rejection(createCall({ http, budget, random: () => 0.5 })(get, calling()));
    for (let i = 0; i < 3; i += 1) {
      await new Promise(resolve => setImmediate(resolve));
      t.mock.timers.tick(1);
    }
    await failed;
    assert.deepEqual(delays, [500, 1_000]);
  });

  it('BUG-069: is tried once when the error is permanent, locked or about the token', async () => {
    for (const err of [
      hetznerError({ status: 409, code: 'uniqueness_error' }),
      hetznerError({ status: 403, code: 'forbidden' }),
      hetznerError({ status: 423, code: 'locked' }),
      hetznerError({ status: 401, code: 'unauthorized' }),
    ]) {
      const { call, count } = setUp([err]);
      assert.equal(await rejection(call(get, calling())), err);
      assert.equal(count().tries, 1);
    }
  });

  it('ends with its signal while it waits for the next try', async () => {
    const abort = new AbortController();
    const http = {
      request: () => {
        queueMicrotask(() => setImmediate(() => abort.abort()));
        return Promise.reject(timedOut);
      },
      close: async () => {},
    };
    const budget = { run: (_: unknown, task: () => Promise<unknown>) => task() } as Budget;
    const call = createCall({ http, budget, baseDelay: 1e6, random: () => 0.9 });
    assert.equal(await rejection(call(get, calling('route', abort.signal))), abort.signal.reason);
  });
});

describe('a write', () => {
  it('is never sent again when it may have been carried out', async () => {
    for (const err of [timedOut, hetznerError({ status: 502 }), hetznerError({ status: 0, code: 'ECONNRESET' })]) {
      const { call, count } = setUp([err, 'answer']);
      assert.equal(await rejection(call(post, calling())), err);
      assert.equal(count().tries, 1);
    }
  });

  it('is sent again when it certainly was not sent', async () => {
    const { call, count } = setUp([refusedConnection, 'answer']);
    assert.equal(await call(post, calling()), 'answer');
    assert.equal(count().tries, 2);
  });

  it('BUG-068: that was refused with 429 pauses the budget and goes again', async () => {
    const { call, count } = setUp([refusal(), refusal(), 'answer']);
    assert.equal(await call(post, calling()), 'answer');
    assert.deepEqual(count(), { tries: 3, throttled: 2 });
  });

  it('BUG-068: that is refused again and again is given up as rate limited', async () => {
    const { call, count } = setUp([refusal()]);
    await rejection(call(post, calling()));
    assert.deepEqual(count(), { tries: 6, throttled: 6 });
  });
});

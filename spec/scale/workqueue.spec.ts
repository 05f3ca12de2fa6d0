import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BehaviorSubject, map, of, Subject, timer, VirtualTimeScheduler } from 'rxjs';
import { done } from '../../lib/streams/outcome.ts';
import { type Trigger, type WorkqueueStats, workqueue } from '../../lib/streams/workqueue.ts';

describe('workqueue with many keys', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const heapMiB = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed / 2 ** 20;
  };

  const loads = {
    'a million keys': { count: 1_000_000, order: () => ({}), takes: -1 },
    '50,000 keys with mixed priorities, delays and asynchronous runs': {
      count: 50_000,
      takes: 1,
      order: (i: number) => ({ priority: i % 3, after: (i % 2) * (1 + ((i * 7919) % 1009)) }),
    },
  };
  for (const [name, { count, order, takes }] of Object.entries(loads)) {
    it(`takes ${name} while held, runs each once and keeps nothing of them`, () => {
      const scheduler = new VirtualTimeScheduler();
      const trigger$ = new Subject<Trigger>();
      const hold$ = new BehaviorSubject(true);
      let runs = 0;
      let last: WorkqueueStats | undefined;
      const run = () => {
        runs += 1;
        return takes < 0 ? of(done) : timer(takes, scheduler).pipe(map(() => done));
      };
      const onStats = (s: WorkqueueStats) => {
        last = s;
      };
      const before = heapMiB();
      const queue = { concurrency: 10, hold$, scheduler, backoff: () => 0, onStats };
      const subscription = trigger$.pipe(workqueue(run, queue)).subscribe();
      for (let i = 0; i < count; i += 1) trigger$.next({ key: `key-${i}`, reason: 'test', ...order(i) });
      assert.equal(last && last.ready + last.delayed, count);
      hold$.next(false);
      scheduler.flush();
      assert.equal(runs, count);
      assert.deepEqual(last, { ready: 0, delayed: 0, running: 0 });
      // A million keys that wait take 200 MiB; the arrays behind them may keep their size, which is a few bytes a key.
      const kept = heapMiB() - before;
      assert.ok(kept < 20, `${kept} MiB are kept of keys that are done`);
      subscription.unsubscribe();
    });
  }
});

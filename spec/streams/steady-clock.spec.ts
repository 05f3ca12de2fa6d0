import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { of, Subject, VirtualTimeScheduler } from 'rxjs';
import { done } from '../../lib/streams/outcome.ts';
import { steadyClock } from '../../lib/streams/steady-clock.ts';
import { type Trigger, workqueue } from '../../lib/streams/workqueue.ts';

describe('steadyClock', () => {
  it('never goes back, whatever the wall clock does', () => {
    const move = fc.record({
      by: fc.integer({ min: -1000, max: 1000 }),
      reach: fc.option(fc.integer({ min: -50, max: 50 })),
    });
    fc.assert(
      fc.property(fc.array(move), moves => {
        let wall = 0;
        const clock = steadyClock({ now: () => wall });
        let last = clock.now();
        for (const { by, reach } of moves) {
          wall += by;
          const now = clock.now();
          assert.ok(now >= last && now <= last + Math.max(0, by));
          if (reach !== null) {
            clock.reach(now + reach);
            assert.equal(clock.now(), Math.max(now, now + reach));
          }
          last = clock.now();
        }
      }),
    );
  });

  it('goes on at once when the wall clock was set back', () => {
    let wall = 1000;
    const clock = steadyClock({ now: () => wall });
    wall = 10;
    assert.equal(clock.now(), 1000);
    wall = 15;
    assert.equal(clock.now(), 1005);
  });

  it('lets delayed keys of a work queue run in time although the wall clock was set back', () => {
    const scheduler = new VirtualTimeScheduler();
    const now = scheduler.now.bind(scheduler);
    let jump = 0;
    scheduler.now = () => now() - jump;
    const started: number[] = [];
    const run = () => {
      started.push(now());
      return of(done);
    };
    const trigger$ = new Subject<Trigger>();
    trigger$.pipe(workqueue(run, { concurrency: 1, backoff: () => 0, scheduler })).subscribe();
    trigger$.next({ key: 'a', reason: 'test', after: 50 });
    jump = 3_600_000;
    scheduler.flush();
    assert.deepEqual(started, [50]);
  });
});

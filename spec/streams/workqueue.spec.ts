import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, EMPTY, map, NEVER, Observable, of, range, Subject, take, takeUntil, throwError } from 'rxjs';
import { again, done, failed, type Outcome, rejected } from '../../lib/streams/outcome.ts';
import { MAX_TIMER_MS } from '../../lib/streams/timers.ts';
import {
  type Run,
  type RunContext,
  type Trigger,
  type WorkqueueOptions,
  workqueue,
} from '../../lib/streams/workqueue.ts';
import { type MarbleHelpers, marbles } from './marbles.ts';

const err = new Error('boom');
const outcomes = { d: done, g: again(5), f: failed(err), x: failed(err, 3), r: rejected(err) };
const options: WorkqueueOptions = { concurrency: 10, backoff: attempt => 10 * (attempt + 1) };
const trigger = (key: string, more: Partial<Trigger> = {}): Trigger => ({ key, reason: 'test', ...more });
const triggers = { a: trigger('a'), b: trigger('b'), c: trigger('c') };
const key = map((run: Run) => run.key);

/**
 * Feeds the triggers at their instants and takes one job (marbles of `outcomes`) for each run, `d` when they are used up.
 * Answers with one line for each start: instant, key, attempt, reason.
 */
function starts(
  { cold, scheduler, flush }: MarbleHelpers,
  feed: ReadonlyArray<readonly [number, Trigger]>,
  jobs: readonly string[] = [],
  more: Partial<WorkqueueOptions> = {},
): string[] {
  const lines: string[] = [];
  const left = [...jobs];
  const run = (ctx: RunContext) => {
    lines.push(`${scheduler.now()} ${ctx.key}#${ctx.attempt} ${ctx.reason}`);
    return cold(left.shift() ?? 'd', outcomes);
  };
  const trigger$ = new Subject<Trigger>();
  trigger$.pipe(workqueue(run, { ...options, ...more })).subscribe();
  for (const [at, item] of feed) scheduler.schedule(() => trigger$.next(item), at);
  flush();
  return lines;
}

describe('workqueue: one run a key', () => {
  it('runs a key once at a time, and exactly once more for any number of triggers during its run', () => {
    marbles(({ hot, cold, expectObservable, expectSubscriptions }) => {
      const trigger$ = hot(' -ababaaa-----------------------', triggers);
      const job = cold('      ----------d                    ', outcomes);
      const expected = '     -----------ab--------ab--------';
      const unsub = '        -------------------------------!';
      const runs = [
        '                    -^---------!                    ',
        '                    --^---------!                   ',
        '                    -----------^---------!          ',
        '                    ------------^---------!         ',
      ];
      expectObservable(
        trigger$.pipe(
          workqueue(() => job, options),
          key,
        ),
        unsub,
      ).toBe(expected);
      expectSubscriptions(job.subscriptions).toBe(runs);
      expectSubscriptions(trigger$.subscriptions).toBe('^------------------------------!');
    });
  });

  it('never runs more keys at once than its concurrency, and serves them in order of arrival', () => {
    marbles(({ hot, cold, expectObservable, expectSubscriptions }) => {
      const trigger$ = hot(' (abc)------', triggers);
      const job = cold('      ----d       ', outcomes);
      const expected = '     ----(ab)c---';
      const unsub = '        ------------!';
      const run$ = trigger$.pipe(
        workqueue(() => job, { ...options, concurrency: 2 }),
        key,
      );
      expectObservable(run$, unsub).toBe(expected);
      expectSubscriptions(job.subscriptions).toBe(['^---!', '^---!', '----^---!']);
    });
  });

  it('lets a key that is triggered all the time not overtake the others', () => {
    marbles(helpers => {
      const feed = [
        [0, triggers.a],
        [1, triggers.a],
        [2, triggers.b],
        [3, triggers.c],
      ] as const;
      const lines = starts(helpers, feed, ['-----d', '-----d', '-----d', '-----d'], { concurrency: 1 });
      assert.deepEqual(lines, ['0 a#0 test', '5 b#0 test', '10 c#0 test', '15 a#0 test']);
    });
  });

  it('is torn down before the key is free again', () => {
    let running = 0;
    const overlaps: number[] = [];
    const run = () =>
      new Observable<Outcome>(subscriber => {
        overlaps.push(running);
        running += 1;
        subscriber.add(() => {
          running -= 1;
        });
        subscriber.next(done);
      });
    const trigger$ = new Subject<Trigger>();
    let more = 3;
    trigger$.pipe(workqueue(run, options)).subscribe(() => {
      if (more-- > 0) trigger$.next(triggers.a);
    });
    trigger$.next(triggers.a);
    assert.deepEqual(overlaps, [0, 0, 0, 0]);
    assert.equal(running, 0);
  });

  it('refuses a concurrency below 1', () => {
    assert.throws(() => workqueue(() => NEVER, { ...options, concurrency: 0 }), /concurrency is 0, must be at least 1/);
  });
});

describe('workqueue: waiting', () => {
  it('collapses duplicates that wait, with the first reason, the highest priority and the earliest time', () => {
    marbles(helpers => {
      const feed = [
        [0, trigger('busy')],
        [1, trigger('a', { reason: 'first' })],
        [2, trigger('b', { reason: 'first', priority: 1 })],
        [3, trigger('a', { reason: 'second', priority: 2, after: 100 })],
        [4, trigger('c', { reason: 'late', after: 50 })],
        [5, trigger('c', { reason: 'soon', after: 5 })],
        [6, trigger('c', { reason: 'later', after: 90 })],
      ] as const;
      const lines = starts(helpers, feed, ['-------d'], { concurrency: 1 });
      assert.deepEqual(lines, ['0 busy#0 test', '7 a#0 first', '7 b#0 first', '10 c#0 late']);
    });
  });

  it('starts higher priorities first', () => {
    marbles(helpers => {
      const feed = [
        [0, trigger('busy')],
        [1, trigger('low', { priority: -1 })],
        [2, trigger('normal')],
        [3, trigger('high', { priority: 1 })],
      ] as const;
      const keys = starts(helpers, feed, ['----d'], { concurrency: 1 }).map(line => line.split(/[ #]/)[1]);
      assert.deepEqual(keys, ['busy', 'high', 'normal', 'low']);
    });
  });

  it('lets a low priority wait only until it has aged past a steady flow of higher ones', () => {
    marbles(helpers => {
      const flow = Array.from({ length: 30 }, (_, i) => [i, trigger(`high-${i}`, { priority: 1 })] as const);
      const lines = starts(helpers, [...flow, [0, trigger('low')]], Array(31).fill('--d'), {
        concurrency: 1,
        ageing: 10,
      });
      // Level 0 since 0 counts like level 1 since 10: the ten before that take until 20, at two ms a run.
      assert.equal(
        lines.find(line => line.includes('low')),
        '20 low#0 test',
      );
    });
  });

  it('holds everything back while held, still collapsing duplicates', () => {
    marbles(({ hot, cold, expectObservable, expectSubscriptions }) => {
      const trigger$ = hot(' -aab-a--------b----', triggers);
      const hold$ = hot('    t-----f---t-----f--', { t: true, f: false });
      const job = cold('     ---d               ', outcomes);
      const expected = '     ---------(ab)------b';
      const unsub = '        --------------------!';
      expectObservable(
        trigger$.pipe(
          workqueue(() => job, { ...options, hold$ }),
          key,
        ),
        unsub,
      ).toBe(expected);
      expectSubscriptions(job.subscriptions).toBe(['------^--!', '------^--!', '----------------^--!']);
      expectSubscriptions(hold$.subscriptions).toBe('^-------------------!');
    });
  });

  it('is held until hold$ has said otherwise', () => {
    let runs = 0;
    const run = () => {
      runs += 1;
      return of(done);
    };
    const hold$ = new Subject<boolean>();
    of(triggers.a)
      .pipe(workqueue(run, { ...options, hold$ }))
      .subscribe();
    assert.equal(runs, 0);
    hold$.next(false);
    assert.equal(runs, 1);
  });

  it('waits for delays that no timer can hold', t => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
    let runs = 0;
    const run = () => {
      runs += 1;
      return of(done);
    };
    const late = trigger('a', { after: MAX_TIMER_MS + 10 });
    const subscription = concat(of(late), NEVER).pipe(workqueue(run, options)).subscribe();
    t.mock.timers.tick(MAX_TIMER_MS);
    t.mock.timers.tick(9);
    assert.equal(runs, 0);
    t.mock.timers.tick(1);
    assert.equal(runs, 1);
    subscription.unsubscribe();
  });
});

describe('workqueue: outcomes', () => {
  it('looks again after the delay of again, with attempts back at 0', () => {
    marbles(helpers => {
      const lines = starts(helpers, [[0, triggers.a]], ['f', 'g', 'd']);
      assert.deepEqual(lines, ['0 a#0 test', '10 a#1 test', '15 a#0 requeued']);
    });
  });

  it('backs off by the attempts in a row, or by the delay of the failure', () => {
    marbles(helpers => {
      const lines = starts(helpers, [[0, triggers.a]], ['f', 'f', 'x', 'f', 'd']);
      assert.deepEqual(lines, ['0 a#0 test', '10 a#1 test', '30 a#2 test', '33 a#3 test', '73 a#4 test']);
    });
  });

  for (const [name, job] of Object.entries({ done: 'd', rejected: 'r' })) {
    it(`forgets the key and its attempts after ${name}`, () => {
      marbles(helpers => {
        const feed = [
          [0, triggers.a],
          [500, triggers.a],
        ] as const;
        assert.deepEqual(starts(helpers, feed, ['f', job, 'd']), ['0 a#0 test', '10 a#1 test', '500 a#0 test']);
      });
    });
  }

  it('runs a key in backoff at once when it is triggered, with its attempts and the new reason', () => {
    marbles(helpers => {
      const feed = [
        [0, triggers.a],
        [4, trigger('a', { reason: 'changed' })],
        [5, trigger('a', { reason: 'ignored', after: 500 })],
      ] as const;
      const lines = starts(helpers, feed, ['f', 'f', 'd']);
      assert.deepEqual(lines, ['0 a#0 test', '4 a#1 changed', '24 a#2 changed']);
    });
  });

  it('runs a key at once that was triggered during a run that failed', () => {
    marbles(helpers => {
      const feed = [
        [0, triggers.a],
        [1, trigger('a', { reason: 'changed' })],
      ] as const;
      assert.deepEqual(starts(helpers, feed, ['--f']), ['0 a#0 test', '2 a#1 changed']);
    });
  });

  it('takes the earlier of the retry and a delayed trigger that came during the run', () => {
    marbles(helpers => {
      const feed = [
        [0, triggers.a],
        [1, trigger('a', { reason: 'delayed', after: 50 })],
      ] as const;
      assert.deepEqual(starts(helpers, feed, ['--g']), ['0 a#0 test', '7 a#0 delayed']);
    });
  });

  const misbehaviours: Record<string, () => Observable<Outcome>> = {
    'throws synchronously': () => {
      throw err;
    },
    errors: () => throwError(() => err),
    'completes without an outcome': () => EMPTY,
    'gives something else than an outcome': () => of(undefined as unknown as Outcome),
    'gives an unknown kind of outcome': () => of({ kind: 'nope' } as unknown as Outcome),
    'throws in its teardown': () =>
      new Observable(subscriber => {
        subscriber.next(done);
        return () => {
          throw err;
        };
      }),
  };
  for (const [name, run] of Object.entries(misbehaviours)) {
    it(`counts a run as failed that ${name}`, () => {
      marbles(({ scheduler, flush }) => {
        const results: string[] = [];
        concat(of(triggers.a, triggers.b), NEVER)
          .pipe(workqueue(run, options), take(4))
          .subscribe(({ outcome, attempt, ...r }) =>
            results.push(`${scheduler.now()} ${r.key}#${attempt} ${outcome.kind}`),
          );
        flush();
        assert.deepEqual(results, ['0 a#0 failed', '0 b#0 failed', '10 a#1 failed', '10 b#1 failed']);
      });
    });
  }

  it('takes the first value as the outcome and aborts what would follow', () => {
    marbles(({ hot, cold, expectObservable, expectSubscriptions }) => {
      const trigger$ = hot(' a--------', triggers);
      const job = cold('      --d-f----', outcomes);
      expectObservable(
        trigger$.pipe(
          workqueue(() => job, options),
          key,
        ),
        '---------!',
      ).toBe('--a');
      expectSubscriptions(job.subscriptions).toBe('^-!');
      expectObservable(of(triggers.a).pipe(workqueue(() => of(done, failed(err)), options))).toBe('(r|)', {
        r: { key: 'a', reason: 'test', attempt: 0, outcome: done, waited: 0, duration: 0, retryIn: undefined },
      });
    });
  });

  it('tells how long a run was ready and how long it took', () => {
    marbles(({ hot, cold, expectObservable }) => {
      const trigger$ = hot('-a--b-------', triggers);
      const run = () => cold('     -----d', outcomes);
      const result = { attempt: 0, reason: 'test', outcome: done, duration: 5, retryIn: undefined };
      const values = { a: { ...result, key: 'a', waited: 0 }, b: { ...result, key: 'b', waited: 2 } };
      const run$ = trigger$.pipe(workqueue(run, { ...options, concurrency: 1 }));
      expectObservable(run$, '------------!').toBe('------a----b', values);
    });
  });
});

describe('workqueue: ends', () => {
  it('finishes what is ready and running when the triggers complete, drops delayed keys, and leaves no timer', () => {
    marbles(({ hot, cold, expectObservable, expectSubscriptions }) => {
      const trigger$ = hot(' (abc|)     ', triggers);
      const jobs = [cold('    ----f'), cold('---g'), cold('-----d')];
      const run = (ctx: RunContext) => jobs['abc'.indexOf(ctx.key)]?.pipe(map(m => outcomes[m as 'd'])) ?? NEVER;
      const expected = '     ---ba---(c|)';
      expectObservable(trigger$.pipe(workqueue(run, { ...options, concurrency: 2 }), key)).toBe(expected);
      expectSubscriptions(jobs[2]?.subscriptions ?? []).toBe('---^----!');
    });
  });

  it('completes at once when nothing is ready or running', () => {
    marbles(({ cold, expectObservable }) => {
      const late = { l: trigger('a', { after: 50 }) };
      expectObservable(cold('l-|', late).pipe(workqueue(() => of(done), options))).toBe('--|');
    });
  });

  for (const failing of ['trigger$', 'hold$']) {
    it(`cancels all runs and hands on the error when ${failing} fails`, () => {
      marbles(({ hot, cold, expectObservable, expectSubscriptions }) => {
        const trigger$ = hot(failing === 'trigger$' ? ' a-b---#' : ' a-b----', triggers);
        const hold$ = hot(failing === 'hold$' ? '       f-----#' : 'f------', { f: false });
        const job = cold('                              ----------d', outcomes);
        expectObservable(trigger$.pipe(workqueue(() => job, { ...options, hold$ }))).toBe('------#');
        expectSubscriptions(job.subscriptions).toBe(['^-----!', '--^---!']);
        expectSubscriptions(trigger$.subscriptions).toBe('^-----!');
        expectSubscriptions(hold$.subscriptions).toBe('^-----!');
      });
    });
  }

  it('cancels all runs and the timer when it is unsubscribed, and says that nothing is left', () => {
    marbles(({ hot, cold, expectObservable, expectSubscriptions, flush, scheduler }) => {
      const trigger$ = hot('(ab)------', triggers);
      const forever = cold('----------', outcomes);
      const stats: string[] = [];
      let runs = 0;
      const run = (ctx: RunContext) => {
        runs += 1;
        return ctx.key === 'a' ? forever : of(failed(err, 3));
      };
      const onStats = (s: object) => stats.push(`${scheduler.now()} ${Object.values(s).join(' ')}`);
      expectObservable(trigger$.pipe(workqueue(run, { ...options, onStats }), key), '--!').toBe('b');
      expectSubscriptions(forever.subscriptions).toBe('^-!');
      flush();
      assert.equal(runs, 2);
      assert.equal(scheduler.now(), 2, 'a timer outlived the queue');
      assert.deepEqual(stats, ['0 0 0 1', '0 0 1 1', '2 0 0 0']);
    });
  });

  it('cancels each run although the teardown of one throws', () => {
    let cancelled = 0;
    const run = ({ key: name }: RunContext) =>
      new Observable<Outcome>(() => () => {
        if (name === 'a') throw err;
        cancelled += 1;
      });
    const trigger$ = new Subject<Trigger>();
    const subscription = trigger$.pipe(workqueue(run, options)).subscribe();
    for (const item of Object.values(triggers)) trigger$.next(item);
    assert.throws(() => subscription.unsubscribe(), /boom/);
    assert.equal(cancelled, 2);
  });

  it('cancels also the run whose start makes the consumer leave', () => {
    let running = 0;
    const leave$ = new Subject<void>();
    const run = () =>
      new Observable<Outcome>(() => {
        running += 1;
        leave$.next();
        return () => {
          running -= 1;
        };
      });
    concat(of(triggers.a), NEVER).pipe(workqueue(run, options), takeUntil(leave$)).subscribe();
    assert.equal(running, 0);
  });

  it('stops listening to a synchronous source when the consumer leaves in the middle of it', () => {
    let seen = 0;
    const trigger$ = range(0, Number.POSITIVE_INFINITY).pipe(
      map(i => {
        seen += 1;
        return trigger(`${i}`);
      }),
    );
    trigger$
      .pipe(
        workqueue(() => of(done), options),
        take(3),
      )
      .subscribe();
    assert.ok(seen <= 4);
  });

  it('fails when the backoff throws, for it could never retry', () => {
    const backoff = () => {
      throw err;
    };
    let seen: unknown;
    of(triggers.a)
      .pipe(workqueue(() => of(failed(1)), { ...options, backoff }))
      .subscribe({
        error: e => {
          seen = e;
        },
      });
    assert.equal(seen, err);
  });

  it('tells how long until a key runs again by itself', () => {
    marbles(({ hot, expectObservable }) => {
      const outcomeOf: Record<string, Outcome> = {
        a: done,
        b: again(70),
        c: failed('e'),
        d: failed('e', 90),
        e: rejected('e'),
      };
      const trigger$ = hot('(abcde)', Object.fromEntries([...'abcde'].map(k => [k, { key: k, reason: 'test' }])));
      const run$ = trigger$.pipe(
        workqueue(({ key }) => of(outcomeOf[key] as Outcome), { ...options, backoff: () => 80 }),
        map(({ key, retryIn }) => `${key} ${retryIn}`),
      );
      const values = { a: 'a undefined', b: 'b 70', c: 'c 80', d: 'd 90', e: 'e undefined' };
      expectObservable(run$, '----------!').toBe('(abcde)', values);
    });
  });
});

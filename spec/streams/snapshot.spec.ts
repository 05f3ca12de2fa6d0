import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  concatMap,
  defer,
  EMPTY,
  finalize,
  map,
  merge,
  mergeMap,
  type Observable,
  of,
  throwError,
  timer,
  VirtualTimeScheduler,
} from 'rxjs';
import {
  type Snapshot,
  type SnapshotOptions,
  type SnapshotSource,
  snapshotSource,
} from '../../lib/streams/snapshot.ts';
import { MAX_TIMER_MS } from '../../lib/streams/timers.ts';
import { type MarbleHelpers, marbles } from './marbles.ts';

/** A source whose fetches are the given ones, in turn. */
function sourceOf(
  { clock }: Pick<MarbleHelpers, 'clock'>,
  fetches: readonly Observable<string>[],
  more: Partial<SnapshotOptions<string>> = {},
): SnapshotSource<string> {
  const left = [...fetches];
  const fetch = () => left.shift() ?? throwError(() => new Error('one fetch too many'));
  return snapshotSource({ fetch, clock, errorHoldOff: failures => 10 * failures, ...more });
}

/** Asks at `frame` for a snapshot not older than `instant`. */
const ask = (source: SnapshotSource<string>, frame: number, instant: number): Observable<Snapshot<string>> =>
  timer(frame).pipe(concatMap(() => source.notBefore(instant)));

/** One expected snapshot for each letter, by the instant of its request. */
const at = (instants: Record<string, number>) =>
  Object.fromEntries(Object.entries(instants).map(([value, requestedAt]) => [value, { value, requestedAt }]));

describe('snapshot', () => {
  it('answers all who can use it with the fetch in flight, and later ones with what it brought', () => {
    marbles(helpers => {
      const fetch = helpers.cold('---a|');
      const source = sourceOf(helpers, [fetch]);
      const values = at({ a: 2 });
      helpers.expectObservable(ask(source, 2, 1)).toBe('------(a|)', values);
      helpers.expectObservable(ask(source, 4, 2)).toBe('------(a|)', values);
      helpers.expectObservable(ask(source, 9, 2)).toBe('---------(a|)', values);
      helpers.expectSubscriptions(fetch.subscriptions).toBe('--^---!');
    });
  });

  it('lets those who need a newer answer share the next fetch, never satisfying them by the one in flight', () => {
    marbles(helpers => {
      const fetches = [helpers.cold('----(a|)'), helpers.cold('---(b|)')] as const;
      const source = sourceOf(helpers, fetches);
      const values = at({ a: 1, b: 5 });
      helpers.expectObservable(ask(source, 1, 0)).toBe('-----(a|)', values);
      helpers.expectObservable(ask(source, 2, 2)).toBe('--------(b|)', values);
      helpers.expectObservable(ask(source, 4, 3)).toBe('--------(b|)', values);
      helpers.expectObservable(ask(source, 3, 1)).toBe('-----(a|)', values);
      helpers.expectSubscriptions(fetches[0].subscriptions).toBe('-^---!');
      helpers.expectSubscriptions(fetches[1].subscriptions).toBe('-----^--!');
    });
  });

  it('waits until an instant in the future before it sends', () => {
    marbles(helpers => {
      const fetches = [helpers.cold('--(a|)'), helpers.cold('--(b|)')] as const;
      const source = sourceOf(helpers, fetches);
      const values = at({ a: 3, b: 8 });
      helpers.expectObservable(ask(source, 0, 8)).toBe('----------(b|)', values);
      helpers.expectObservable(ask(source, 1, 3)).toBe('-----(a|)', values);
      helpers.expectObservable(ask(source, 2, 8)).toBe('----------(b|)', values);
      helpers.expectSubscriptions(fetches[0].subscriptions).toBe('---^-!');
      helpers.expectSubscriptions(fetches[1].subscriptions).toBe('--------^-!');
    });
  });

  it('takes the last value of a fetch, and only when it has completed', () => {
    marbles(helpers => {
      const source = sourceOf(helpers, [helpers.cold('a-b-|'), helpers.cold('c-#')]);
      helpers.expectObservable(ask(source, 0, 0)).toBe('----(b|)', at({ b: 0 }));
      helpers.expectObservable(ask(source, 6, 6)).toBe('--------#');
      helpers.expectObservable(timer(9).pipe(map(() => source.latest()?.value))).toBe('---------(b|)');
    });
  });

  it('gives an error to the waiters of that fetch only, and holds the next one back', () => {
    marbles(helpers => {
      const fetches = [helpers.cold('---#'), helpers.cold('--#'), helpers.cold('-(c|)')] as const;
      const source = sourceOf(helpers, fetches);
      const values = at({ c: 35 });
      helpers.expectObservable(ask(source, 0, 0)).toBe('   ---#');
      helpers.expectObservable(ask(source, 2, 1)).toBe('   15ms #'); // Was waiting for the next one, sent at 3 + 10.
      helpers.expectObservable(ask(source, 20, 0)).toBe('  36ms (c|)', values);
      helpers.expectSubscriptions(fetches[0].subscriptions).toBe('^--!');
      helpers.expectSubscriptions(fetches[1].subscriptions).toBe('13ms ^-!');
      helpers.expectSubscriptions(fetches[2].subscriptions).toBe('35ms ^!');
    });
  });

  it('counts failures in a row from 1 and starts again after a success', () => {
    marbles(helpers => {
      const seen: number[] = [];
      const errorHoldOff = (failures: number) => {
        seen.push(failures);
        return 0;
      };
      const { cold } = helpers;
      const source = sourceOf(helpers, [cold('#'), cold('#'), cold('(a|)'), cold('#')], { errorHoldOff });
      for (const frame of [0, 1, 2, 3]) ask(source, frame, frame).subscribe({ error: () => undefined });
      helpers.flush();
      assert.deepEqual(seen, [1, 2, 1]);
      assert.equal(source.latest()?.value, 'a', 'a failed fetch replaced the last good one');
    });
  });

  it('treats a fetch that throws or completes without a value as failed', () => {
    marbles(helpers => {
      const thrower = () => {
        throw new Error('boom');
      };
      const thrown = snapshotSource<string>({ fetch: thrower, clock: helpers.clock, errorHoldOff: () => 0 });
      helpers.expectObservable(thrown.notBefore(0)).toBe('#', {}, new Error('boom'));
      const empty = new Error('Fetch of a snapshot completed without a value');
      helpers.expectObservable(sourceOf(helpers, [EMPTY]).notBefore(0)).toBe('#', {}, empty);
    });
  });

  it('aborts the fetch when its last waiter leaves, and only then', () => {
    marbles(helpers => {
      const fetches = [helpers.cold('------(a|)'), helpers.cold('--(b|)')] as const;
      const source = sourceOf(helpers, fetches);
      helpers.expectObservable(ask(source, 0, 0), '---!').toBe('');
      helpers.expectObservable(ask(source, 1, 0), '----!').toBe('');
      helpers.expectObservable(ask(source, 2, 2)).toBe('------(b|)', at({ b: 4 })); // Its fetch need not wait any longer.
      helpers.expectSubscriptions(fetches[0].subscriptions).toBe('^---!');
      helpers.expectSubscriptions(fetches[1].subscriptions).toBe('----^-!');
    });
  });

  it('leaves no timer and sends nothing when nobody waits any more', () => {
    marbles(helpers => {
      const fetch = helpers.cold('#');
      const source = sourceOf(helpers, [fetch], { errorHoldOff: () => 1000 });
      helpers.expectObservable(ask(source, 0, 0)).toBe('#');
      helpers.expectObservable(ask(source, 1, 1), '----!').toBe('');
      helpers.flush();
      assert.equal(helpers.scheduler.now(), 4, 'a timer outlived the waiters');
    });
  });

  it('keeps the least interval between two requests, counted from their sending', () => {
    marbles(helpers => {
      const fetches = [helpers.cold('--(a|)'), helpers.cold('-(b|)')] as const;
      const source = sourceOf(helpers, fetches, { minInterval: 8 });
      helpers.expectObservable(ask(source, 1, 1)).toBe('---(a|)', at({ a: 1 }));
      helpers.expectObservable(ask(source, 4, 4)).toBe('----------(b|)', at({ b: 9 }));
      helpers.expectSubscriptions(fetches[1].subscriptions).toBe('---------^!');
    });
  });

  it('shows each new snapshot and first of all the newest, before the waiters go on, fetching nothing by itself', () => {
    marbles(helpers => {
      const source = sourceOf(helpers, [helpers.cold('-(a|)'), helpers.cold('-(b|)')]);
      const order: string[] = [];
      source.changes$.subscribe(({ value }) => order.push(`changed ${value}`));
      const values = at({ a: 2, b: 8 });
      helpers.expectObservable(source.changes$, '------------!').toBe('---a-----b--', values);
      helpers
        .expectObservable(timer(5).pipe(concatMap(() => source.changes$)), '------------!')
        .toBe('-----a---b--', values);
      for (const frame of [2, 8]) ask(source, frame, frame).subscribe(({ value }) => order.push(`answered ${value}`));
      helpers.flush();
      assert.deepEqual(order, ['changed a', 'answered a', 'changed b', 'answered b']);
    });
  });

  it('reports each fetch with its end and duration', () => {
    marbles(helpers => {
      const reports: object[] = [];
      const onFetch = (report: object) => reports.push(report);
      const { cold } = helpers;
      const source = sourceOf(helpers, [cold('---(a|)'), cold('--#'), cold('---')], { onFetch });
      helpers.expectObservable(ask(source, 0, 0)).toBe('---(a|)', at({ a: 0 }));
      helpers.expectObservable(ask(source, 5, 5)).toBe('-------#');
      helpers.expectObservable(ask(source, 30, 30), '32ms !').toBe('');
      helpers.flush();
      assert.deepEqual(reports, [
        { ok: true, durationMs: 3 },
        { ok: false, durationMs: 2 },
      ]);
    });
  });

  it('serves a waiter that asks again from within its answer', () => {
    marbles(helpers => {
      const source = sourceOf(helpers, [helpers.cold('-(a|)'), helpers.cold('-(b|)')]);
      const again$ = source.notBefore(0).pipe(concatMap(first => source.notBefore(first.requestedAt + 1)));
      helpers.expectObservable(again$).toBe('--(b|)', at({ b: 1 }));
    });
  });

  it('does not fetch twice at once for those who ask from within an answer', () => {
    marbles(helpers => {
      const fetches = [helpers.cold('-(a|)'), helpers.cold('-----(b|)'), helpers.cold('-(c|)')] as const;
      const source = sourceOf(helpers, fetches);
      const two$ = source.notBefore(0).pipe(mergeMap(() => merge(source.notBefore(1), source.notBefore(2))));
      helpers.expectObservable(two$).toBe('------b(c|)', at({ b: 1, c: 6 }));
      helpers.expectSubscriptions(fetches[1].subscriptions).toBe('-^----!');
      helpers.expectSubscriptions(fetches[2].subscriptions).toBe('------^!');
    });
  });

  it('waits for instants further away than a timer can hold', t => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
    const clock = { now: Date.now, monotonic: Date.now };
    let fetches = 0;
    const fetch = () => {
      fetches += 1;
      return of('a');
    };
    const source = snapshotSource({ fetch, clock, errorHoldOff: () => 0 });
    source.notBefore(MAX_TIMER_MS + 10).subscribe();
    t.mock.timers.tick(MAX_TIMER_MS);
    t.mock.timers.tick(9);
    assert.equal(fetches, 0);
    t.mock.timers.tick(1);
    assert.equal(fetches, 1);
  });

  it('never answers with something older than asked, never fetches twice at once, and answers everyone', () => {
    const question = fc.record({
      at: fc.nat(60),
      back: fc.integer({ min: -20, max: 20 }),
      patience: fc.option(fc.nat(15)),
    });
    const fetches = fc.array(fc.record({ takes: fc.nat(12), ok: fc.boolean() }), { maxLength: 20 });
    fc.assert(
      fc.property(
        fc.array(question, { maxLength: 25, size: 'max' }),
        fetches,
        fc.nat(10),
        (questions, script, minInterval) => {
          const scheduler = new VirtualTimeScheduler();
          const now = () => scheduler.now();
          const left = [...script];
          const sent: number[] = [];
          let flying = 0;
          const fetch = () =>
            defer(() => {
              const { takes, ok } = left.shift() ?? { takes: 1, ok: true };
              sent.push(now());
              flying += 1;
              assert.equal(flying, 1);
              const answer = () => (ok ? of(now()) : throwError(() => new Error('boom')));
              return timer(takes, scheduler).pipe(concatMap(answer));
            }).pipe(
              finalize(() => {
                flying -= 1;
              }),
            );
          const source = snapshotSource<number>({
            fetch,
            clock: { now, monotonic: now },
            errorHoldOff: () => 4,
            minInterval,
            scheduler,
          });
          let open = 0;
          for (const { at: frame, back, patience } of questions) {
            scheduler.schedule(() => {
              open += 1;
              const instant = now() - back;
              const subscription = source.notBefore(instant).subscribe({
                next: ({ requestedAt }) => assert.ok(requestedAt >= instant),
                error: () => undefined,
              });
              subscription.add(() => {
                open -= 1;
              });
              if (patience !== null) scheduler.schedule(() => subscription.unsubscribe(), patience);
            }, frame);
          }
          scheduler.flush();
          assert.deepEqual([open, flying], [0, 0]);
          sent.slice(1).forEach((instant, i) => {
            assert.ok(instant - (sent[i] as number) >= minInterval);
          });
        },
      ),
      { numRuns: 300 },
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  BehaviorSubject,
  concatMap,
  defer,
  EMPTY,
  type Observable,
  of,
  Subject,
  throwError,
  timer,
  VirtualTimeScheduler,
} from 'rxjs';
import { again, done, failed, type Outcome, rejected } from '../../lib/streams/outcome.ts';
import { type RunContext, type Trigger, type WorkqueueStats, workqueue } from '../../lib/streams/workqueue.ts';

type Ending = 'throw' | 'error' | 'empty' | Outcome;

interface Scenario {
  readonly concurrency: number;
  readonly triggers: readonly { at: number; key: string; priority: number; after: number }[];
  readonly holds: readonly { at: number; held: boolean }[];
  /** The first runs of all keys, in the order of their starts; -1 is synchronous. Later runs are done at once. */
  readonly runs: readonly { takes: number; ending: Ending }[];
  /** What the consumer triggers, synchronously, on the first results. */
  readonly echoes: readonly (string | undefined)[];
}

const err = new Error('boom');
const anyKey = fc.constantFrom('a', 'b', 'c', 'd');
const small = fc.nat({ max: 20 });
const at = fc.nat({ max: 60 });
const delay = fc.oneof(fc.constant(0), small);
const ending: fc.Arbitrary<Ending> = fc.oneof(
  fc.constantFrom<Ending>(done, rejected(err), 'throw', 'error', 'empty', failed(err)),
  delay.map(again),
  delay.map(after => failed(err, after)),
);
const scenario: fc.Arbitrary<Scenario> = fc.record({
  concurrency: fc.integer({ min: 1, max: 3 }),
  triggers: fc.array(fc.record({ at, key: anyKey, priority: fc.integer({ min: -1, max: 1 }), after: delay }), {
    minLength: 1,
    maxLength: 40,
    size: 'max',
  }),
  holds: fc.array(fc.record({ at, held: fc.boolean() }), { maxLength: 4 }),
  runs: fc.array(fc.record({ takes: fc.integer({ min: -1, max: 15 }), ending }), { maxLength: 40, size: 'max' }),
  echoes: fc.array(fc.option(anyKey, { nil: undefined }), { maxLength: 10 }),
});

interface LogLine {
  readonly kind: 'trigger' | 'start' | 'end' | 'result';
  readonly key: string;
  readonly at: number;
}

/** Plays a scenario in virtual time until nothing is left to happen. */
function play({ concurrency, triggers, holds, runs, echoes }: Scenario) {
  const scheduler = new VirtualTimeScheduler();
  const log: LogLine[] = [];
  const stats: (WorkqueueStats & { held: boolean })[] = [];
  const note = (kind: LogLine['kind'], key: string) => log.push({ kind, key, at: scheduler.now() });
  const script = [...runs];
  const echo = [...echoes];
  const run = ({ key }: RunContext): Observable<Outcome> => {
    note('start', key);
    const { takes, ending: how } = script.shift() ?? { takes: -1, ending: done };
    const end = defer(() => {
      note('end', key);
      if (how === 'throw') throw err;
      if (how === 'error') return throwError(() => err);
      return how === 'empty' ? EMPTY : of(how);
    });
    return takes < 0 ? end : timer(takes, scheduler).pipe(concatMap(() => end));
  };
  const trigger$ = new Subject<Trigger>();
  const hold$ = new BehaviorSubject(false);
  const add = (trigger: Omit<Trigger, 'reason'>) => {
    note('trigger', trigger.key);
    trigger$.next({ ...trigger, reason: 'test' });
  };
  const onStats = (s: WorkqueueStats) => stats.push({ ...s, held: hold$.value });
  const backoff = (attempt: number) => 3 * (attempt + 1);
  trigger$.pipe(workqueue(run, { concurrency, hold$, scheduler, backoff, ageing: 10, onStats })).subscribe(result => {
    note('result', result.key);
    const key = echo.shift();
    if (key !== undefined) add({ key });
  });
  for (const { at: instant, ...trigger } of triggers) scheduler.schedule(() => add(trigger), instant);
  for (const { at: instant, held } of holds) scheduler.schedule(() => hold$.next(held), instant);
  scheduler.schedule(() => hold$.next(false), 61);
  scheduler.flush();
  return { log, stats };
}

const check = (property: (scene: Scenario, played: ReturnType<typeof play>) => void) =>
  fc.assert(
    fc.property(scenario, scene => property(scene, play(scene))),
    { numRuns: 400 },
  );

describe('workqueue, whatever happens', () => {
  it('never runs one key twice at once, nor more keys than its concurrency', () => {
    check(({ concurrency }, { log }) => {
      const running = new Set<string>();
      for (const { kind, key } of log) {
        if (kind === 'end') running.delete(key);
        if (kind !== 'start') continue;
        assert.ok(!running.has(key), `${key} runs twice`);
        running.add(key);
        assert.ok(running.size <= concurrency);
      }
      assert.equal(running.size, 0);
    });
  });

  it('follows each trigger by a start of its key', () => {
    check((_, { log }) => {
      const open = new Set<string>();
      for (const { kind, key } of log) {
        if (kind === 'trigger') open.add(key);
        if (kind === 'start') open.delete(key);
      }
      assert.deepEqual([...open], []);
    });
  });

  it('gives one result for each start', () => {
    check((_, { log }) => {
      const count = (kind: LogLine['kind']) => log.filter(line => line.kind === kind).length;
      assert.equal(count('result'), count('start'));
    });
  });

  it('starts no key more often than triggers, retries and nothing else ask for', () => {
    check(({ runs }, { log }) => {
      const retries = runs.filter(({ ending: how }) => typeof how === 'string' || /again|failed/.test(how.kind)).length;
      const count = (kind: LogLine['kind']) => log.filter(line => line.kind === kind).length;
      assert.ok(count('start') <= count('trigger') + retries);
    });
  });

  it('lets no key wait while it has room, unless it is held, and ends with nothing left', () => {
    check(({ concurrency }, { stats }) => {
      for (const { ready, running, held } of stats) assert.ok(ready === 0 || held || running === concurrency);
      const { ready, delayed, running } = stats.at(-1) ?? { ready: 0, delayed: 0, running: 0 };
      assert.deepEqual([ready, delayed, running], [0, 0, 0]);
    });
  });
});

describe('workqueue at scale', () => {
  it('runs 100,000 keys in a row synchronously without deep recursion, also when results trigger the next', () => {
    const trigger$ = new Subject<Trigger>();
    let results = 0;
    trigger$.pipe(workqueue(() => of(done), { concurrency: 1, backoff: () => 0 })).subscribe(() => {
      results += 1;
      if (results < 100_000) trigger$.next({ key: `${results}`, reason: 'test' });
    });
    trigger$.next({ key: '0', reason: 'test' });
    assert.equal(results, 100_000);
  });

  it('does not block the process with a run that fails or asks for another synchronously, without delay', () => {
    for (const outcome of [failed(err, 0), again(0)]) {
      const scheduler = new VirtualTimeScheduler();
      const trigger$ = new Subject<Trigger>();
      let runs = 0;
      const run = () => {
        runs += 1;
        return of(outcome);
      };
      const subscription = trigger$.pipe(workqueue(run, { concurrency: 1, backoff: () => 0, scheduler })).subscribe();
      trigger$.next({ key: 'a', reason: 'test' });
      assert.equal(runs, 1);
      subscription.unsubscribe();
    }
  });
});

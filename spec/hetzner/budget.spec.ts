import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { BehaviorSubject } from 'rxjs';
import { type BudgetOptions, createBudget } from '../../lib/hetzner/budget.ts';
import type { Priority } from '../../lib/hetzner/types.ts';
import { calling, hetznerError, memoryLogger, refusal, rejection, virtualClock, virtualTime } from './support.ts';

const setUp = (t: TestContext, options: Partial<BudgetOptions> = {}) => {
  const time = virtualTime(t);
  const logger = memoryLogger();
  const budget = createBudget({ clock: virtualClock, logger, random: () => 0.999, ...options });
  const started: string[] = [];
  /** A task that is answered when told to. */
  const task = (name: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const run = () => {
      started.push(name);
      return promise;
    };
    return { run, answer: () => resolve(name), refuse: reject };
  };
  /** A task that is answered at once. */
  const quick = (priority: Priority, name: string = priority, signal?: AbortSignal) =>
    budget.run(calling(priority, signal), async () => {
      started.push(name);
      return name;
    });
  const headers = (remaining: number, limit = 3600) => budget.observe({ remaining, limit, reset: undefined });
  return { time, logger, budget, started, task, quick, headers };
};

describe('the budget', () => {
  it('runs a task and gives its result or its error', async t => {
    const { time, quick, budget } = setUp(t);
    assert.equal(await time.until(quick('route')), 'route');
    const err = new Error('from the task');
    assert.equal(
      await time.until(
        rejection(
          budget.run(calling(), () => {
            throw err;
          }),
        ),
      ),
      err,
    );
  });

  it('adds less than 10 ms to a call', async t => {
    const { time, quick } = setUp(t);
    await time.until(quick('route'));
    const before = Date.now();
    for (let i = 0; i < 10; i += 1) await time.until(quick('route'));
    assert.ok(Date.now() - before < 100, `${(Date.now() - before) / 10} ms a call`);
  });

  it('leaves no timer behind when idle', async t => {
    const timers = new Set<unknown>();
    const { time, quick } = setUp(t);
    const { setTimeout: set, setInterval: every } = globalThis;
    t.mock.method(globalThis, 'setTimeout', (f: () => void, ms: number) => {
      const timer = set(() => {
        timers.delete(timer);
        f();
      }, ms);
      timers.add(timer);
      return timer;
    });
    const intervals = t.mock.method(globalThis, 'setInterval', every);
    await time.until(quick('route'));
    await time.advance(50);
    assert.equal(timers.size, 0);
    assert.equal(intervals.mock.callCount(), 0);
  });

  it('has at most so many requests under way', async t => {
    const { time, task, budget, quick, started } = setUp(t, { concurrency: 3 });
    await time.until(quick('route', 'first'));
    const tasks = Array.from({ length: 5 }, (_, i) => task(`${i}`));
    const runs = tasks.map(({ run }) => budget.run(calling(), run));
    await time.advance(2_000);
    assert.deepEqual(started, ['first', '0', '1', '2']);
    tasks[1]?.answer();
    await time.advance(50);
    assert.deepEqual(started, ['first', '0', '1', '2', '3']);
    for (const { answer } of tasks) answer();
    await time.until(Promise.all(runs));
  });

  it('takes the most urgent first, and the earlier of the same urgency', async t => {
    const { time, task, budget, quick, started } = setUp(t, { concurrency: 1 });
    const blocker = task('blocker');
    void budget.run(calling(), blocker.run);
    await time.advance(50);
    const order = ['refresh', 'loadBalancer', 'route', 'initialise', 'route', 'initialise'] as const;
    const runs = order.map((priority, i) => quick(priority, `${priority} ${i}`));
    await time.advance(50);
    blocker.answer();
    await time.until(Promise.all(runs));
    assert.deepEqual(started, [
      'blocker',
      'initialise 3',
      'initialise 5',
      'route 2',
      'route 4',
      'loadBalancer 1',
      'refresh 0',
    ]);
  });

  it('sends a single request first when what it knows is old', async t => {
    const { time, task, budget, started } = setUp(t);
    const tasks = ['a', 'b', 'c'].map(task);
    for (const { run } of tasks) void budget.run(calling(), run);
    await time.advance(100);
    assert.deepEqual(started, ['a']);
    tasks[0]?.answer();
    await time.advance(100);
    assert.deepEqual(started, ['a', 'b', 'c']);
  });

  it('leaves room for requests that Hetzner has not counted yet', async t => {
    const { time, task, budget, quick, headers } = setUp(t);
    await time.until(quick('route', 'first'));
    for (const { run } of ['a', 'b', 'c'].map(task)) void budget.run(calling(), run);
    await time.advance(50);
    headers(1_000);
    assert.equal(budget.remaining(), 998);
  });

  it('does not let that first request hold up the others for more than a second', async t => {
    const { time, task, budget, started } = setUp(t);
    for (const { run } of ['a', 'b', 'c'].map(task)) void budget.run(calling(), run);
    await time.advance(1_100);
    assert.deepEqual(started, ['a', 'b', 'c']);
  });
});

describe('a call that is given up', () => {
  it('while it waits is never run, and its token is for others', async t => {
    const { time, budget, quick, started, headers } = setUp(t);
    headers(0);
    const abort = new AbortController();
    const given = rejection(quick('initialise', 'given up', abort.signal));
    const other = quick('initialise', 'other');
    await time.advance(100);
    abort.abort(new Error('gone'));
    assert.equal(await given, abort.signal.reason);
    await time.until(other, 5);
    assert.deepEqual(started, ['other']);
    assert.ok(Date.now() - 1_000_000 < 1_200, 'took the first token');
    assert.equal(budget.remaining(), 0);
  });

  it('before it was asked for is not run either', async t => {
    const { quick, started } = setUp(t);
    await rejection(quick('route', 'x', AbortSignal.abort()));
    assert.deepEqual(started, []);
  });

  it('by everybody leaves nothing that the next call has to wait for', async t => {
    const { time, quick, headers, started } = setUp(t);
    headers(0);
    const abort = new AbortController();
    const all = Array.from({ length: 50 }, () => rejection(quick('initialise', 'void', abort.signal)));
    await time.advance(100);
    abort.abort();
    await Promise.all(all);
    await time.advance(2_000, 5);
    const before = Date.now();
    await time.until(quick('initialise', 'next'));
    assert.ok(Date.now() - before < 20);
    assert.deepEqual(started, ['next']);
  });
});

describe('a short budget', () => {
  it('sends nothing while the quota is known to be empty, then one request for each token that comes back', async t => {
    const { time, quick, started, headers } = setUp(t);
    await time.until(quick('route', 'first'));
    headers(0);
    const runs = ['a', 'b', 'c'].map(name => quick('initialise', name));
    await time.advance(900, 5);
    assert.deepEqual(started, ['first']);
    await time.advance(200, 5);
    assert.deepEqual(started, ['first', 'a']);
    await time.advance(1_000, 5);
    assert.deepEqual(started, ['first', 'a', 'b']);
    await time.until(Promise.all(runs), 5);
  });

  it('holds back periodic work below a tenth of the limit, load balancers below a twentieth, routes below a hundredth', async t => {
    const { time, quick, started, headers } = setUp(t);
    await time.until(quick('route', 'first'));
    const all = ['refresh', 'loadBalancer', 'route', 'initialise'] as const;
    const expected: ReadonlyArray<readonly [number, readonly Priority[]]> = [
      [1_000, ['initialise', 'route', 'loadBalancer', 'refresh']],
      [340, ['initialise', 'route', 'loadBalancer']],
      [170, ['initialise', 'route']],
      [30, ['initialise']],
    ];
    for (const [remaining, sent] of expected) {
      headers(remaining);
      started.length = 0;
      const abort = new AbortController();
      const runs = all.map(priority => quick(priority, priority, abort.signal));
      await time.advance(100);
      abort.abort();
      await Promise.allSettled(runs);
      assert.deepEqual([...started].sort(), [...sent].sort(), `with ${remaining} left`);
    }
  });

  it('lets nothing starve: what has waited long goes as soon as there is a token', async t => {
    const { time, quick, headers } = setUp(t);
    await time.until(quick('route', 'first'));
    headers(20);
    const before = Date.now();
    await time.until(quick('loadBalancer'), 50);
    assert.ok(Date.now() - before <= 15_200, `load balancer waited ${Date.now() - before} ms`);
    headers(5);
    const then = Date.now();
    await time.until(quick('refresh'), 50);
    assert.ok(Date.now() - then <= 75_200, `refresh waited ${Date.now() - then} ms`);
  });

  it('lets a call that has waited long overtake newer ones that began more urgent', async t => {
    const { time, budget, quick, started } = setUp(t, { concurrency: 1 });
    const abort = new AbortController();
    // Load balancer calls of one second each, always one waiting.
    const busy = async (): Promise<void> => {
      for (;;) {
        await budget.run(
          calling('loadBalancer', abort.signal),
          () => new Promise(resolve => setTimeout(resolve, 1_000)),
        );
      }
    };
    const load = [rejection(busy()), rejection(busy())];
    await time.advance(1_000, 10);
    const before = Date.now();
    await time.until(quick('refresh', 'old'), 20, 200_000);
    assert.deepEqual(started, ['old']);
    assert.ok(Date.now() - before < 80_000);
    abort.abort();
    await time.until(Promise.all(load), 20);
  });

  it('sends a call that waits as soon as it is told that it has become more urgent', async t => {
    const { time, budget, headers, started } = setUp(t);
    headers(100);
    const raised$ = new BehaviorSubject<Priority>('refresh');
    const done = budget.run({ ...calling('refresh'), raised$ }, async () => void started.push('list'));
    await time.advance(5_000, 100);
    assert.deepEqual(started, [], 'periodic work leaves what is left to others');
    raised$.next('initialise');
    await time.advance(10);
    assert.deepEqual(started, ['list']);
    await time.until(done);
    assert.equal(raised$.observed, false);
  });

  it('begins at the present priority of a call, and takes none down again', async t => {
    const { time, budget, headers, quick, started } = setUp(t);
    headers(5);
    const raised$ = new BehaviorSubject<Priority>('initialise');
    const abort = new AbortController();
    const options = { ...calling('refresh'), raised$ };
    await time.until(budget.run(options, async () => void started.push('list')));
    assert.deepEqual(started, ['list']);
    headers(0);
    const again = budget.run(options, async () => void started.push('again'));
    raised$.next('refresh');
    const route = rejection(quick('route', 'route', abort.signal));
    await time.until(again, 20);
    assert.deepEqual(started, ['list', 'again']);
    abort.abort();
    await time.until(route);
  });

  it('lets a call that moved up overtake none of the initialisations', async t => {
    const { time, quick, started, headers } = setUp(t);
    await time.until(quick('route', 'first'));
    headers(0);
    const abort = new AbortController();
    const old = quick('loadBalancer', 'old');
    // Initialisations keep coming, more than there are tokens.
    const runs: Promise<unknown>[] = [];
    for (let i = 0; i < 40; i += 1) {
      runs.push(
        rejection(quick('initialise', 'initialise', abort.signal).then(() => Promise.reject(new Error('ran')))),
      );
      await time.advance(500, 10);
    }
    assert.ok(!started.includes('old'));
    await time.until(old, 50);
    assert.equal(started.filter(name => name === 'initialise').length, 40);
    await Promise.all(runs);
  });

  it('says so once, and once when it is over', async t => {
    const { logger, headers } = setUp(t);
    for (const remaining of [300, 290, 280, 900, 3_000]) headers(remaining);
    assert.deepEqual(
      logger.lines.map(({ level, fields }) => [level, fields.budgetRemaining]),
      [
        ['warn', 300],
        ['info', 900],
      ],
    );
  });

  it('publishes what is left', async t => {
    const changes: unknown[] = [];
    const seen: number[] = [];
    const { budget, headers } = setUp(t, { onChange: change => changes.push(change) });
    const subscription = budget.remaining$.subscribe(n => seen.push(n));
    headers(2_000);
    headers(2_000);
    headers(7_100, 7_200);
    subscription.unsubscribe();
    assert.deepEqual(seen, [3600, 2000, 7100]);
    assert.deepEqual(changes, [
      { remaining: 2000, limit: 3600 },
      { remaining: 7100, limit: 7200 },
    ]);
  });
});

describe('a refused request', () => {
  const refused = async (budget: ReturnType<typeof createBudget>, started: string[], name: string) => {
    await budget.run(calling('initialise'), async () => {
      started.push(name);
      budget.throttled();
      throw refusal();
    });
  };

  it('BUG-068: pauses everything for 3 s, doubling up to 60 s, with one request at a time to find out', async t => {
    const { time, budget, started } = setUp(t);
    const instants: number[] = [];
    const signal = new AbortController();
    let last = Date.now();
    for (let i = 0; i < 8; i += 1) {
      await time.until(
        rejection(
          budget.run(calling('initialise', signal.signal), async () => {
            instants.push(Date.now() - last);
            last = Date.now();
            budget.throttled();
            throw refusal();
          }),
        ),
        20,
      );
    }
    const waits = instants.slice(1);
    [3_000, 6_000, 12_000, 24_000, 48_000, 60_000, 60_000].forEach((expected, i) => {
      assert.ok(Math.abs((waits[i] ?? 0) - expected) < 100, `wait ${i} was ${waits[i]} ms`);
    });
    assert.deepEqual(started, []);
  });

  it('counts once what was refused together', async t => {
    const { time, budget, logger, quick, task, started } = setUp(t);
    await time.until(quick('route', 'first'));
    const tasks = ['a', 'b', 'c'].map(task);
    const runs = tasks.map(({ run }) => rejection(budget.run(calling(), run)));
    await time.advance(50);
    assert.equal(started.length, 4);
    for (const { refuse } of tasks) {
      budget.throttled();
      refuse(refusal());
    }
    await time.until(Promise.all(runs));
    assert.deepEqual(
      logger.lines
        .filter(({ fields }) => fields.after !== undefined)
        .map(({ level, fields }) => [level, fields.attempt]),
      [['warn', 1]],
    );
  });

  it('lets the most urgent go first when the pause is over, and the rest at the rate of refill', async t => {
    const { time, budget, quick, started, headers } = setUp(t);
    await time.until(rejection(refused(budget, started, 'refused')));
    const names = ['loadBalancer', 'initialise', 'route'] as const;
    const runs = names.map(priority =>
      budget.run(calling(priority), async () => {
        started.push(priority);
        headers(0);
      }),
    );
    await time.advance(2_900, 10);
    assert.deepEqual(started, ['refused']);
    await time.advance(200, 10);
    assert.deepEqual(started, ['refused', 'initialise']);
    await time.advance(500, 10);
    assert.deepEqual(started, ['refused', 'initialise']);
    await time.until(Promise.all(runs), 10);
    assert.equal(started.length, 4);
    await time.until(quick('initialise'), 10);
  });

  it('is followed by a single request until one was answered, also when more tokens should be back', async t => {
    const { time, budget, quick, started, task } = setUp(t);
    await time.until(quick('route', 'first'));
    await time.until(rejection(refused(budget, started, 'refused')));
    started.length = 0;
    const tasks = ['a', 'b', 'c'].map(task);
    for (const { run } of tasks) void budget.run(calling(), run);
    await time.advance(10_000, 20);
    assert.deepEqual(started, ['a']);
    tasks[0]?.answer();
    await time.advance(50);
    assert.deepEqual(started, ['a', 'b', 'c']);
  });

  it('is not forgotten because a request without an answer followed', async t => {
    const { time, budget, logger } = setUp(t);
    await time.until(rejection(refused(budget, [], 'x')));
    const lost = hetznerError({ status: 0, code: 'timeout' });
    await time.until(rejection(budget.run(calling('initialise'), () => Promise.reject(lost))), 10);
    assert.ok(!logger.lines.some(({ msg }) => msg === 'Resumed requests to Hetzner'));
    await time.until(
      budget.run(calling('initialise'), async () => 'answer'),
      10,
    );
    assert.ok(logger.lines.some(({ msg }) => msg === 'Resumed requests to Hetzner'));
  });
});

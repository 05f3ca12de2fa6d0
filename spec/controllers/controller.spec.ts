import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Subject } from 'rxjs';
import { controller, type Reconcile } from '../../lib/controllers/controller.ts';
import { nodeTarget } from '../../lib/controllers/node-target.ts';
import { again, done, failed, type Outcome, rejected } from '../../lib/streams/outcome.ts';
import type { Run, Trigger } from '../../lib/streams/workqueue.ts';
import { virtualTime } from '../hetzner/support.ts';
import { node, recordingLogger } from '../kubernetes/support.ts';

const setUp = (t: Parameters<typeof virtualTime>[0], reconcile: (run: Reconcile) => Promise<Outcome>) => {
  const time = virtualTime(t);
  const triggers$ = new Subject<Trigger>();
  const logger = recordingLogger();
  const runs: Run[] = [];
  const told: unknown[] = [];
  const subscription = controller({
    name: 'node',
    triggers$,
    reconcile,
    concurrency: 2,
    backoff: attempt => 1_000 * 2 ** attempt,
    logger,
    hooks: {
      onTrigger: name => told.push(['trigger', name]),
      onRun: (name, run) => told.push(['run', name, run.outcome.kind]),
      onStats: (name, { ready, delayed, running }) => told.push(['stats', name, ready, delayed, running]),
    },
  }).subscribe(run => runs.push(run));
  t.after(() => subscription.unsubscribe());
  return { time, triggers$, lines: logger.lines, runs, told, subscription };
};

describe('a controller', () => {
  it('hands its key, its attempts and a log with id and reason to each run', async t => {
    const seen: Reconcile[] = [];
    const { time, triggers$, lines } = setUp(t, async run => {
      seen.push(run);
      run.log.info('Initialised node');
      return seen.length < 3 ? failed(new Error('boom')) : done;
    });
    triggers$.next({ key: 'w1', reason: 'node added' });
    await time.advance(10_000, 100);
    assert.deepEqual(
      seen.map(({ key, attempt }) => [key, attempt]),
      [
        ['w1', 0],
        ['w1', 1],
        ['w1', 2],
      ],
    );
    const own = lines.filter(line => line.msg === 'Initialised node').map(line => line.fields);
    assert.equal(new Set(own.map(fields => fields.reconcileID)).size, 3);
    for (const fields of own) assert.match(String(fields.reconcileID), /^[0-9a-f]{8}$/);
    assert.deepEqual(
      own.map(({ controller: name, reason, attempt }) => [name, reason, attempt]),
      [
        ['node', 'node added', undefined],
        ['node', 'node added', 1],
        ['node', 'node added', 2],
      ],
    );
  });

  for (const [name, outcome, level, msg, retries] of [
    ['done', done, 'debug', 'Reconciled', false],
    ['again', again(500), 'debug', 'Reconciled', true],
    ['failed', failed(new Error('boom')), 'warn', 'Failed to reconcile, will try again', true],
    ['rejected', rejected(new Error('boom')), 'error', 'Failed to reconcile, waiting for a change', false],
  ] as const) {
    it(`logs a run that ended as ${name} once, at ${level}`, async t => {
      const { time, triggers$, lines, runs } = setUp(t, async () => outcome);
      triggers$.next({ key: 'w1', reason: 'node added' });
      await time.settle();
      assert.deepEqual(
        lines.map(line => [line.level, line.msg, line.fields.key]),
        [[level, msg, 'w1']],
      );
      assert.equal(runs.length, 1);
      await time.advance(2_000, 100);
      assert.equal(runs.length > 1, retries);
    });
  }

  it('takes a throw for a failure, and says when it tries again and why it failed', async t => {
    const err = new Error('boom');
    const { time, triggers$, lines } = setUp(t, async () => {
      throw err;
    });
    triggers$.next({ key: 'w1', reason: 'node added' });
    await time.advance(1_500, 100);
    assert.deepEqual(
      lines.map(({ fields }) => [fields.after, fields.attempt, fields.err]),
      [
        [1_000, 0, err],
        [2_000, 1, err],
      ],
    );
  });

  it('tells its hooks of triggers, runs and the queue', async t => {
    const { time, triggers$, told } = setUp(t, async () => done);
    triggers$.next({ key: 'w1', reason: 'node added' });
    await time.settle();
    assert.deepEqual(told, [
      ['trigger', 'node'],
      ['stats', 'node', 0, 0, 1],
      ['run', 'node', 'done'],
      ['stats', 'node', 0, 0, 0],
    ]);
  });

  it('aborts its runs when it is unsubscribed, and says nothing of them', async t => {
    let signal: AbortSignal | undefined;
    const { time, triggers$, subscription, lines } = setUp(t, run => {
      signal = run.signal;
      return new Promise(() => {});
    });
    triggers$.next({ key: 'w1', reason: 'node added' });
    await time.settle();
    assert.equal(signal?.aborted, false);
    subscription.unsubscribe();
    assert.equal(signal?.aborted, true);
    await time.advance(10_000, 1_000);
    assert.deepEqual(lines, []);
  });
});

describe('the target of events on a node', () => {
  it('is the Node by name and uid', () => {
    assert.deepEqual(nodeTarget(node('w1', { uid: 'u' })), {
      kind: 'Node',
      apiVersion: 'v1',
      name: 'w1',
      namespace: '',
      uid: 'u',
    });
  });
});

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createPipeline, type Step } from '../../lib/controllers/pipeline.ts';
import type { Action } from '../../lib/hetzner/types.ts';
import { rejection, virtualClock, virtualTime } from '../hetzner/support.ts';

const locked = new Error('locked');

/** A network that takes changes, and how many of ours it holds at once. */
const network = (t: TestContext, { takes = 1_000, maxTries = 10 } = {}) => {
  const time = virtualTime(t);
  const startedAt = Date.now();
  const sent: { name: string; at: number }[] = [];
  const state = {
    /** Throws to refuse. */
    admit: (_name: string, _running: number): void => {},
    running: 0,
    most: 0,
  };
  const pipeline = createPipeline({
    waitForAction: async (_action, signal) => {
      try {
        await new Promise<void>((resolve, reject) => {
          setTimeout(resolve, takes);
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      } finally {
        state.running -= 1;
      }
    },
    isLocked: err => err === locked,
    clock: virtualClock,
    maxTries,
  });
  const step =
    (name: string): Step =>
    async signal => {
      signal.throwIfAborted();
      sent.push({ name, at: (Date.now() - startedAt) / 1_000 });
      state.admit(name, state.running);
      state.running += 1;
      state.most = Math.max(state.most, state.running);
      await new Promise(resolve => setTimeout(resolve, 10));
      return { id: sent.length, command: 'add_route', status: 'running', error: undefined } satisfies Action;
    };
  const ended: string[] = [];
  const run = (name: string, signal = new AbortController().signal, steps: readonly Step[] = [step(name)]) => {
    const promise = pipeline.run(steps, signal);
    promise.then(
      () => ended.push(name),
      () => ended.push(`${name} failed`),
    );
    return promise;
  };
  return {
    time,
    state,
    sent,
    step,
    run,
    ended,
    names: () => sent.map(({ name }) => name),
    times: () => sent.map(({ at }) => at),
  };
};

describe('the pipeline of changes', () => {
  it('sends the steps of one change in order, each after the action of the one before', async t => {
    const { time, step, run, sent, ended } = network(t);
    run('a', undefined, [step('remove'), step('add')]);
    await time.advance(1_500, 10);
    assert.deepEqual(
      sent.map(({ name }) => name),
      ['remove', 'add'],
    );
    assert.ok((sent[1]?.at ?? 0) >= 1);
    assert.deepEqual(ended, []);
    await time.advance(1_000, 10);
    assert.deepEqual(ended, ['a']);
  });

  it('goes on at once where a step has nothing to wait for', async t => {
    const { time, step, run, sent } = network(t);
    run('a', undefined, [async () => undefined, step('add')]);
    await time.settle();
    assert.equal(sent.length, 1);
  });

  it('starts with two at once, widens while the API takes them, and ends far sooner than one by one', async t => {
    const { time, state, run, ended, names } = network(t);
    for (let i = 0; i < 60; i += 1) run(`c${i}`);
    await time.settle();
    assert.deepEqual(names(), ['c0', 'c1']);
    await time.advance(5_000, 10);
    assert.equal(ended.length, 60);
    assert.ok(state.most > 10, `at most ${state.most} at once`);
  });

  it('goes one at a time once a change was refused beside another of ours, with no wait but for that', async t => {
    const { time, state, run, ended, names, times } = network(t, { takes: 200 });
    state.admit = (_name, running) => {
      if (running > 0) throw locked;
    };
    for (const name of ['a', 'b', 'c', 'd']) run(name);
    await time.advance(950, 10);
    assert.deepEqual(ended, ['a', 'b', 'c', 'd']);
    assert.deepEqual(names(), ['a', 'b', 'b', 'c', 'd']);
    assert.ok((times().at(-1) as number) < 0.8);
  });

  it('forgets a refusal after ten minutes, and starts careful again', async t => {
    const { time, state, run, names } = network(t, { takes: 200 });
    for (let i = 0; i < 20; i += 1) run(`wide${i}`);
    await time.advance(2_000, 10);
    let refusals = 1;
    state.admit = () => {
      if (refusals-- > 0) throw locked;
    };
    run('refused');
    await time.advance(590_000, 1_000);
    let before = names().length;
    for (const name of ['a', 'b']) run(name);
    await time.settle();
    assert.deepEqual(names().slice(before), ['a']);
    await time.advance(20_000, 100);
    before = names().length;
    for (const name of ['c', 'd', 'e', 'f']) run(name);
    await time.settle();
    assert.deepEqual(names().slice(before), ['c', 'd']);
  });

  it('waits 1, 2, 4, 6 and then 7 s while somebody else holds the network, and gives up after ten tries', async t => {
    const { time, state, run, times, ended } = network(t);
    state.admit = () => {
      throw locked;
    };
    const failed = rejection(run('a'));
    await time.advance(60_000, 100);
    const gaps = times().map((at, i, all) => Math.round(at - (all[i - 1] ?? 0)));
    assert.deepEqual(gaps, [0, 1, 2, 4, 6, 7, 7, 7, 7, 7]);
    assert.deepEqual(ended, ['a failed']);
    assert.equal(await failed, locked);
  });

  it('keeps the order of those behind a refused change, and starts its waits afresh after a success', async t => {
    const { time, state, run, names, times } = network(t, { takes: 10 });
    let refusals = 2;
    state.admit = () => {
      if (refusals-- > 0) throw locked;
    };
    run('a');
    await time.advance(500, 100);
    run('b');
    await time.advance(4_000, 10);
    assert.deepEqual(names(), ['a', 'a', 'a', 'b']);
    refusals = 1;
    const before = times().length;
    run('c');
    await time.advance(1_500, 10);
    const [first = 0, second = 0] = times().slice(before);
    assert.equal(Math.round(second - first), 1);
  });

  it('goes on with the step that was refused, and does not send the one before again', async t => {
    const { time, state, step, run, names, ended } = network(t, { takes: 10 });
    let refusals = 2;
    state.admit = name => {
      if (name === 'add' && refusals-- > 0) throw locked;
    };
    run('replace', undefined, [step('remove'), step('add')]);
    await time.advance(5_000, 10);
    assert.deepEqual(names(), ['remove', 'add', 'add', 'add']);
    assert.deepEqual(ended, ['replace']);
  });

  it('counts the tries of each step by itself', async t => {
    const { time, state, step, run, ended } = network(t, { takes: 10, maxTries: 3 });
    const left = new Map([
      ['remove', 2],
      ['add', 2],
    ]);
    state.admit = name => {
      const n = left.get(name) ?? 0;
      left.set(name, n - 1);
      if (n > 0) throw locked;
    };
    run('replace', undefined, [step('remove'), step('add')]);
    await time.advance(20_000, 10);
    assert.deepEqual(ended, ['replace']);
  });

  it('rejects with any other error at once, ends only that change, and tries nothing again', async t => {
    const { time, state, step, run, names, ended } = network(t);
    const wrong = new Error('invalid gateway');
    state.admit = name => {
      if (name === 'remove') throw wrong;
    };
    const failed = rejection(run('a', undefined, [step('remove'), step('add')]));
    run('b');
    run('c');
    await time.advance(3_000, 10);
    assert.equal(await failed, wrong);
    assert.deepEqual(names(), ['remove', 'b', 'c']);
    assert.deepEqual(ended, ['a failed', 'b', 'c']);
  });

  it('drops a waiting change when its run is aborted, and leaves the others their turn', async t => {
    const { time, run, names, ended } = network(t);
    const abort = new AbortController();
    run('a');
    run('b');
    const dropped = rejection(run('c', abort.signal));
    run('d');
    abort.abort(new Error('term ended'));
    assert.match(String(await dropped), /term ended/);
    await time.advance(3_000, 10);
    assert.deepEqual(names(), ['a', 'b', 'd']);
    assert.deepEqual(ended, ['c failed', 'a', 'b', 'd']);
  });

  it('rejects an aborted change in flight at once, sends no further step of it, and frees its place', async t => {
    const { time, step, run, names, ended } = network(t);
    const abort = new AbortController();
    run('a', abort.signal, [step('remove'), step('add')]);
    run('b');
    run('c');
    await time.advance(500, 10);
    abort.abort(new Error('term ended'));
    await time.settle();
    assert.equal(ended[0], 'a failed');
    await time.advance(3_000, 10);
    assert.deepEqual(names(), ['remove', 'b', 'c']);
    assert.deepEqual(ended, ['a failed', 'b', 'c']);
  });

  it('takes no change whose run is over already', async t => {
    const { run, sent } = network(t);
    assert.match(String(await rejection(run('a', AbortSignal.abort(new Error('over'))))), /over/);
    assert.deepEqual(sent, []);
  });

  it('leaves no timer behind when the only refused change is aborted, and takes the next at once', async t => {
    const { time, state, run, names } = network(t);
    const abort = new AbortController();
    state.admit = name => {
      if (name === 'a') throw locked;
    };
    void rejection(run('a', abort.signal));
    await time.advance(500, 10);
    abort.abort(new Error('term ended'));
    run('b');
    await time.settle();
    assert.deepEqual(names(), ['a', 'b']);
    await time.advance(60_000, 1_000);
    assert.deepEqual(names(), ['a', 'b']);
  });
});

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { ActionError, createActions } from '../../lib/hetzner/actions.ts';
import { classOf } from '../../lib/hetzner/errors.ts';
import type { Action, CallOptions } from '../../lib/hetzner/types.ts';
import { calling, hetznerError, refusal, rejection, virtualClock, virtualTime } from './support.ts';

interface Running {
  readonly endsAt: number;
  readonly error?: { code: string; message: string };
}

/** Actions that end after a while; counts the polls. `fail` is thrown instead of the next answers. */
const setUp = (t: TestContext, options: { readonly deadline?: number; readonly latency?: number } = {}) => {
  const time = virtualTime(t);
  const running = new Map<number, Running>();
  const polls: { readonly ids: readonly number[]; readonly o: CallOptions; readonly at: number }[] = [];
  const failures: unknown[] = [];
  let nextID = 1;
  const stateOf = (id: number): Action | undefined => {
    const found = running.get(id);
    if (found === undefined) return undefined;
    if (Date.now() < found.endsAt) return { id, command: 'add_route', status: 'running', error: undefined };
    return { id, command: 'add_route', status: found.error ? 'error' : 'success', error: found.error };
  };
  const cloud = {
    getActions: async (ids: readonly number[], o: CallOptions) => {
      polls.push({ ids, o, at: Date.now() });
      if (options.latency !== undefined) await new Promise(resolve => setTimeout(resolve, options.latency));
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return ids.flatMap(id => stateOf(id) ?? []);
    },
  };
  const actions = createActions({ cloud, clock: virtualClock, ...options });
  const start = (duration: number, error?: Running['error']): Action => {
    const id = nextID++;
    running.set(id, { endsAt: Date.now() + duration, ...(error === undefined ? {} : { error }) });
    return { id, command: 'add_route', status: 'running', error: undefined };
  };
  return { time, actions, start, polls, failures, forget: (id: number) => running.delete(id) };
};

describe('waiting for an action', () => {
  it('needs no poll when it was born finished', async t => {
    const { actions, polls } = setUp(t);
    await actions.wait({ id: 1, command: 'add_route', status: 'success', error: undefined }, calling());
    const error = { code: 'action_failed', message: 'Action failed' };
    const err = await rejection(actions.wait({ id: 2, command: 'add_route', status: 'error', error }, calling()));
    assert.ok(err instanceof ActionError);
    assert.equal(err.code, 'action_failed');
    assert.equal(polls.length, 0);
  });

  it('BUG-071: says code and message of an action that failed', async t => {
    const { time, actions, start } = setUp(t);
    const action = start(100, { code: 'ip_not_available', message: 'IP not available' });
    const err = await time.until(rejection(actions.wait(action, calling())));
    assert.ok(err instanceof ActionError);
    assert.equal(err.message, 'action add_route failed: IP not available (ip_not_available)');
    assert.equal(err.code, 'ip_not_available');
    assert.equal(err.actionID, action.id);
  });

  it('fails when Hetzner does not know the action', async t => {
    const { time, actions, start, forget } = setUp(t);
    const action = start(100);
    forget(action.id);
    const err = await time.until(rejection(actions.wait(action, calling())));
    assert.equal((err as ActionError).code, 'action_not_found');
  });

  it('BUG-071: 99 actions of 400 ms, one after the other, need at most 110 polls', async t => {
    const { time, actions, start, polls } = setUp(t);
    const startedAt = Date.now();
    for (let i = 0; i < 99; i += 1) await time.until(actions.wait(start(400), calling()), 5);
    assert.ok(polls.length <= 110, `${polls.length} polls`);
    assert.ok(polls.length > 99, 'learns how long they take');
    assert.ok(Date.now() - startedAt < 99 * 500, 'waits little longer than they take');
    t.diagnostic(`${polls.length} polls, ${Math.round((Date.now() - startedAt) / 99)} ms each`);
  });

  it('BUG-071: 99 actions of 400 ms side by side need at most 20 polls, of all that are due', async t => {
    const { time, actions, start, polls } = setUp(t);
    const waits: Promise<void>[] = [];
    for (let i = 0; i < 99; i += 1) {
      waits.push(actions.wait(start(400), calling()));
      await time.advance(5, 5);
    }
    await time.until(Promise.all(waits), 5);
    assert.ok(polls.length <= 20, `${polls.length} polls`);
    t.diagnostic(`${polls.length} polls`);
  });

  it('of a stream of them needs little more than 3 polls a second, and each is late by half a second at most', async t => {
    const { time, actions, start, polls } = setUp(t);
    const late: number[] = [];
    const waits: Promise<void>[] = [];
    const startedAt = Date.now();
    // One each 30 ms: some 13 are under way at a time.
    for (let i = 0; i < 200; i += 1) {
      const end = Date.now() + 400;
      waits.push(actions.wait(start(400), calling()).then(() => void late.push(Date.now() - end)));
      await time.advance(30, 5);
    }
    await time.until(Promise.all(waits), 5);
    const seconds = (Date.now() - startedAt) / 1_000;
    t.diagnostic(`${polls.length} polls in ${seconds} s`);
    assert.ok(polls.length < 3.5 * seconds, `${polls.length} polls in ${seconds} s`);
    assert.ok(Math.max(...late) <= 500, `${Math.max(...late)} ms late`);
  });

  it('BUG-071: polls an action of 5 minutes with growing delay, up to 5 s', async t => {
    const { time, actions, start, polls } = setUp(t);
    const before = Date.now();
    await time.until(actions.wait(start(300_000), calling()), 50);
    const delays = polls.map(({ at }, i) => at - (polls[i - 1]?.at ?? before));
    assert.equal(delays[0], 500);
    assert.ok((delays[3] ?? 0) > (delays[2] ?? 0));
    assert.ok(Math.max(...delays) <= 5_050);
    assert.ok(polls.length < 75, `${polls.length} polls`);
    assert.ok(Date.now() - before < 305_100);
  });

  it('is not thrown off by a slow one: the next is waited for as before', async t => {
    const { time, actions, start, polls } = setUp(t);
    await time.until(actions.wait(start(60_000), calling()), 50);
    polls.length = 0;
    const before = Date.now();
    await time.until(actions.wait(start(400), calling()), 5);
    assert.equal(polls.length, 1);
    assert.ok(Date.now() - before < 600);
  });

  it('is shared by all who wait for the same action, with the most urgent priority', async t => {
    const { time, actions, start, polls } = setUp(t);
    const action = start(100);
    const waits = [actions.wait(action, calling('refresh')), actions.wait(action, calling('initialise'))];
    await time.until(Promise.all(waits));
    assert.equal(polls.length, 1);
    assert.deepEqual(polls[0]?.ids, [action.id]);
    assert.equal(polls[0]?.o.priority, 'initialise');
  });

  it('goes on when a poll fails for a while, and ends when it cannot succeed', async t => {
    const { time, actions, start, failures } = setUp(t);
    failures.push(hetznerError({ status: 0, code: 'timeout' }), refusal(), hetznerError({ status: 503 }));
    await time.until(actions.wait(start(400), calling()), 5);
    const unauthorized = hetznerError({ status: 401, code: 'unauthorized' });
    failures.push(unauthorized);
    const err = await time.until(rejection(actions.wait(start(400), calling())), 5);
    assert.ok(err instanceof ActionError && err.code === 'action_unknown' && err.message.includes('unauthorized'));
  });

  it('is never taken for a change that was refused, whatever its poll is refused as', async t => {
    const { time, actions, start, failures } = setUp(t);
    failures.push(hetznerError({ status: 423, code: 'locked' }));
    const err = await time.until(rejection(actions.wait(start(400), calling())), 5);
    assert.equal(classOf(err), 'permanent');
    assert.match(String(err), /locked.*action_unknown/);
  });

  it('is given up at the deadline, also while polls fail', async t => {
    const { time, actions, start, failures } = setUp(t, { deadline: 10_000 });
    failures.push(...Array.from({ length: 100 }, () => hetznerError({ status: 503 })));
    const before = Date.now();
    const err = await time.until(rejection(actions.wait(start(1e9), calling())), 10);
    assert.equal((err as ActionError).code, 'action_timeout');
    assert.ok(Math.abs(Date.now() - before - 10_000) <= 20);
  });

  it('is given up with the error of the polls after a minute without an answer, for the state itself tells more', async t => {
    const { time, actions, start, polls, failures } = setUp(t);
    const outage = hetznerError({ status: 503 });
    failures.push(...Array.from({ length: 100 }, () => outage));
    const before = Date.now();
    const waits = [1, 2, 3].map(() => rejection(actions.wait(start(1e9), calling())));
    const errors = (await time.until(Promise.all(waits), 10)) as ActionError[];
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['action_unknown', 'action_unknown', 'action_unknown'],
    );
    const took = Date.now() - before;
    assert.ok(took > 50_000 && took < 75_000, `${took} ms`);
    assert.ok(polls.length <= 8, `${polls.length} polls for three actions`);
  });

  it('is given up at the deadline, also while a poll hangs', async t => {
    const { time, actions, start, polls } = setUp(t, { deadline: 2_000, latency: 1e6 });
    const err = await time.until(rejection(actions.wait(start(1e9), calling())), 10);
    assert.equal((err as ActionError).code, 'action_timeout');
    assert.ok(polls[0]?.o.signal.aborted);
  });

  it('ends with its signal; the last who leaves ends the poll and all timers', async t => {
    const { time, actions, start, polls } = setUp(t, { latency: 5_000 });
    const [one, two] = [new AbortController(), new AbortController()];
    const action = start(1e6);
    const first = rejection(actions.wait(action, calling('route', one.signal)));
    const second = rejection(actions.wait(action, calling('route', two.signal)));
    await time.advance(600, 10);
    one.abort();
    assert.equal(await first, one.signal.reason);
    assert.equal(polls[0]?.o.signal.aborted, false);
    two.abort();
    assert.equal(await second, two.signal.reason);
    assert.equal(polls[0]?.o.signal.aborted, true);
    await time.advance(60_000, 100);
    assert.equal(polls.length, 1);
  });

  it('is waited for anew by who comes after the last has left', async t => {
    const { time, actions, start, polls } = setUp(t);
    const abort = new AbortController();
    const action = start(400);
    const gone = rejection(actions.wait(action, calling('route', abort.signal)));
    await time.advance(100, 10);
    abort.abort();
    await gone;
    await time.until(actions.wait(action, calling()), 10);
    assert.equal(polls.length, 1);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createExpectation } from '../../lib/hetzner/expectation.ts';
import type { Action } from '../../lib/hetzner/types.ts';

const action = (status: Action['status'], took?: number): Action => ({
  id: 1,
  command: 'add_route',
  status,
  error: undefined,
  ...(took === undefined ? {} : { took }),
});

describe('how long an action is expected to take', () => {
  it('is half a second at first, and known for each command on its own', () => {
    const expectation = createExpectation();
    for (let i = 0; i < 20; i += 1) expectation.learn(action('running'), expectation.firstPoll('add_route'));
    assert.ok(expectation.firstPoll('add_route') > 1_000);
    assert.equal(expectation.firstPoll('delete_route'), 500);
  });

  it('grows when the first look came too early, and shrinks a little when it did not', () => {
    const expectation = createExpectation();
    expectation.learn(action('running'), 500);
    const grown = expectation.firstPoll('add_route');
    assert.ok(grown > 560 && grown < 600);
    expectation.learn(action('success'), grown);
    const shrunk = expectation.firstPoll('add_route');
    assert.ok(shrunk < grown && shrunk > grown * 0.98);
  });

  it('learns nothing from a look that came late and found it done', () => {
    const expectation = createExpectation();
    expectation.learn(action('success'), 700);
    assert.equal(expectation.firstPoll('add_route'), 500);
  });

  it('is at most what Hetzner says it took, rounded up', () => {
    const expectation = createExpectation();
    for (let i = 0; i < 20; i += 1) expectation.learn(action('running'), expectation.firstPoll('add_route'));
    assert.ok(expectation.firstPoll('add_route') > 2_000);
    expectation.learn(action('success', 0), 5_000);
    assert.equal(expectation.firstPoll('add_route'), 1_000);
  });

  it('stays between 50 ms and 5 s', () => {
    const expectation = createExpectation();
    for (let i = 0; i < 1_000; i += 1) expectation.learn(action('success'), expectation.firstPoll('add_route'));
    assert.equal(expectation.firstPoll('add_route'), 50);
    for (let i = 0; i < 1_000; i += 1) expectation.learn(action('running'), 60_000);
    assert.equal(expectation.firstPoll('add_route'), 5_000);
  });
});

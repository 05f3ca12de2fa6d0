import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { finalize, timer } from 'rxjs';
import { createUnresolved } from '../../../lib/controllers/node/unresolved.ts';
import { virtualClock, virtualTime } from '../../hetzner/support.ts';

const setUp = (t: Parameters<typeof virtualTime>[0], takes = 300) => {
  const time = virtualTime(t);
  const startedAt = Date.now();
  const looks: number[] = [];
  const gone = new Set<string>();
  let finished = 0;
  const unresolved = createUnresolved(
    () => {
      looks.push((Date.now() - startedAt) / 1_000);
      let whole = false;
      const answer$ = timer(takes);
      answer$.subscribe(() => {
        whole = true;
      });
      return answer$.pipe(
        finalize(() => {
          if (whole) finished += 1;
        }),
      );
    },
    name => !gone.has(name),
    virtualClock,
  );
  const subscription = unresolved.looks$.subscribe();
  t.after(() => subscription.unsubscribe());
  return { time, unresolved, looks, gone, subscription, finished: () => finished };
};

describe('nodes that wait for their server', () => {
  it('have Hetzner looked at after 10 s, then ever more rarely up to once a minute', async t => {
    const { time, unresolved, looks } = setUp(t);
    assert.equal(unresolved.add('w1'), true);
    await time.advance(300_000, 100);
    assert.deepEqual(looks, [10, 30, 70, 130, 190, 250]);
  });

  it('share one look per 10 s, however many wait and join', async t => {
    const { time, unresolved, looks } = setUp(t);
    for (let i = 0; i < 300; i += 1) {
      unresolved.add(`w${i}`);
      await time.advance(100, 100);
    }
    assert.deepEqual(looks, [10, 20, 30]);
  });

  it('do not lose a look under way when another node joins', async t => {
    const { time, unresolved, looks, finished } = setUp(t, 2_000);
    unresolved.add('w1');
    await time.advance(11_000, 100);
    unresolved.add('w2');
    await time.advance(5_000, 100);
    assert.deepEqual(looks, [10]);
    assert.equal(finished(), 1);
    await time.advance(5_000, 100);
    assert.deepEqual(looks, [10, 21]);
  });

  it('do not have two looks at once when one takes long', async t => {
    const { time, unresolved, looks, finished } = setUp(t, 25_000);
    unresolved.add('w1');
    await time.advance(36_000, 100);
    assert.deepEqual(looks, [10]);
    assert.equal(finished(), 1);
    await time.advance(35_000, 100);
    assert.deepEqual(looks, [10, 70]);
  });

  it('are looked for within 10 s again when another one joins them late', async t => {
    const { time, unresolved, looks } = setUp(t);
    unresolved.add('w1');
    await time.advance(200_000, 100);
    assert.equal(unresolved.add('w1'), false);
    unresolved.add('w2');
    await time.advance(31_000, 100);
    assert.deepEqual(looks.slice(4), [190, 210, 230]);
  });

  it('cause no request once they are found or gone, and the next one starts afresh', async t => {
    const { time, unresolved, looks, gone } = setUp(t);
    unresolved.add('w1');
    unresolved.add('w2');
    await time.advance(15_000, 100);
    unresolved.delete('w1');
    gone.add('w2');
    await time.advance(600_000, 1_000);
    assert.deepEqual(looks, [10]);
    gone.clear();
    assert.equal(unresolved.add('w2'), true);
    await time.advance(10_000, 100);
    assert.deepEqual(looks, [10, 625]);
  });

  it('leave no timer behind when the term ends', async t => {
    const { time, unresolved, looks, subscription } = setUp(t);
    unresolved.add('w1');
    subscription.unsubscribe();
    await time.advance(60_000, 1_000);
    assert.deepEqual(looks, []);
  });
});

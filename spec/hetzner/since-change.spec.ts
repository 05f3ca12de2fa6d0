import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sinceChange } from '../../lib/hetzner/since-change.ts';

it('knows since when a value is as it was read last, from the first change on', () => {
  let [now, value] = [10, 'a'];
  const { read, since } = sinceChange(
    () => ({ text: value }),
    ({ text }) => text,
    { monotonic: () => now },
  );
  assert.equal(since(), Number.NEGATIVE_INFINITY);
  assert.deepEqual(read(), { text: 'a' });
  now = 20;
  read();
  assert.equal(since(), Number.NEGATIVE_INFINITY);
  value = 'b';
  assert.equal(since(), 20, 'asking reads it');
  assert.deepEqual([read().text, since()], ['b', 20]);
  now = 30;
  assert.deepEqual([read().text, since()], ['b', 20]);
  value = 'a';
  assert.deepEqual([read().text, since()], ['a', 30]);
});

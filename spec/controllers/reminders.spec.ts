import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createReminders, remindAfter } from '../../lib/controllers/reminders.ts';

it('says the same of an object again after an hour, of others and of new ones at once', () => {
  let now = 0;
  const { isNews, forget } = createReminders({ monotonic: () => now });
  assert.deepEqual(
    [isNews('w1', 'gone'), isNews('w1', 'gone'), isNews('w1', 'off'), isNews('w2', 'gone')],
    [true, false, true, true],
  );
  now = remindAfter - 1;
  assert.equal(isNews('w1', 'gone'), false);
  now = remindAfter;
  assert.deepEqual([isNews('w1', 'gone'), isNews('w1', 'gone')], [true, false]);
  forget('w1');
  assert.equal(isNews('w1', 'gone'), true);
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventAdvice, eventSources } from './docs-events.ts';

/** That no reason is missing from the table, the compiler checks. */
describe('the reference of events', () => {
  const code = eventSources();

  it('has no reason that nothing is recorded with', () => {
    for (const reason of Object.keys(eventAdvice)) assert.ok(code.includes(`'${reason}'`), reason);
  });

  it('quotes messages as they stand in the code', () => {
    for (const [reason, { says }] of Object.entries(eventAdvice)) {
      for (const fragment of says.flatMap(text => text.split('…')).map(text => text.trim())) {
        if (fragment.length > 3) assert.ok(code.includes(fragment), `${reason}: ${fragment}`);
      }
    }
  });

  it('says of each warning what to do', () => {
    for (const [reason, { type, toDo }] of Object.entries(eventAdvice))
      assert.ok(type === 'Normal' || toDo !== 'Nothing.', reason);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { advice, troubles } from './docs-troubleshooting.ts';

describe('the page about troubleshooting', () => {
  it('says of each line at warn and error what it means and what to do, and of no other', () => {
    assert.deepEqual(Object.keys(advice).sort(), troubles().sort());
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { diffKeyed } from '../../lib/streams/diff-keyed.ts';

describe('diffKeyed', () => {
  it('names the keys that came, changed and went', () => {
    const before = new Map([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ]);
    const after = new Map([
      ['b', 2],
      ['c', 4],
      ['d', 5],
    ]);
    assert.deepEqual(diffKeyed(before, after), { added: ['d'], changed: ['c'], removed: ['a'] });
  });

  it('leaves to the given function what counts as a change', () => {
    const before = new Map([
      ['a', { id: 1, seen: 1 }],
      ['b', { id: 2, seen: 1 }],
    ]);
    const after = new Map([
      ['a', { id: 1, seen: 2 }],
      ['b', { id: 3, seen: 2 }],
    ]);
    assert.deepEqual(diffKeyed(before, after, (x, y) => x.id === y.id).changed, ['b']);
  });

  it('takes a value of undefined for a value', () => {
    const before = new Map<string, number | undefined>([['a', undefined]]);
    assert.deepEqual(diffKeyed(before, new Map([['a', undefined]])), { added: [], changed: [], removed: [] });
  });

  it('says exactly what to do to get from one to the other', () => {
    const keyed = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.nat(2))).map(pairs => new Map(pairs));
    fc.assert(
      fc.property(keyed, keyed, (before, after) => {
        const { added, changed, removed } = diffKeyed(before, after);
        const result = new Map(before);
        for (const key of removed) assert.ok(result.delete(key));
        for (const key of added) assert.ok(!before.has(key));
        for (const key of changed) assert.notEqual(before.get(key), after.get(key));
        for (const key of [...added, ...changed]) result.set(key, after.get(key) as number);
        assert.deepEqual(result, after);
        const touched = [...added, ...changed, ...removed];
        assert.equal(new Set(touched).size, touched.length);
      }),
    );
  });
});

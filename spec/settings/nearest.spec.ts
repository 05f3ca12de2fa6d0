import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { editDistance, nearestName } from '../../lib/settings/nearest.ts';

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 });

describe('the edit distance', () => {
  it('counts insertions, removals and replacements', () => {
    assert.equal(editDistance('kitten', 'sitting'), 3);
    assert.equal(editDistance('', 'abc'), 3);
    assert.equal(editDistance('abc', ''), 3);
  });

  it('is a metric', () => {
    fc.assert(
      fc.property(word, word, word, (a, b, c) => {
        assert.equal(editDistance(a, b) === 0, a === b);
        assert.equal(editDistance(a, b), editDistance(b, a));
        assert.ok(editDistance(a, c) <= editDistance(a, b) + editDistance(b, c));
        assert.ok(editDistance(a, b) <= Math.max(a.length, b.length));
        assert.ok(editDistance(a, b) >= Math.abs(a.length - b.length));
      }),
    );
  });

  it('grows by at most one with one more letter', () => {
    fc.assert(fc.property(word, word, (a, b) => Math.abs(editDistance(`${a}x`, b) - editDistance(a, b)) <= 1));
  });
});

describe('the nearest name', () => {
  it('is the one with the fewest changes', () => {
    assert.equal(nearestName('leader-elekt', ['leader-elect-x', 'leader-elect', 'master']), 'leader-elect');
  });

  it('is the first of two that are equally near', () => {
    assert.equal(nearestName('abcx', ['abcd', 'abce']), 'abcd');
  });

  it('is none where nothing is similar', () => {
    assert.equal(nearestName('abcdefgh', ['stuvwxyz']), undefined);
    assert.equal(nearestName('abc', []), undefined);
  });

  it('is none for absurdly long names, which would only cost time', () => {
    assert.equal(nearestName('a'.repeat(101), ['a'.repeat(100)]), undefined);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { nameMatcher, parseNamePattern } from '../../lib/settings/name-pattern.ts';

describe('a pattern of names', () => {
  for (const [pattern, names, others] of [
    ['worker-[0-9]+', ['worker-1', 'worker-17'], ['worker-', 'a-worker-1', 'worker-1b', 'worker-1\n']],
    ['^(?:eu|us)-workers?$', ['eu-worker', 'us-workers'], ['eu-worker-1', 'xeu-worker']],
    ['prod-.*-net', ['prod--net', 'prod-a-b-net'], ['prod-net']],
    [String.raw`net\.\d{1,3}`, ['net.1', 'net.123'], ['netx1', 'net.1234']],
    ['(a|b)c?', ['a', 'bc'], ['c', 'acc']],
    ['[^-]*?', ['', 'abc'], ['a-b']],
  ] as const) {
    it(`${pattern} describes whole names`, () => {
      assert.deepEqual(parseNamePattern(pattern), { value: pattern });
      const matches = nameMatcher(pattern);
      for (const name of names) assert.equal(matches(name), true, name);
      for (const name of others) assert.equal(matches(name), false, name);
    });
  }

  for (const pattern of [
    '(a+)+',
    '(a|a)*b',
    '(?:a){30}',
    'a(?=b)',
    '(?<=a)b',
    '(?<n>a)',
    String.raw`(a)\1`,
    '.*.*.*.*',
    'a?'.repeat(30),
    '(a|b|c|d)'.repeat(10),
    'a'.repeat(201),
    '(',
    '[a',
    '*',
    'a**',
    '{2}',
    String.raw`a\x41`,
    'a\\',
    '[z-a]',
  ]) {
    it(`${pattern.slice(0, 40)} is refused`, () => {
      const parsed = parseNamePattern(pattern);
      assert.ok('allowed' in parsed && parsed.allowed.startsWith('must be a regular expression such as'), pattern);
    });
  }

  it('takes milliseconds at most, whatever is accepted and whatever the name', () => {
    const part = fc.constantFrom(
      'a',
      'b',
      '.',
      'a?',
      'a*',
      '.*',
      'a+?',
      '[ab]+',
      '(a|b)',
      '(a|ab)?',
      '(?:a?b?)',
      '|',
      'a{0,9}',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), fc.constantFrom('a', 'ab', 'aab'), (parts, unit) => {
        const pattern = parts.join('');
        if ('allowed' in parseNamePattern(pattern)) return;
        const startedAt = Date.now();
        nameMatcher(pattern)(`${unit.repeat(50).slice(0, 120)}!`);
        assert.ok(Date.now() - startedAt < 2_000, pattern);
      }),
      { numRuns: 500 },
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { everything, parseLabelSelector } from '../../lib/kubernetes/label-selector.ts';

/** One requirement as data, told apart from its text, so that a naive model can say what it means. */
interface Requirement {
  readonly key: string;
  readonly operator: 'exists' | 'lacks' | '=' | '==' | '!=' | 'in' | 'notin' | '<' | '>';
  readonly values: readonly string[];
}

const keys = ['a', 'b', 'example.com/role', 'x-y_z.1'];
const values = ['', '1', '7', 'x', 'y-z', 'A_b.c'];

const anyRequirement: fc.Arbitrary<Requirement> = fc
  .record({
    key: fc.constantFrom(...keys),
    operator: fc.constantFrom<Requirement['operator'][]>('exists', 'lacks', '=', '==', '!=', 'in', 'notin', '<', '>'),
    values: fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 3 }),
  })
  .map(one => (['<', '>'].includes(one.operator) ? { ...one, values: ['5'] } : one));

const blank = fc.constantFrom('', ' ', '  ');

const textOf = ({ key, operator, values: [first = '', ...rest] }: Requirement, gap: string): string => {
  switch (operator) {
    case 'exists':
      return key;
    case 'lacks':
      return `!${gap}${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator}${gap}(${[first, ...rest].join(`${gap},`)})`;
    default:
      return `${key}${gap}${operator}${gap}${first}`;
  }
};

const matches = ({ key, operator, values: wanted }: Requirement, labels: Record<string, string>): boolean => {
  const value = labels[key];
  switch (operator) {
    case 'exists':
      return value !== undefined;
    case 'lacks':
      return value === undefined;
    case '=':
    case '==':
      return value === wanted[0];
    case '!=':
      return value !== wanted[0];
    case 'in':
      return value !== undefined && wanted.includes(value);
    case 'notin':
      return value === undefined || !wanted.includes(value);
    case '<':
      return value !== undefined && /^\d+$/.test(value) && Number(value) < 5;
    case '>':
      return value !== undefined && /^\d+$/.test(value) && Number(value) > 5;
  }
};

describe('label selectors', () => {
  it('mean what their requirements mean one by one, with any blanks', () => {
    const anyLabels = fc.dictionary(fc.constantFrom(...keys), fc.constantFrom(...values));
    fc.assert(
      fc.property(fc.array(anyRequirement, { maxLength: 4 }), anyLabels, blank, (all, labels, gap) => {
        const selector = parseLabelSelector(all.map(one => textOf(one, gap)).join(`${gap},${gap}`));
        assert.ok(selector !== undefined);
        assert.equal(
          selector(labels),
          all.every(one => matches(one, labels)),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  for (const text of [
    '((',
    ')',
    'a b',
    '=x',
    'a=',
    'a in',
    'a in x',
    'a in (x',
    'a in (x,(y))',
    ',',
    'a,',
    'a>x',
    '-a',
    'a=-b',
    '!a=b',
    'a in (b c)',
    'é=b',
  ]) {
    const isSelector = text === 'a=';
    it(`${JSON.stringify(text)} is ${isSelector ? 'one' : 'none'}`, () => {
      assert.equal(parseLabelSelector(text) !== undefined, isSelector);
    });
  }

  it('match everything when they are empty', () => {
    assert.equal(parseLabelSelector(' ')?.({ a: 'b' }), true);
    assert.equal(everything({}), true);
  });

  it('know nothing of what every object has', () => {
    assert.equal(parseLabelSelector('constructor')?.({}), false);
    assert.equal(parseLabelSelector('toString in (a)')?.({}), false);
  });

  it('are read in time that grows with their length only', () => {
    const long = 200_000;
    for (const text of [
      ','.repeat(long),
      '('.repeat(long),
      'a'.repeat(long),
      ' '.repeat(long),
      `${'a,'.repeat(long / 2)})`,
      `a in (${'a '.repeat(long / 2)}`,
      `a${' '.repeat(long)}x`,
      `${'a.'.repeat(long / 2)}/`,
    ]) {
      const start = process.hrtime.bigint();
      parseLabelSelector(text);
      const ms = Number(process.hrtime.bigint() - start) / 1e6;
      assert.ok(ms < 2_000, `${text.slice(0, 10)}... took ${ms} ms`);
    }
  });
});

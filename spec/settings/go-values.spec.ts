import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseBoolean, parseDuration, parseInteger } from '../../lib/settings/go-values.ts';

const parsedValue = <T>(parsed: { value: T } | { allowed: string }): T | undefined =>
  'value' in parsed ? parsed.value : undefined;

describe('booleans', () => {
  const spellings: ReadonlyArray<readonly [boolean, readonly string[]]> = [
    [true, ['1', 't', 'T', 'TRUE', 'true', 'True']],
    [false, ['0', 'f', 'F', 'FALSE', 'false', 'False']],
  ];
  for (const [value, texts] of spellings) {
    it(`reads ${texts.join(', ')} as ${value}`, () => {
      for (const text of texts) assert.equal(parsedValue(parseBoolean(text)), value, text);
    });
  }

  it('refuses every other text', () => {
    const known = spellings.flatMap(([, texts]) => texts);
    const words = fc.oneof(
      fc.string(),
      fc.constantFrom('', 'yes', 'on', 'tRUE', 'fALSE', '01', ' true', 'constructor'),
    );
    fc.assert(
      fc.property(
        words.filter(word => !known.includes(word)),
        word => 'allowed' in parseBoolean(word),
      ),
    );
  });
});

describe('durations', () => {
  const examples: ReadonlyArray<readonly [string, number]> = [
    ['0', 0],
    ['+0', 0],
    ['-0', 0],
    ['0s', 0],
    ['-0s', 0],
    ['300ms', 300],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['1.s', 1_000],
    ['-2s', -2_000],
    ['+2s', 2_000],
    ['1h1m1s1ms', 3_661_001],
    ['1m1m', 120_000],
    ['1500us', 1.5],
    ['1500\u00b5s', 1.5],
    ['1500\u03bcs', 1.5],
    ['1ns', 1e-6],
    ['0.0000000001s', 0],
    ['1.1s', 1_100],
  ];
  for (const [text, ms] of examples) {
    it(`reads ${text} as ${ms} ms`, () => assert.equal(parsedValue(parseDuration(text)), ms));
  }

  for (const text of [
    '',
    '10',
    '1.5',
    '-',
    '+',
    's',
    '.s',
    '1 s',
    '1d',
    '5min',
    '1h-1m',
    '--1s',
    '1,5s',
    '1e3s',
    '00',
    '3000000h',
  ]) {
    it(`refuses "${text}"`, () => assert.ok('allowed' in parseDuration(text)));
  }

  it('sums its parts exactly', () => {
    const units = { h: 3_600_000_000_000n, m: 60_000_000_000n, s: 1_000_000_000n, ms: 1_000_000n, us: 1_000n, ns: 1n };
    const part = fc.record({
      whole: fc.integer({ min: 0, max: 999 }),
      thousandths: fc.option(fc.integer({ min: 0, max: 999 })),
      unit: fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[])),
    });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), fc.constantFrom('', '+', '-'), (parts, sign) => {
        let ns = 0n;
        let text = sign;
        for (const { whole, thousandths, unit } of parts) {
          text += `${whole}${thousandths === null ? '' : `.${String(thousandths).padStart(3, '0')}`}${unit}`;
          ns += (BigInt(whole * 1000 + (thousandths ?? 0)) * units[unit]) / 1000n;
        }
        const expected = Number(ns) / 1e6;
        assert.equal(parsedValue(parseDuration(text)), sign === '-' && expected !== 0 ? -expected : expected);
      }),
    );
  });

  it('never throws and never yields something that is no number', () => {
    const soup = fc.string({
      unit: fc.constantFrom('0', '1', '9', '.', 'h', 'm', 's', 'n', 'u', '\u00b5', '-', '+', ' '),
    });
    fc.assert(
      fc.property(soup, text => {
        const parsed = parseDuration(text);
        assert.ok('allowed' in parsed || Number.isFinite(parsed.value));
      }),
    );
  });
});

describe('integers', () => {
  it('reads signs and leading zeros within bounds', () => {
    assert.equal(parsedValue(parseInteger('+007', 0, 10)), 7);
    assert.equal(parsedValue(parseInteger('-0', 0, 10)), 0);
    assert.ok(Object.is(parsedValue(parseInteger('-0', 0, 10)), 0));
  });

  it('accepts exactly what lies within the bounds', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), fc.integer(), (value, a, b) => {
        const [min, max] = a < b ? [a, b] : [b, a];
        assert.equal('value' in parseInteger(String(value), min, max), value >= min && value <= max);
      }),
    );
  });

  for (const text of ['', '1.0', '1e3', '0x10', '1_000', 'NaN', 'Infinity', '99999999999999999999', '- 1']) {
    it(`refuses "${text}"`, () => assert.ok('allowed' in parseInteger(text, -1000, Number.MAX_SAFE_INTEGER)));
  }
});

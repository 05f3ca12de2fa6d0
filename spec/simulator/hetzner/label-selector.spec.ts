import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseLabelSelector } from '../../../lib/simulator/hetzner/label-selector.ts';

const labels = { env: 'prod', 'example.com/tier': 'db', empty: '' };

const table: [selector: string, matches: boolean][] = [
  ['env', true],
  ['nope', false],
  ['!nope', true],
  ['!env', false],
  ['env=prod', true],
  ['env==prod', true],
  ['env = prod', true],
  ['env=test', false],
  ['env!=test', true],
  ['env!=prod', false],
  ['nope!=prod', true],
  ['empty=', true],
  ['nope=', false],
  ['env in (test,prod)', true],
  ['env in ( test , prod )', true],
  ['env in (test)', false],
  ['nope in (test)', false],
  ['env notin (test)', true],
  ['env notin (prod)', false],
  ['nope notin (prod)', true],
  ['example.com/tier=db', true],
  ['env=prod,example.com/tier in (db,web),!nope', true],
  ['env=prod,nope', false],
  ['constructor', false],
];

describe('A label selector', () => {
  for (const [selector, matches] of table)
    it(`${matches ? 'matches' : 'does not match'} by "${selector}"`, () => {
      assert.equal(parseLabelSelector(selector)(labels), matches);
    });

  for (const selector of [
    '',
    ',',
    'env=prod env2',
    'env in prod',
    'env in (',
    'env in ()',
    '=prod',
    'a,',
    '!',
    'env=a=b',
  ])
    it(`is refused as invalid_input when it reads "${selector}"`, () => {
      assert.throws(() => parseLabelSelector(selector), {
        status: 422,
        code: 'invalid_input',
        message: /invalid label_selector/,
      });
    });

  it('names the position where a comma is missing, as the API does', () => {
    assert.throws(() => parseLabelSelector('env=prod env2'), {
      message: 'invalid label_selector: expected comma at pos 9',
    });
  });
});

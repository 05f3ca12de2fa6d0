import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { runCell } from './cell.ts';
import { cells, nameOf, representative } from './matrix.ts';

/**
 * The fault matrix: `make robustness` runs all of it and prints it, else the part that stands for the rest.
 * MATRIX=full runs all; CELL=<pattern> those whose name matches; SHARD=i/n every n-th; RESULTS=<file> gets a line of JSON each.
 */
const { MATRIX, CELL, SHARD = '0/1', RESULTS } = process.env;
const [shard = 0, shards = 1] = SHARD.split('/').map(Number);
const all = MATRIX === 'full' || CELL !== undefined ? cells : representative;
const pattern = new RegExp(CELL ?? '');

describe('the story ends well, whatever fails in between', () => {
  for (const cell of all.filter(one => pattern.test(nameOf(one))).filter((_, i) => i % shards === shard)) {
    it(nameOf(cell), { timeout: 120_000 }, async t => {
      const result = await runCell(t, cell.operation, cell.fault);
      if (RESULTS !== undefined) appendFileSync(RESULTS, `${JSON.stringify(result)}\n`);
      assert.deepEqual(result.failures, []);
    });
  }
});

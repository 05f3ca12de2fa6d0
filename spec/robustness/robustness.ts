import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { growth, type Soak } from '../scale/growth.ts';
import { type QuotaWeek, shortcomings } from '../scale/quota-week.ts';
import { simulate } from '../scale/simulate.ts';
import type { CellResult } from './cell.ts';
import { keep } from './last-run.ts';
import { cells } from './matrix.ts';
import { missing, renderRows, summarise } from './results.ts';

/** Runs what takes too long for `make test`, prints it, and keeps the figures of what passed for the docs. Exits with 1 where something failed. */

const write = (text: string): void => void process.stdout.write(`${text}\n`);
const spec = fileURLToPath(new URL('matrix.spec.ts', import.meta.url));

const runShard = (directory: string, shard: number, shards: number): Promise<readonly CellResult[]> =>
  new Promise(resolve => {
    const results = join(directory, `${shard}.jsonl`);
    writeFileSync(results, '');
    const env = { ...process.env, MATRIX: 'full', SHARD: `${shard}/${shards}`, RESULTS: results };
    const args = ['--test', '--test-reporter=dot', spec];
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('close', () => {
      const lines = readFileSync(results, 'utf8').split('\n');
      resolve(lines.filter(line => line !== '').map(line => JSON.parse(line) as CellResult));
    });
  });

/** The whole fault matrix. */
const matrix = async (from: number): Promise<readonly string[]> => {
  const directory = mkdtempSync(join(tmpdir(), 'robustness-'));
  const shards = Math.min(2, availableParallelism());
  const found = await Promise.all(Array.from({ length: shards }, (_, shard) => runShard(directory, shard, shards)));
  rmSync(directory, { recursive: true });
  const results = found.flat();
  const failed = missing(results);
  const rows = summarise(results);
  write(`\n${renderRows(rows)}\n\n${cells.length - failed.length} passed, ${failed.length} failed`);
  if (failed.length === 0) keep('matrix', rows, from);
  return failed;
};

/** A month with 1,000 nodes and 200 Services. */
const soak = async (from: number): Promise<readonly string[]> => {
  const result = await simulate<Soak>('soak', [30, 1_000, 200]);
  for (const sample of result.samples) write(JSON.stringify(sample));
  const failed = [...result.wrong, ...growth(result)];
  if (failed.length === 0) keep('soak', result, from);
  return failed;
};

/** A week with 1,000 nodes in a project whose quota others use up. */
const quotaWeek = async (from: number): Promise<readonly string[]> => {
  const result = await simulate<QuotaWeek>('quota-week', [7, 1_000, 5]);
  write(JSON.stringify(result));
  const failed = shortcomings(result);
  if (failed.length === 0) keep('quotaWeek', result, from);
  return failed;
};

const parts: Readonly<Record<string, (from: number) => Promise<readonly string[]>>> = {
  matrix,
  soak,
  'quota-week': quotaWeek,
};

const { values } = parseArgs({ options: { only: { type: 'string' } } });
for (const name of values.only?.split(',') ?? Object.keys(parts)) {
  const part = parts[name];
  if (part === undefined) throw new Error(`there is no ${name}, only ${Object.keys(parts).join(', ')}`);
  write(`# ${name}`);
  const failed = await part(performance.now());
  for (const line of failed) write(line);
  if (failed.length > 0) process.exitCode = 1;
}

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CellResult } from './cell.ts';
import { cells } from './matrix.ts';
import { missing, type RunSummary, renderRows, summarise } from './results.ts';

/** Runs the whole fault matrix, prints its table and keeps the figures for the docs. Exits with 1 where a field failed. */

const directory = mkdtempSync(join(tmpdir(), 'robustness-'));
const spec = fileURLToPath(new URL('matrix.spec.ts', import.meta.url));
const shards = Math.min(2, availableParallelism());
const from = performance.now();

const run = (shard: number): Promise<string> =>
  new Promise(resolve => {
    const results = join(directory, `${shard}.jsonl`);
    writeFileSync(results, '');
    const env = { ...process.env, MATRIX: 'full', SHARD: `${shard}/${shards}`, RESULTS: results };
    const child = spawn(process.execPath, ['--test', '--test-reporter=dot', spec], {
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.on('close', () => resolve(readFileSync(results, 'utf8')));
  });

const texts = await Promise.all(Array.from({ length: shards }, (_, shard) => run(shard)));
rmSync(directory, { recursive: true });
const results: CellResult[] = texts
  .join('')
  .split('\n')
  .filter(line => line !== '')
  .map(line => JSON.parse(line));
const rows = summarise(results);
const failed = missing(results);
const summary: RunSummary = {
  date: new Date().toISOString().slice(0, 10),
  machine: `${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}, Node.js ${process.versions.node}`,
  minutes: Math.round((performance.now() - from) / 60_000),
  rows,
};
process.stdout.write(`\n${renderRows(rows)}\n\n${failed.map(line => `${line}\n`).join('')}`);
process.stdout.write(`${cells.length - failed.length} passed, ${failed.length} failed\n`);
if (failed.length > 0) process.exitCode = 1;
else writeFileSync(new URL('last-run.json', import.meta.url), `${JSON.stringify(summary, undefined, 2)}\n`);

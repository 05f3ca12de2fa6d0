import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { keep } from '../robustness/last-run.ts';
import { startRealCluster } from '../support/real-cluster.ts';
import { failovers } from './failovers.ts';
import { figures, peerSource, type Result } from './figures.ts';
import { idle } from './idle.ts';
import { loadBalancers } from './load-balancers.ts';
import { machine } from './machine.ts';
import { memory } from './memory.ts';
import { startAndStop } from './process.ts';
import type { Bench } from './project.ts';
import { quota } from './quota.ts';
import { refused } from './refused.ts';
import { renamed } from './renamed.ts';
import { scale } from './scale.ts';
import { burst, scaleUp } from './scale-up.ts';
import { soak } from './soak.ts';
import { isMet, renderTable } from './table.ts';
import { takeOver } from './take-over.ts';

/** Groups of rows, each with a project of its own; the order is that of the table. */
const groups: Readonly<Record<string, (bench: Bench) => Promise<Result[]>>> = {
  'take-over-1': bench => takeOver(bench, 'take-over-1', 1),
  'take-over-11': bench => takeOver(bench, 'take-over-11', 11),
  'scale-10': scaleUp,
  idle,
  'burst-parallel': bench => burst(bench, 'parallel'),
  'burst-locked': bench => burst(bench, 'locked'),
  refused,
  'load-balancers': loadBalancers,
  memory,
  scale,
  start: startAndStop,
  quota,
  renamed,
  failovers,
  soak,
};

const usage = `usage: make bench ARGS="[--only ${Object.keys(groups).join(',')}] [--quick] [--keep]"`;

const write = (text: string): void => void process.stdout.write(`${text}\n`);
const say = (line: string): void => void process.stderr.write(`# ${line}\n`);

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  });
  const names = values.only?.split(',') ?? Object.keys(groups);
  if (names.some(name => groups[name] === undefined)) {
    say(usage);
    return 1;
  }
  const from = performance.now();
  const cluster = await startRealCluster();
  const compileCache = mkdtempSync(join(tmpdir(), 'compile-cache-'));
  const bench: Bench = { cluster, quick: values.quick, compileCache };
  const results: Result[] = [];
  try {
    // The image comes with compiled code; here the first controller writes it.
    await startAndStop({ ...bench, quick: true });
    for (const name of names) {
      say(name);
      const found = (await groups[name]?.(bench).catch(err => say(`${name} failed: ${err}`))) ?? [];
      for (const { row, ours, note, broken } of found)
        say(`  ${row}: ${ours.join(' / ')} ${broken ?? ''} ${note ?? ''}`);
      results.push(...found);
    }
  } finally {
    await cluster.close();
    rmSync(compileCache, { recursive: true, force: true });
  }
  write(`Machine: ${machine()}\nPeer: ${peerSource}\n\n${renderTable(results)}`);
  // For docs/robustness.md.
  if (values.keep) keep('bench', results, from);
  const missed = results.filter(result => !isMet(result, figures[result.row])).length;
  write(`\n${results.length - missed} met, ${missed} missed${values.quick ? ' (quick: rough figures)' : ''}`);
  return 0;
}

process.exitCode = await main();

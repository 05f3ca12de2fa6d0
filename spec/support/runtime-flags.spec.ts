import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { runtimeFlags } from '../../lib/runtime-flags.ts';

it('runs Node.js with flags it knows, and with WebAssembly, which the HTTP client is written in', () => {
  const script = 'process.stdout.write(typeof WebAssembly)';
  const { stdout, stderr, status } = spawnSync(process.execPath, [...runtimeFlags, '-e', script], { encoding: 'utf8' });
  assert.deepEqual({ stdout, stderr, status }, { stdout: 'object', stderr: '', status: 0 });
});

it('tells users in the README the flags the image has', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').replace(/\s*\\\n\s*/g, ' ');
  assert.ok(readme.includes(`node ${runtimeFlags.join(' ')} hcloud-reactive-controller.mjs`));
});

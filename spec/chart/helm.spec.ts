import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

describe('Helm for the specs', () => {
  let directory = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'helm-spec-'));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  const resolve = async (env: Record<string, string>) => {
    const file = join(import.meta.dirname, '..', 'support', 'helm.ts');
    const child = spawn(process.execPath, [file], { env: { XDG_CACHE_HOME: join(directory, 'cache'), ...env } });
    let [out, err] = ['', ''];
    child.stdout.on('data', chunk => (out += chunk));
    child.stderr.on('data', chunk => (err += chunk));
    const [code] = (await once(child, 'close')) as [number];
    return { code, out: out.trim(), err };
  };
  /** A folder with a program of that name. */
  const program = (name: string, script: string): string => {
    const folder = mkdtempSync(join(directory, 'bin-'));
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
    return folder;
  };
  const helmOf = (version: string): string => program('helm', `echo v${version}`);

  it('is what HELM names, and nothing else then', async () => {
    const path = join(helmOf('3.19.0'), 'helm');
    assert.deepEqual(await resolve({ HELM: path }), { code: 0, out: path, err: '' });
    const wrong = await resolve({ HELM: '/nowhere/helm', PATH: helmOf('4.3.1') });
    assert.equal(wrong.code, 1);
    assert.match(wrong.err, /HELM=\/nowhere\/helm is no Helm/);
  });

  it('is one of version 3 or 4 on the path', async () => {
    assert.equal((await resolve({ PATH: helmOf('4.3.1') })).out, 'helm');
    assert.equal((await resolve({ PATH: helmOf('2.17.0') })).code, 3);
  });

  it('is built with Go into the cache, once', async () => {
    const script =
      'if [ "$1" = build ]; then while [ "$1" != -o ]; do shift; done; echo built > "$2"; /bin/chmod +x "$2"; fi';
    const PATH = program('go', script);
    const XDG_CACHE_HOME = join(directory, 'built');
    mkdirSync(XDG_CACHE_HOME);
    const first = await resolve({ PATH, XDG_CACHE_HOME });
    assert.match(first.out, /helm-[\d.]+\/helm$/);
    assert.match(first.err, /building helm/);
    assert.deepEqual(await resolve({ PATH, XDG_CACHE_HOME }), { ...first, err: '' });
  });

  it('is missed loudly without all this, and with CI=true that is a failure', async () => {
    const PATH = join(directory, 'empty');
    const skipped = await resolve({ PATH });
    assert.deepEqual([skipped.code, skipped.out], [3, '']);
    assert.match(skipped.err, /SKIPPED: specs of the chart need Helm/);
    assert.equal((await resolve({ PATH, CI: 'true' })).code, 1);
  });
});

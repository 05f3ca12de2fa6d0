import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runCommand } from '../support/controller-process.ts';

it('help is a command, too, and with the name of another one the help of that', async () => {
  const general = await runCommand({ args: ['--help'] });
  assert.match(general.stdout, /^Usage: hcloud-reactive-controller \[command\]/);
  assert.match(general.stdout, /^ {2}help {5}/m);
  assert.deepEqual(await runCommand({ args: ['help'] }), general);
  for (const name of ['plan', 'demo']) {
    const own = await runCommand({ args: [name, '--help'] });
    assert.notEqual(own.stdout, general.stdout);
    assert.deepEqual(await runCommand({ args: ['help', name] }), own);
  }
});

it('an unknown command is an error that names those there are', async () => {
  for (const name of ['halp', 'constructor']) {
    const { code, stdout, stderr } = await runCommand({ args: [name] });
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    assert.match(stderr, new RegExp(`^Unknown command "${name}"; there are run, plan, demo, version, help\\n$`));
  }
});

for (const args of [['version'], ['--version'], ['help'], ['plan', '--help'], ['demo', '--help'], ['demo']]) {
  it(`${args.join(' ')} says in one line that the disk is full, and nothing to a reader that has enough`, async () => {
    const full = await runCommand({ args, stdout: 'full' });
    assert.equal(full.code, 1);
    assert.match(full.stderr, /^Standard output: ENOSPC: no space left on device, write\n$/);
    assert.deepEqual(await runCommand({ args, stdout: 'unread' }), { code: 1, stdout: '', stderr: '' });
  });
}

it('version prints one line', async () => {
  const { stdout } = await runCommand({ args: ['version'] });
  assert.match(stdout, /^[^\n]+\n$/);
});

import assert from 'node:assert/strict';
import fs, { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createRobotLogin, type RobotLoginOptions } from '../../lib/hetzner/robot-login.ts';

/** A Secret volume as kubelet makes it: files behind a symlink that is swapped. */
const setUp = (t: TestContext, options: Partial<RobotLoginOptions> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'login-'));
  t.after(() => rmSync(folder, { recursive: true }));
  let [now, version] = [0, 0];
  const write = (user: string, password: string) => {
    version += 1;
    mkdirSync(join(folder, `v${version}`));
    writeFileSync(join(folder, `v${version}`, 'user'), user);
    writeFileSync(join(folder, `v${version}`, 'password'), password);
    symlinkSync(`v${version}`, join(folder, 'next'));
    renameSync(join(folder, 'next'), join(folder, 'data'));
  };
  write('u1\n', 'p1\n');
  const errors: string[] = [];
  const login = createRobotLogin({
    user: 'u1',
    password: 'p1',
    userFile: join(folder, 'data', 'user'),
    passwordFile: join(folder, 'data', 'password'),
    clock: { now: () => now, monotonic: () => now },
    onError: err => errors.push(err.message),
    ...options,
  });
  const later = () => {
    now += 1_000;
    return login();
  };
  return { folder, write, login, later, errors };
};

describe('the Robot login', () => {
  it('without files never changes', t => {
    const { login, later, write } = setUp(t, { userFile: undefined, passwordFile: undefined });
    write('u2', 'p2');
    later();
    assert.deepEqual(login(), { user: 'u1', password: 'p1' });
  });

  it('is read again when its files have changed, looked at once a second at most', t => {
    const { login, later, write } = setUp(t);
    assert.deepEqual(login(), { user: 'u1', password: 'p1' });
    write(' u2 ', 'p 2\n');
    assert.deepEqual(login(), { user: 'u1', password: 'p1' });
    assert.deepEqual(later(), { user: 'u2', password: 'p 2' });
  });

  it('may have one part from a file and one from a variable', t => {
    const { login, later, write } = setUp(t, { user: 'fixed', userFile: undefined });
    login();
    write('u2', 'p2');
    assert.deepEqual(later(), { user: 'fixed', password: 'p2' });
  });

  it('changes as a whole or not at all: a new user never comes with the old password', t => {
    const { folder, login, later, write, errors } = setUp(t);
    login();
    write('u2', '\n');
    assert.deepEqual(later(), { user: 'u1', password: 'p1' });
    assert.deepEqual(errors, [`password file ${join(folder, 'data', 'password')} is empty`]);
    unlinkSync(join(folder, 'data', 'password'));
    assert.deepEqual(later(), { user: 'u1', password: 'p1' });
    assert.equal(errors.length, 1);
    write('u3', 'p3');
    assert.deepEqual(later(), { user: 'u3', password: 'p3' });
  });

  for (const [what, times, expected] of [
    ['once, is the new one', 1, { user: 'u3', password: 'p3' }],
    ['without an end, is the last whole one', Number.POSITIVE_INFINITY, { user: 'u1', password: 'p1' }],
  ] as const)
    it(`of files that are replaced while they are read, ${what}`, t => {
      const { login, later, write } = setUp(t);
      login();
      write('u2', 'p2');
      const { readFileSync } = fs;
      let swaps = 0;
      const mocked = t.mock.method(fs, 'readFileSync', (...args: Parameters<typeof readFileSync>) => {
        const text = readFileSync(...args);
        if (swaps < times) write(`u${3 + swaps}`, `p${3 + swaps}`);
        swaps += 1;
        return text;
      });
      syncBuiltinESMExports();
      t.after(() => {
        mocked.mock.restore();
        syncBuiltinESMExports();
      });
      assert.deepEqual(later(), expected);
      assert.ok(swaps > 1);
    });
});

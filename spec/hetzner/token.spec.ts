import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createToken } from '../../lib/hetzner/token.ts';

const setUp = (t: TestContext) => {
  const folder = mkdtempSync(join(tmpdir(), 'token-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'token');
  writeFileSync(file, 'first\n');
  let now = 0;
  const errors: string[] = [];
  const recovered: number[] = [];
  const clock = { now: () => now, monotonic: () => now };
  const token = createToken({
    token: 'first',
    file,
    clock,
    onError: err => errors.push(err.message),
    onRecovered: () => recovered.push(now),
  });
  const later = () => {
    now += 1_000;
  };
  return { file, token, errors, recovered, later };
};

describe('the token', () => {
  it('without a file never changes', () => {
    assert.equal(createToken({ token: 'x', file: undefined, clock: { now: () => 0, monotonic: () => 0 } })(), 'x');
  });

  it('is read again, trimmed, when its file has changed, looked at once a second at most', t => {
    const { file, token, later } = setUp(t);
    assert.equal(token(), 'first');
    writeFileSync(file, '  second-token \n');
    assert.equal(token(), 'first');
    later();
    assert.equal(token(), 'second-token');
  });

  it('stays the last good one while the file is missing or empty, which is told once', t => {
    const { file, token, errors, recovered, later } = setUp(t);
    assert.equal(token(), 'first');
    writeFileSync(file, '\n');
    later();
    assert.equal(token(), 'first');
    unlinkSync(file);
    later();
    assert.equal(token(), 'first');
    assert.deepEqual(errors, [`token file ${file} is empty`]);
    writeFileSync(file, 'third');
    later();
    assert.equal(token(), 'third');
    unlinkSync(file);
    later();
    assert.equal(token(), 'third');
    assert.equal(errors.length, 2);
    assert.deepEqual(recovered, [3_000], 'once, when the third was read');
  });
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { type TarEntry, tarOf } from './tar.ts';

const long = `usr/share/${'a'.repeat(60)}/${'b'.repeat(60)}/name`;
const entries: readonly TarEntry[] = [
  { path: 'usr/bin/tool', kind: 'file', mode: 0o555, content: Buffer.from('x'.repeat(700)) },
  { path: 'bin/link', kind: 'link', target: '/usr/bin/tool' },
  { path: 'usr', kind: 'directory', mode: 0o755 },
  { path: long, kind: 'file', mode: 0o444, content: Buffer.alloc(512, 'y') },
  { path: 'tmp', kind: 'directory', mode: 0o1777 },
];

describe('an archive', () => {
  it('is read by tar with modes, owners, times, links and long names', () => {
    const list = execFileSync('tar', ['-tvf', '-', '--numeric-owner', '--full-time', '--utc'], {
      input: tarOf(entries, 1_700_000_000),
      encoding: 'utf8',
    });
    assert.deepEqual(
      list
        .trim()
        .split('\n')
        .map(line => line.replaceAll(/ +/g, ' ')),
      [
        'lrwxrwxrwx 0/0 0 2023-11-14 22:13:20 bin/link -> /usr/bin/tool',
        'drwxrwxrwt 0/0 0 2023-11-14 22:13:20 tmp/',
        'drwxr-xr-x 0/0 0 2023-11-14 22:13:20 usr/',
        '-r-xr-xr-x 0/0 700 2023-11-14 22:13:20 usr/bin/tool',
        `-r--r--r-- 0/0 512 2023-11-14 22:13:20 ${long}`,
      ],
    );
  });

  it('keeps what is in a file', () => {
    const content = execFileSync('tar', ['-xOf', '-', 'usr/bin/tool'], { input: tarOf(entries, 0), encoding: 'utf8' });
    assert.equal(content, 'x'.repeat(700));
  });

  it('is the same in whatever order its entries are given', () => {
    assert.ok(tarOf(entries, 5).equals(tarOf([...entries].reverse(), 5)));
    assert.ok(!tarOf(entries, 5).equals(tarOf(entries, 6)));
  });

  it('refuses a name that has no room', () => {
    const path = 'c'.repeat(101);
    assert.throws(() => tarOf([{ path, kind: 'directory', mode: 0o755 }], 0), /too long/);
  });
});

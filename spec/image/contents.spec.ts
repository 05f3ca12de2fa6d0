import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { contentList, partOf, problemsOf } from './contents.ts';
import { configuration, paths } from './definition.ts';
import { neededLibraries } from './elf.ts';
import type { TarEntry } from './tar.ts';

const file = (path: string, content = ''): TarEntry => ({
  path,
  kind: 'file',
  mode: 0o444,
  content: Buffer.from(content),
});
const whole: readonly TarEntry[] = [
  file(paths.node),
  file(paths.certificates),
  file(paths.program),
  { path: paths.command, kind: 'link', target: `/${paths.program}` },
  ...Object.keys(configuration).map(path => file(path)),
  file(`${paths.licences}/libc6/copyright`),
  file('lib/x86_64-linux-gnu/libc.so.6'),
  file('lib64/ld-linux-x86-64.so.2'),
  file('usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30'),
  file(`${paths.compileCache}/v24/abc`),
  { path: 'tmp', kind: 'directory', mode: 0o1777 },
];

describe('the content of the image', () => {
  it('is in order with Node, its libraries, certificates, the program, and what names the user', () => {
    assert.deepEqual(problemsOf(whole), []);
  });

  for (const path of ['bin/sh', 'usr/bin/npm', 'etc/shadow', 'usr/lib/node_modules/npm/index.js', 'lib/libx.a']) {
    it(`has no place for ${path}`, () => {
      assert.equal(partOf(file(path)), undefined);
      assert.deepEqual(problemsOf([...whole, file(path)]), [`${path} does not belong`]);
    });
  }

  it('lacks nothing', () => {
    const without = whole.filter(({ path }) => path !== paths.node && path !== 'etc/passwd');
    assert.deepEqual(problemsOf(without), ['usr/bin/node is missing', 'etc/passwd is missing']);
  });

  it('has each library that a program in it asks for', () => {
    const node = readFileSync(process.execPath);
    const programs: TarEntry = { path: paths.node, kind: 'file', mode: 0o555, content: node };
    const needed = neededLibraries(node);
    assert.ok(needed.includes('libc.so.6') && needed.includes('libstdc++.so.6'), needed.join());
    const problems = problemsOf([...whole.filter(({ path }) => path !== paths.node), programs]);
    assert.ok(problems.includes('usr/bin/node needs libm.so.6, which is not there'), problems.join('\n'));
    assert.ok(!problems.some(problem => problem.includes('libc.so.6')));
  });

  it('is listed by path with part and size', () => {
    assert.equal(
      contentList([file('etc/group', 'abc'), ...whole.filter(({ kind }) => kind !== 'file')]),
      `program                   /${paths.command} -> /${paths.program}\nconfiguration          3  /etc/group\n`,
    );
  });

  it('tells nothing of files that are no programs', () => {
    for (const bytes of ['', '#!/bin/sh\n', '\x7fELF']) assert.deepEqual(neededLibraries(Buffer.from(bytes)), []);
  });
});

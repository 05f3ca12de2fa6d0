import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { entrypoint, environment, repository, user } from './definition.ts';

const text = readFileSync(join(repository, 'Containerfile'), 'utf8').replaceAll(/\\\n\s*/g, '');
const instructions = text
  .split('\n')
  .filter(line => /^[A-Z]/.test(line))
  .map(line => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)] as const);
const last = instructions.slice(instructions.findLastIndex(([name]) => name === 'FROM'));
const argumentOf = (name: string): string | undefined => last.find(([one]) => one === name)?.[1];

describe('the Containerfile', () => {
  it('ends in what `make image` makes: nothing but the root, with the same user, environment and command', () => {
    assert.equal(argumentOf('FROM'), 'scratch');
    assert.equal(argumentOf('COPY'), '--from=build /src/dist/image/root/ /');
    assert.equal(argumentOf('USER'), user);
    assert.deepEqual(JSON.parse(argumentOf('ENTRYPOINT') ?? ''), entrypoint);
    const pairs = [...(argumentOf('ENV') ?? '').matchAll(/(\w+)=(?:"([^"]*)"|(\S+))/g)];
    assert.deepEqual(Object.fromEntries(pairs.map(([, name, quoted, bare]) => [name, quoted ?? bare])), environment);
    assert.equal(argumentOf('EXPOSE'), '8233 10258');
  });

  it('builds with the version of Node that package.json pins, and copies whatever is copied by name', () => {
    const { devDependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
    assert.equal(instructions[0]?.[1], `docker.io/library/node:${devDependencies.node}-bookworm AS build`);
    const sources = instructions
      .filter(([name, value]) => name === 'COPY' && !value.startsWith('--'))
      .flatMap(([, value]) => value.split(' ').slice(0, -1));
    assert.deepEqual(
      sources.filter(path => !existsSync(join(repository, path))),
      [],
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { logKeys } from '../../lib/observability/log-keys.ts';
import { logExamples, logLineKinds } from '../support/docs-logs.ts';
import { logCalls } from '../support/log-calls.ts';
import { argumentsAt, declarationOf, keysOf } from '../support/source-text.ts';

describe('the reference of log lines', () => {
  it('finds message, level and known keys of each call of the logger', () => {
    const calls = logCalls();
    assert.ok(calls.length > 60);
    const at = (call: (typeof calls)[number]): string => `${call.file}:${call.line}`;
    const unread = calls.filter(({ messages, levels }) => messages.length === 0 || levels.length === 0);
    // Their lines are made where the settings are read.
    assert.deepEqual(
      unread.map(({ file }) => file),
      ['plan-command.ts', 'run-command.ts'],
    );
    const odd = calls.filter(({ keys }) => keys.some(key => !Object.hasOwn(logKeys, key)));
    assert.deepEqual(odd.map(at), []);
    const talkative = calls.filter(({ messages }) => messages.some(message => message.endsWith('.')));
    assert.deepEqual(talkative.map(at), []);
  });

  it('names what a node’s way consists of, with its keys', () => {
    const kinds = logLineKinds();
    const keysOfLine = (message: string) => kinds.find(kind => kind.message === message)?.keys.join(' ');
    assert.equal(keysOfLine('Initialised node'), 'node serverID providerID labels durationMs');
    assert.equal(keysOfLine('Created route'), 'node networkID destination gateway durationMs');
    assert.equal(keysOfLine('Deleted node'), 'node providerID');
    assert.equal(keysOfLine('Added target'), 'loadBalancerID subject');
    assert.equal(keysOfLine('Became the leader'), 'identity lease');
  });

  it('has an example of each line at info, which is a line of the log', () => {
    const lines = logExamples()
      .split('\n')
      .slice(1, -1)
      .map(line => JSON.parse(line));
    assert.equal(lines.length, logLineKinds().filter(({ level }) => level === 'info').length);
    for (const line of lines) assert.deepEqual(Object.keys(line).slice(0, 3), ['ts', 'level', 'msg']);
  });
});

describe('reading source text', () => {
  it('cuts arguments at commas that are no part of something else', () => {
    const source = "log.info('a, (b', { c, d: [1, 2], e: f(g, `h,`) }, i)";
    assert.deepEqual(argumentsAt(source, source.indexOf('(')), ["'a, (b'", '{ c, d: [1, 2], e: f(g, `h,`) }', 'i']);
  });

  it('knows what a constant is and what a function returns', () => {
    const source = "const a = { b: 1 };\nconst f = ({ c }: T) => ({ d: c });\nconst g = (x: number): string => 'x; y';";
    assert.equal(declarationOf('a', source), '{ b: 1 }');
    assert.equal(declarationOf('f', source), '({ d: c })');
    assert.equal(declarationOf('g', source), "'x; y'");
    assert.equal(declarationOf('h', source), undefined);
  });

  it('finds the keys of objects, spread ones included', () => {
    const source =
      'const fields = { node: n, ...(id !== undefined && { serverID: id }) };\nconst about = (n: N) => ({ uid: n.uid });';
    const resolve = (name: string) => declarationOf(name, source);
    assert.deepEqual(keysOf("{ ...fields, ...about(n), labels: { 'x/y': 1 }, err }", resolve), [
      'node',
      'serverID',
      'uid',
      'labels',
      'err',
    ]);
    assert.deepEqual(keysOf('fields', resolve), ['node', 'serverID']);
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import type { LogFields } from '../../lib/observability/log-keys.ts';
import { createLogger } from '../../lib/observability/winston-logger.ts';
import { captureLogger } from '../support/log-lines.ts';

const at = Date.parse('2026-01-01T00:00:00.123Z');

const capture = (level: 'error' | 'warn' | 'info' | 'debug' = 'debug') => {
  const lines: string[] = [];
  const logger = createLogger({ level, secrets: () => [], write: line => lines.push(line), clock: { now: () => at } });
  return { logger, lines };
};

describe('logger', () => {
  it('writes ts, level, msg, then the fields of the child, then its own, in the order given', () => {
    const { logger, lines } = capture();
    logger.child({ controller: 'route', reconcileID: '1a2b3c4d' }).info('Created route', {
      destination: '10.244.1.0/24',
      attempt: 1,
    });
    assert.deepEqual(lines, [
      '{"ts":"2026-01-01T00:00:00.123Z","level":"info","msg":"Created route","controller":"route","reconcileID":"1a2b3c4d","destination":"10.244.1.0/24","attempt":1}',
    ]);
  });

  it('writes a key once: the own value wins over that of the child, in its place', () => {
    const { logger, lines } = capture();
    logger.child({ node: 'a', reason: 'added' }).warn('Skipped node', { node: 'b' });
    assert.match(lines[0] ?? '', /"msg":"Skipped node","node":"b","reason":"added"}$/);
  });

  it('leaves out undefined fields and keeps null', () => {
    const { logger, lines } = capture();
    logger.info('Updated node', { node: undefined, serverID: null, labels: { a: undefined, b: 'c' } } as LogFields);
    assert.match(lines[0] ?? '', /"msg":"Updated node","serverID":null,"labels":\{"b":"c"\}\}$/);
  });

  it('lets no field take the place of ts, level or msg', () => {
    const { logger, lines } = capture();
    logger.error('Failed', { ts: 1, level: 'info', msg: 'fine' } as LogFields);
    assert.equal(lines[0], '{"ts":"2026-01-01T00:00:00.123Z","level":"error","msg":"Failed"}');
  });

  it('reads nothing of the fields of a disabled level', () => {
    const { logger, lines } = capture('info');
    const fields = Object.defineProperty({}, 'node', {
      enumerable: true,
      get: () => assert.fail('the field was read'),
    }) as LogFields;
    logger.debug('Reconciled', fields);
    logger.child({ node: 'a' }).debug('Reconciled', fields);
    assert.deepEqual(lines, []);
  });

  it('changes the level of the root and of all its children while running', () => {
    const { logger, lines } = capture('info');
    const child = logger.child({ controller: 'node' }).child({ node: 'a' });
    assert.equal(child.isEnabled('debug'), false);
    logger.setLevel('debug');
    assert.equal(logger.level(), 'debug');
    assert.equal(child.isEnabled('debug'), true);
    child.debug('Reconciled');
    logger.setLevel('error');
    child.warn('Lost watch');
    logger.error('Failed');
    assert.deepEqual(
      lines.map(line => JSON.parse(line).msg),
      ['Reconciled', 'Failed'],
    );
  });

  it('writes before the call returns, also many lines in one turn', () => {
    const { logger, lines } = capture();
    for (let i = 1; i <= 200; i++) {
      logger.info('Created route', { count: i });
      assert.equal(lines.length, i);
    }
  });

  it('survives a write that throws and a write that logs', () => {
    const lines: string[] = [];
    const logger = createLogger({
      level: 'info',
      secrets: () => [],
      write: line => {
        lines.push(line);
        if (lines.length === 1) throw new Error('EPIPE');
        if (lines.length === 2) logger.info('Third');
      },
    });
    logger.info('First');
    logger.info('Second');
    assert.deepEqual(
      lines.map(line => JSON.parse(line).msg),
      ['First', 'Second', 'Third'],
    );
  });

  for (const [how, preface] of [
    ['when the process exits right after', ''],
    ['also when something made the pipe non-blocking', "process.stdout.write('');"],
  ] as const) {
    it(`loses nothing on standard output ${how}`, () => {
      const module = new URL('../../lib/observability/winston-logger.ts', import.meta.url).href;
      const program = `const { createLogger } = await import('${module}');
      ${preface}
      const logger = createLogger({ level: 'info', secrets: () => [] });
      for (let i = 0; i < 5000; i++) logger.info('Created route', { count: i });
      process.exit(3);`;
      const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
        encoding: 'utf8',
      });
      assert.equal(status, 3);
      const lines = stdout.trimEnd().split('\n');
      assert.equal(lines.length, 5000);
      assert.equal(JSON.parse(lines.at(-1) ?? '').count, 4999);
    });
  }

  it('does not touch an error that it is given', () => {
    const { logger, records } = captureLogger();
    const err = Object.freeze(new TypeError('no such thing'));
    logger.error('Failed to reconcile', { err });
    assert.deepEqual(Object.keys(err), []);
    const written = records()[0]?.err as Record<string, unknown>;
    assert.equal(written.type, 'TypeError');
    assert.equal(written.message, 'no such thing');
  });
});

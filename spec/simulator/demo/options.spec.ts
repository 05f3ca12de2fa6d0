import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FatalError } from '../../../lib/fatal-error.ts';
import { parseDemoOptions } from '../../../lib/simulator/demo/options.ts';

const refused = (...argv: string[]): string => {
  try {
    parseDemoOptions(argv);
  } catch (err) {
    assert.ok(err instanceof FatalError, 'a message without a stack trace');
    return err.message;
  }
  return assert.fail(`${argv.join(' ')} was accepted`);
};

describe('the options of the demo', () => {
  it('stand for the work the peer was measured with, but for the idle time', () => {
    assert.deepEqual(parseDemoOptions([]), { workers: 10, interval: 2_000, idle: 30, json: false, report: undefined });
    assert.deepEqual(parseDemoOptions(['--full']), {
      workers: 10,
      interval: 2_000,
      idle: 360,
      json: false,
      report: undefined,
    });
  });

  it('may be written with and without an equals sign', () => {
    const argv = ['--workers', '2', '--interval=0', '--idle', '0', '--json', '--report=x.html'];
    assert.deepEqual(parseDemoOptions(argv), { workers: 2, interval: 0, idle: 0, json: true, report: 'x.html' });
  });

  it('of the scenario networks are few', () => {
    const parsed = parseDemoOptions(['--scenario', 'networks', '--json']);
    assert.deepEqual(parsed, { scenario: 'networks', idle: 10, json: true });
    assert.deepEqual(parseDemoOptions(['--scenario=networks', '--full']), {
      ...(parsed as object),
      idle: 360,
      json: false,
    });
    assert.deepEqual(parseDemoOptions(['--scenario=scale-up']), parseDemoOptions([]));
    assert.equal(refused('--scenario=networks', '--workers=3'), '--workers is no option of the scenario networks');
    assert.equal(refused('--scenario=x'), '--scenario=x is invalid: must be one of scale-up, networks');
  });

  it('ask for help before anything else', () => {
    assert.equal(parseDemoOptions(['--help', '--workers=nonsense']), 'help');
    assert.equal(parseDemoOptions(['-h']), 'help');
  });

  it('that are not known are named, and so is what is known', () => {
    assert.match(refused('--fast'), /--fast.*--workers N/s);
    assert.match(refused('fast'), /'fast'/);
    assert.match(refused('--json=yes'), /--json/);
  });

  it('name the file of a report where they ask for one', () => {
    assert.equal(refused('--report='), '--report needs the name of a file');
  });

  it('have bounds', () => {
    for (const value of ['0', '100', '1.5', '-1', 'ten', '', ' ']) {
      assert.equal(refused(`--workers=${value}`), `--workers=${value} is invalid: must be a whole number from 1 to 99`);
    }
    assert.match(refused('--interval=60001'), /^--interval=60001 is invalid: .* from 0 to 60000$/);
    assert.match(refused('--idle=3601'), /^--idle=3601 is invalid: .* from 0 to 3600$/);
  });

  it('do not say two idle times at once', () => {
    assert.equal(refused('--full', '--idle=5'), '--full and --idle exclude each other: set only one');
  });
});

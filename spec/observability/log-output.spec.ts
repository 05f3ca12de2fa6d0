import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLogOutput } from '../../lib/observability/log-output.ts';

it('counts the lines that are lost, tells of the first in a row, and knows when the log is back', () => {
  const told: string[] = [];
  const written: string[] = [];
  let lost = 0;
  let fault: Error | undefined;
  const output = createLogOutput(
    () => {
      lost += 1;
    },
    line => {
      if (fault !== undefined) throw fault;
      written.push(line);
    },
    line => told.push(line),
  );
  const lose = (): void => assert.throws(() => output.write('x'), fault);

  output.write('a');
  assert.equal(output.problem(), undefined);
  fault = new Error('ENOSPC: no space left on device, write');
  lose();
  lose();
  assert.equal(output.problem(), fault.message);
  assert.equal(lost, 2);
  fault = undefined;
  output.write('b');
  assert.equal(output.problem(), undefined);
  fault = new Error('EPIPE: broken pipe, write');
  lose();
  assert.deepEqual(told, [
    'Lost the log, and goes on without: standard output: ENOSPC: no space left on device, write',
    'Lost the log, and goes on without: standard output: EPIPE: broken pipe, write',
  ]);
  assert.deepEqual([written, lost], [['a', 'b'], 3]);
});

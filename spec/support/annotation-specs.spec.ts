import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../lib/controllers/load-balancer/annotations.ts';
import { exercised, renderExercised } from './annotation-specs.ts';

describe('the table of annotations, variables and their specs', () => {
  it('has a spec of the whole program for each; "node spec/support/annotation-specs.ts" prints it', () => {
    const missing = exercised().filter(({ scenarios }) => scenarios.length === 0);
    assert.deepEqual(
      missing.map(({ name }) => name),
      [],
    );
  });

  it('has a spec of the logic for each annotation', () => {
    const names = new Set(Object.keys(annotations));
    const missing = exercised().filter(({ name, units }) => names.has(name) && units.length === 0);
    assert.deepEqual(
      missing.map(({ name }) => name),
      [],
    );
    assert.match(
      renderExercised(),
      /\| http-redirect-http \| .*listeners\.spec\.ts.* \| .*load-balancer-annotations\.spec\.ts/,
    );
  });
});

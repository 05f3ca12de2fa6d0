import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { absolutePath, documents } from './generate-docs.ts';

describe('the generated documents', () => {
  for (const { path, render } of documents) {
    it(`${path} is what the tables in the code say; run "node spec/support/generate-docs.ts" after changing them`, () => {
      assert.equal(readFileSync(absolutePath(path), 'utf8'), render());
    });
  }
});

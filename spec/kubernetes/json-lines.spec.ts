import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { JsonLinesError, jsonLines } from '../../lib/kubernetes/json-lines.ts';

async function* chunks(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}
const read = async (parts: readonly Uint8Array[], maxLine?: number): Promise<unknown[]> => {
  const values: unknown[] = [];
  for await (const value of jsonLines(chunks(parts), maxLine === undefined ? {} : { maxLine })) values.push(value);
  return values;
};
const bytes = (text: string): Uint8Array => Buffer.from(text);
const kind = (kind: JsonLinesError['kind']) => (err: unknown) => err instanceof JsonLinesError && err.kind === kind;

describe('jsonLines', () => {
  it('yields the values that were written, however the bytes are cut', async () => {
    const value = fc.jsonValue({ stringUnit: 'grapheme', maxDepth: 2 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(value, { maxLength: 5 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        async (values, cuts) => {
          const all = bytes(values.map(v => `${JSON.stringify(v)}\n`).join(''));
          const at = [0, ...cuts.map(cut => cut % (all.length + 1)).sort((a, b) => a - b), all.length];
          const parts = at.slice(1).map((end, i) => all.subarray(at[i], end));
          assert.deepEqual(await read(parts), JSON.parse(JSON.stringify(values)));
        },
      ),
    );
  });

  it('puts a character together that was split between chunks', async () => {
    const all = bytes('"ü"\n');
    assert.deepEqual(await read([all.subarray(0, 2), all.subarray(2)]), ['ü']);
  });

  it('skips blank lines', async () => {
    assert.deepEqual(await read([bytes('\n  \n1\r\n\n2\n\n  ')]), [1, 2]);
  });

  it('yields the whole lines before it reports a cut one', async () => {
    const got: unknown[] = [];
    const all = async () => {
      for await (const value of jsonLines(chunks([bytes('{"a":1}\n{"b"')]))) got.push(value);
    };
    await assert.rejects(all, kind('cut'));
    assert.deepEqual(got, [{ a: 1 }]);
  });

  it('reports a line that is not JSON without repeating it', async () => {
    await assert.rejects(read([bytes('secret\n')]), err => kind('syntax')(err) && !String(err).includes('secret'));
  });

  it('refuses a line beyond the cap as soon as it is too long, but not many short ones', async () => {
    await assert.rejects(read([bytes('"12345'), bytes('67890"')], 10), kind('size'));
    assert.equal((await read([bytes('"12345"\n'.repeat(100))], 10)).length, 100);
  });
});

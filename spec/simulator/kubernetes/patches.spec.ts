import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../../lib/simulator/kubernetes/json.ts';
import { jsonPatch, PatchFailure } from '../../../lib/simulator/kubernetes/json-patch.ts';
import { mergePatch } from '../../../lib/simulator/kubernetes/merge-patch.ts';
import { strategicMerge, UnknownDirective } from '../../../lib/simulator/kubernetes/strategic-merge.ts';

/** `__proto__` as a key is no matter of patches, but of this language. */
const jsonObject = fc
  .dictionary(
    fc.string({ maxLength: 3 }).filter(key => !key.startsWith('$')),
    fc.jsonValue({ maxDepth: 2 }),
  )
  .filter(object => !JSON.stringify(object).includes('__proto__'))
  .map(object => JSON.parse(JSON.stringify(object)) as JsonObject);

const withoutNulls = (value: Json): Json => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (item === null ? [] : [[key, withoutNulls(item)]])),
  );
};

const pointer = (key: string): string => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;

describe('a merge patch', () => {
  it('applied to nothing gives itself without its nulls', () => {
    fc.assert(fc.property(jsonObject, patch => assert.deepEqual(mergePatch({}, patch), withoutNulls(patch))));
  });

  it('changes nothing when it is applied again, and never its target', () => {
    fc.assert(
      fc.property(jsonObject, jsonObject, (target, patch) => {
        const before = structuredClone(target);
        const once = mergePatch(target, patch);
        assert.deepEqual(mergePatch(once, patch), once);
        assert.deepEqual(target, before);
      }),
    );
  });
});

describe('a JSON patch', () => {
  it('adds and removes any key, whatever its characters', () => {
    fc.assert(
      fc.property(jsonObject, fc.string(), fc.jsonValue({ maxDepth: 1 }), (target, key, value) => {
        fc.pre(!(key in target) && key !== '__proto__' && !JSON.stringify(value).includes('__proto__'));
        const plain = JSON.parse(JSON.stringify(value)) as Json;
        const added = jsonPatch(target, [{ op: 'add', path: pointer(key), value: plain }]);
        assert.deepEqual(added[key], plain);
        assert.deepEqual(jsonPatch(added, [{ op: 'remove', path: pointer(key) }]), target);
      }),
    );
  });

  it('inserts into lists, at the end with -', () => {
    const list = { l: ['a', 'c'] };
    const operations = [
      { op: 'add', path: '/l/1', value: 'b' },
      { op: 'add', path: '/l/-', value: 'd' },
    ];
    assert.deepEqual(jsonPatch(list, operations), { l: ['a', 'b', 'c', 'd'] });
    assert.deepEqual(list, { l: ['a', 'c'] });
  });

  for (const operation of [
    { op: 'remove', path: '/x' },
    { op: 'replace', path: '/x', value: 1 },
    { op: 'test', path: '/a', value: 2 },
    { op: 'add', path: '/x/y', value: 1 },
    { op: 'add', path: '/l/7', value: 1 },
    { op: 'remove', path: '/l/01' },
    { op: 'copy', from: '/x', path: '/y' },
    { op: 'add', path: 'a', value: 1 },
    { op: 'frob', path: '/a' },
    { op: 'add' },
  ]) {
    it(`refuses ${JSON.stringify(operation)}`, () => {
      assert.throws(() => jsonPatch({ a: 1, l: [1] }, [operation]), PatchFailure);
    });
  }

  it('takes a missing member for null in a test', () => {
    assert.deepEqual(jsonPatch({ a: 1 }, [{ op: 'test', path: '/x', value: null }]), { a: 1 });
  });
});

describe('a strategic merge patch', () => {
  const schema = { fields: { items: { mergeKey: 'k' }, set: { mergeKey: '' } } };

  it('is a merge patch where no list merges', () => {
    fc.assert(
      fc.property(jsonObject, jsonObject, (target, patch) => {
        fc.pre(!JSON.stringify(patch).includes('null') && !JSON.stringify(patch).includes('"$'));
        assert.deepEqual(strategicMerge(target, patch, {}), mergePatch(target, patch));
      }),
    );
  });

  it('keeps every element the patch does not name, in order', () => {
    const keys = fc.uniqueArray(fc.integer({ min: 0, max: 9 }));
    fc.assert(
      fc.property(keys, keys, (present, sent) => {
        const target = { items: present.map(k => ({ k, old: true })) };
        const patch = { items: sent.map(k => ({ k, added: true })) };
        const items = strategicMerge(target, patch, schema).items as { k: number; old?: boolean; added?: boolean }[];
        assert.deepEqual(new Set(items.map(item => item.k)), new Set([...present, ...sent]));
        assert.deepEqual(
          items.filter(item => !sent.includes(item.k)).map(item => item.k),
          present.filter(k => !sent.includes(k)),
        );
        assert.ok(
          items.every(
            item =>
              item.added === (sent.includes(item.k) || undefined) &&
              item.old === (present.includes(item.k) || undefined),
          ),
        );
      }),
    );
  });

  it('joins sets of plain values and removes from them by name', () => {
    assert.deepEqual(
      strategicMerge({ set: ['a', 'b'] }, { '$deleteFromPrimitiveList/set': ['a'], set: ['c'] }, schema),
      { set: ['c', 'b'] },
    );
  });

  it('obeys $retainKeys, $patch: replace and $patch: delete on maps', () => {
    const target = { m: { a: 1, b: 2 } };
    assert.deepEqual(strategicMerge(target, { m: { $retainKeys: ['a'], a: 3 } }, schema), { m: { a: 3 } });
    assert.deepEqual(strategicMerge(target, { m: { $patch: 'replace', c: 4 } }, schema), { m: { c: 4 } });
    assert.deepEqual(strategicMerge(target, { m: { $patch: 'delete' } }, schema), { m: {} });
    assert.throws(() => strategicMerge(target, { m: { $patch: 'frob' } }, schema), UnknownDirective);
  });
});

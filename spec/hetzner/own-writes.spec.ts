import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOwnWrites } from '../../lib/hetzner/own-writes.ts';

const entity = (id: number, text: string) => ({ id, text });

describe('Own writes over a list', () => {
  it('replace, add and remove entities until a list was requested after them', () => {
    const writes = createOwnWrites<ReturnType<typeof entity>>();
    const list = [entity(1, 'old'), entity(2, 'old'), entity(3, 'old')];
    writes.record(entity(1, 'new'), 10);
    writes.forget(2, 10);
    writes.record(entity(4, 'new'), 20);
    assert.deepEqual(writes.over(list, 9), [entity(1, 'new'), entity(3, 'old'), entity(4, 'new')]);
    assert.deepEqual(writes.over(list, 10), [...list, entity(4, 'new')]);
    assert.equal(writes.over(list, 20), list);
    // A list that comes late does not bring them back.
    assert.equal(writes.over(list, 9), list);
  });

  it('count as the last one left the entity', () => {
    const writes = createOwnWrites<ReturnType<typeof entity>>();
    writes.record(entity(1, 'a'), 10);
    writes.record(entity(1, 'b'), 11);
    assert.deepEqual(writes.over([], 10), [entity(1, 'b')]);
    writes.forget(1, 12);
    assert.deepEqual(writes.over([entity(1, 'x')], 11), []);
  });
});

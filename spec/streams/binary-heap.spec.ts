import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { binaryHeap } from '../../lib/streams/binary-heap.ts';

interface Item {
  index: number;
  rank: number;
}

const step = fc.record({
  op: fc.constantFrom('push', 'push', 'pop', 'remove', 'update'),
  rank: fc.nat(50),
  which: fc.nat(),
});

describe('binary heap', () => {
  it('always has the first item on top, whatever is pushed, popped, removed and updated', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), steps => {
        const heap = binaryHeap<Item>((a, b) => a.rank < b.rank);
        const items: Item[] = [];
        for (const { op, rank, which } of steps) {
          const chosen = items[which % Math.max(1, items.length)];
          if (op === 'push') {
            const item = { index: 0, rank };
            items.push(item);
            heap.push(item);
          } else if (op === 'pop') {
            const popped = heap.pop();
            if (popped) items.splice(items.indexOf(popped), 1);
          } else if (op === 'remove' && chosen) {
            heap.remove(chosen);
            items.splice(items.indexOf(chosen), 1);
          } else if (op === 'update' && chosen) {
            chosen.rank = rank;
            heap.update(chosen);
          }
          assert.equal(heap.size, items.length);
          assert.equal(heap.peek()?.rank, items.length === 0 ? undefined : Math.min(...items.map(item => item.rank)));
        }
        const sorted = items.map(item => item.rank).sort((a, b) => a - b);
        assert.deepEqual(
          items.map(() => heap.pop()?.rank),
          sorted,
        );
      }),
    );
  });
});

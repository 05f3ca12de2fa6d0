import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOwnWrites } from '../../lib/kubernetes/own-writes.ts';
import type { StoreChange } from '../../lib/kubernetes/store.ts';
import type { KubeNode } from '../../lib/kubernetes/types.ts';
import { node } from './support.ts';

const at = (resourceVersion: string) => node('w1', { resourceVersion });
const updated = (previous: KubeNode, object: KubeNode): StoreChange<KubeNode> => ({
  key: 'w1',
  type: 'updated',
  object,
  previous,
  initial: false,
});

/** A store that holds this one object, or nothing. */
const holding = (object?: KubeNode) => ({ get: () => object });

describe('own writes', () => {
  it('are believed until the store has caught up, compared as numbers', () => {
    const writes = createOwnWrites<KubeNode>(holding(at('8')));
    writes.record(at('10'));
    writes.observe(updated(at('8'), at('9')));
    assert.equal(writes.latest(at('9')).resourceVersion, '10');
    writes.observe(updated(at('9'), at('11')));
    assert.equal(writes.latest(at('9')).resourceVersion, '9');
  });

  it('are forgotten with their object, and when versions go back as after a restored backup', () => {
    for (const change of [
      { key: 'w1', type: 'deleted', object: at('9'), initial: false } as const,
      updated(at('9'), at('7')),
    ]) {
      const writes = createOwnWrites<KubeNode>(holding(at('8')));
      writes.record(at('10'));
      writes.observe(change);
      assert.equal(writes.latest(at('7')).resourceVersion, '7');
    }
  });

  it('are not kept where the watch was faster than the answer: nothing would ever tell that such an object is gone', () => {
    for (const [stored, behind] of [
      [undefined, at('9')],
      [node('w1', { uid: 'of its successor', resourceVersion: '8' }), at('9')],
      [at('10'), at('9')],
    ] as const) {
      const writes = createOwnWrites<KubeNode>(holding(stored));
      writes.record(at('10'));
      assert.equal(writes.latest(behind).resourceVersion, '9');
    }
  });

  it('are not believed where versions are no numbers', () => {
    const writes = createOwnWrites<KubeNode>(holding(at('8')));
    writes.record(at('b'));
    assert.equal(writes.latest(at('a')).resourceVersion, 'a');
  });
});

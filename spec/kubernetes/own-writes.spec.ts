import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOwnWrites } from '../../lib/kubernetes/own-writes.ts';
<<<<<<< HEAD
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

describe('own writes', () => {
  it('are believed until the store has caught up, compared as numbers', () => {
    const writes = createOwnWrites<KubeNode>();
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
      const writes = createOwnWrites<KubeNode>();
      writes.record(at('10'));
      writes.observe(change);
      assert.equal(writes.latest(at('7')).resourceVersion, '7');
    }
  });

  it('are not believed where versions are no numbers', () => {
    const writes = createOwnWrites<KubeNode>();
    writes.record(at('b'));
    assert.equal(writes.latest(at('a')).resourceVersion, 'a');
=======
import type { KubeNode } from '../../lib/kubernetes/types.ts';
import { node } from './support.ts';

const at = (resourceVersion: string, uid = 'a'): KubeNode => node('w1', { uid, resourceVersion });

describe('own writes', () => {
  it('are believed until the store has caught up, by number and not by text', () => {
    const writes = createOwnWrites<KubeNode>();
    const written = at('1000');
    assert.equal(writes.latest(at('999')).resourceVersion, '999');
    writes.record(written);
    assert.equal(writes.latest(at('999')), written);
    for (const version of ['1000', '1001', '10000']) assert.equal(writes.latest(at(version)).resourceVersion, version);
    assert.equal(writes.latest(at('18446744073709551615')).resourceVersion, '18446744073709551615');
  });

  it('say nothing about another Node of the same name', () => {
    const writes = createOwnWrites<KubeNode>();
    writes.record(at('1000', 'a'));
    assert.equal(writes.latest(at('5', 'b')).resourceVersion, '5');
    writes.observe(at('2000', 'b'), false);
    assert.equal(writes.latest(at('5', 'a')).resourceVersion, '1000');
  });

  it('are kept while the watch brings older states, and forgotten once it brought this one, a newer one or the end', () => {
    for (const [version, gone, kept] of [
      ['999', false, true],
      ['1000', false, false],
      ['1001', false, false],
      ['5', true, false],
    ] as const) {
      const writes = createOwnWrites<KubeNode>();
      writes.record(at('1000'));
      writes.observe(at(version), gone);
      assert.equal(writes.latest(at('1')).resourceVersion, kept ? '1000' : '1', `${version} ${gone}`);
    }
  });

  it('lose to the store where versions are no numbers', () => {
    const writes = createOwnWrites<KubeNode>();
    writes.record(at('opaque-2'));
    assert.equal(writes.latest(at('opaque-1')).resourceVersion, 'opaque-1');
>>>>>>> dc069bb (Specify the pure halves of the node controller, and look on while nodes join)
  });
});

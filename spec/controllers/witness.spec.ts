import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createWitness } from '../../lib/controllers/witness.ts';
import type { KubeNode } from '../../lib/kubernetes/types.ts';
import { node } from '../kubernetes/support.ts';
import { lists, notReadyNode, robotServer } from './lifecycle/support.ts';
import { server } from './support.ts';

const setUp = (...nodes: KubeNode[]) => {
  const since = { cloud: Number.NEGATIVE_INFINITY, robot: Number.NEGATIVE_INFINITY };
  return {
    since,
    witness: createWitness(
      () => nodes,
      kind => since[kind],
    ),
  };
};
const [w1, w2] = [notReadyNode(1), notReadyNode(2)];
const bm1 = node('bm1', { providerID: 'hrobot://321' });
const old = node('bm2', { providerID: 'hcloud://bm-322' });
const foreign = node('edge', { providerID: 'k3s://edge' });

describe('the trust in an answer that lacks a machine', () => {
  it('is given when it holds a machine of another node, not when it holds only those of others (BUG-015)', () => {
    const { witness } = setUp(w1, w2, foreign);
    assert.equal(witness.trust(w1, lists([server(2)])), 'witnessed');
    assert.equal(witness.trust(w1, lists([server(3), server(4, { name: 'w2' })])), 'none');
    assert.equal(witness.trust(w1, lists([])), 'none');
  });

  it('is asked of the cloud of the machine', () => {
    const { witness } = setUp(w1, w2, bm1, old);
    const robots = [robotServer(321)];
    assert.equal(witness.trust(w1, lists([], { robots })), 'none');
    assert.equal(witness.trust(old, lists([], { robots })), 'witnessed');
    assert.equal(witness.trust(bm1, lists([server(1)], { robots: [] })), 'none');
    assert.equal(witness.trust(bm1, lists([server(1)])), 'none');
  });

  it('is given to the account that has a Robot server under another name', () => {
    const { witness } = setUp(bm1);
    assert.equal(witness.trust(bm1, lists([], { robots: [robotServer(321, { name: 'other' })] })), 'witnessed');
  });

  it('is vouched for by an earlier answer, until the credentials change', () => {
    const { witness, since } = setUp(w1);
    assert.equal(witness.trust(w1, lists([], { at: 5 })), 'none');
    witness.observe(lists([server(1)], { at: 10 }));
    assert.equal(witness.trust(w1, lists([], { at: 20 })), 'vouched');
    witness.observe(lists([], { at: 20 }));
    assert.equal(witness.trust(w1, lists([], { at: 20 })), 'vouched');
    since.cloud = 11;
    assert.equal(witness.trust(w1, lists([], { at: 20 })), 'none');
    witness.observe(lists([server(1)], { at: 30 }));
    assert.equal(witness.trust(w1, lists([], { at: 40 })), 'vouched');
  });

  it('needs a witness of the Cloud for a node that is known by its name only', () => {
    const nameless = node('w9');
    const { witness } = setUp(w1, nameless, bm1);
    witness.observe(lists([server(1)], { at: 10 }));
    assert.equal(witness.trust(nameless, lists([], { at: 20 })), 'none');
    assert.equal(witness.trust(nameless, lists([server(1)], { at: 20 })), 'witnessed');
  });

  it('doubts a project without any server that nodes name, unless the same token showed one before', () => {
    const { witness, since } = setUp(w1, w2);
    assert.equal(witness.doubtsProject(lists([server(2), server(3)])), false);
    assert.equal(witness.doubtsProject(lists([server(3), server(4, { name: 'w1' })])), true);
    assert.equal(witness.doubtsProject(lists([])), true);
    witness.observe(lists([server(1)], { at: 10 }));
    assert.equal(witness.doubtsProject(lists([], { at: 20 })), false);
    since.cloud = 11;
    assert.equal(witness.doubtsProject(lists([], { at: 20 })), true);
  });

  it('doubts no project that has something marked as ours, as told since the token is in use', () => {
    const instants: number[] = [];
    const isMarked = (since: number): boolean => instants.push(since) > 1;
    const witness = createWitness(
      () => [w1],
      () => 7,
      isMarked,
    );
    assert.deepEqual([witness.doubtsProject(lists([])), witness.doubtsProject(lists([]))], [true, false]);
    assert.deepEqual(instants, [7, 7]);
    assert.equal(witness.trust(w1, lists([])), 'none', 'which is too little to delete a Node');
  });

  it('takes no node for a witness that was tied by its name in a project in doubt, until nothing speaks against it', () => {
    const nodes = [w1, { ...w2, providerID: '' }];
    const clones = lists([server(2)]);
    const others = (...all: KubeNode[]) => nodes.splice(0, nodes.length, ...all);
    const witness = createWitness(
      () => nodes,
      () => Number.NEGATIVE_INFINITY,
    );
    witness.tied(nodes[1] as KubeNode, clones);
    others(w1, w2);
    witness.observe(clones);
    assert.deepEqual([witness.doubtsProject(clones), witness.trust(w1, clones)], [true, 'none']);
    others(w2);
    witness.observe(clones);
    others(w1, w2);
    assert.deepEqual([witness.doubtsProject(clones), witness.trust(w1, clones)], [false, 'witnessed']);
  });

  it('doubts no project where no node names a server of the Cloud', () => {
    const { witness } = setUp(node('w1'), bm1, old, foreign);
    assert.equal(witness.doubtsProject(lists([])), false);
    assert.equal(witness.doubtsProject(lists([server(9)], { robots: [] })), false);
  });

  it('is never given for a node of others', () => {
    const { witness } = setUp(w1, foreign);
    assert.equal(witness.trust(foreign, lists([server(1)])), 'none');
  });
});

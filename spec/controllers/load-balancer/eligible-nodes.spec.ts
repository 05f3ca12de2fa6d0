import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { eligibleNodes, excludeLabel } from '../../../lib/controllers/load-balancer/eligible-nodes.ts';
import { everything, parseLabelSelector } from '../../../lib/kubernetes/label-selector.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { node } from '../../kubernetes/support.ts';

const names = (nodes: readonly KubeNode[], selector = everything): string[] =>
  eligibleNodes(nodes, selector).map(({ name }) => name);
const taint = (key: string) => ({ taints: [{ key, effect: 'NoSchedule' }] });

describe('nodes that may be targets', () => {
  for (const value of ['', 'true', '1', 'yes', 'nonsense']) {
    it(`BUG-049: are not those with the exclude label, value ${JSON.stringify(value)}`, () => {
      assert.deepEqual(names([node('w1', { labels: { [excludeLabel]: value } })]), []);
    });
  }
  for (const value of ['false', 'False', 'FALSE', 'f', 'F', '0']) {
    it(`BUG-049: are those whose exclude label says ${value}`, () => {
      assert.deepEqual(names([node('w1', { labels: { [excludeLabel]: value } })]), ['w1']);
    });
  }

  it('BUG-050: are not those that an autoscaler or a deletion is about to take', () => {
    const going = [
      node('w1', taint('ToBeDeletedByClusterAutoscaler')),
      node('w2', taint('karpenter.sh/disrupted')),
      node('w3', { deleting: true }),
      node('w4'),
    ];
    assert.deepEqual(names(going), ['w4']);
  });

  it('are those that are not ready or tainted for something else, so that the set is stable', () => {
    const unready = { ready: { status: 'False', reason: 'x' }, ...taint('node.kubernetes.io/not-ready') };
    assert.deepEqual(names([node('w1', unready), node('w2')]), ['w1', 'w2']);
  });

  it('are no cordoned ones, but for all being cordoned', () => {
    const cordoned = node('w1', { unschedulable: true });
    assert.deepEqual(names([cordoned, node('w2')]), ['w2']);
    assert.deepEqual(names([cordoned, node('w2', { unschedulable: true })]), ['w1', 'w2']);
    assert.deepEqual(names([cordoned, node('w2', { deleting: true })]), ['w1']);
  });

  it('are those that the selector takes, and among them the cordoned when it takes no others', () => {
    const selector = parseLabelSelector('pool=a') ?? assert.fail();
    const [a, b] = [{ labels: { pool: 'a' } }, { labels: { pool: 'b' } }];
    assert.deepEqual(names([node('w1', a), node('w2', b)], selector), ['w1']);
    assert.deepEqual(names([node('w1', { ...a, unschedulable: true }), node('w2', b)], selector), ['w1']);
  });

  it('are never none because of a cordon alone', () => {
    const anyNode = fc.record({ unschedulable: fc.boolean(), deleting: fc.boolean() });
    fc.assert(
      fc.property(fc.array(anyNode), all => {
        const nodes = all.map((fields, i) => node(`w${i}`, fields));
        assert.equal(
          names(nodes).length === 0,
          nodes.every(({ deleting }) => deleting),
        );
      }),
    );
  });
});

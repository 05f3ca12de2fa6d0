import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cleanupFinalizer, needsCleanup, wantsLoadBalancer } from '../../../lib/controllers/load-balancer/ownership.ts';
import type { KubeService } from '../../../lib/kubernetes/types.ts';
import { kubeService } from './support.ts';

const held = { finalizers: [cleanupFinalizer, 'example.com/other'] };
const both = { className: 'hcloud', classless: true };
const only = { className: 'hcloud', classless: false };

/** Fields, whether it is wanted and whether it has to be cleaned up, with and without Services that have no class. */
const rows: readonly (readonly [string, Partial<KubeService>, string, string])[] = [
  ['no class', {}, 'wants', 'nothing'],
  ['no class, held', held, 'wants', 'nothing'],
  ['our class', { loadBalancerClass: 'hcloud' }, 'wants', 'wants'],
  ['BUG-052: another class', { loadBalancerClass: 'example.com/other' }, 'nothing', 'nothing'],
  ['another class, held by whoever', { loadBalancerClass: 'example.com/other', ...held }, 'nothing', 'nothing'],
  ['another type', { type: 'ClusterIP' }, 'nothing', 'nothing'],
  ['another type, still held', { type: 'ClusterIP', ...held }, 'cleanup', 'nothing'],
  ['being deleted', { deleting: true }, 'nothing', 'nothing'],
  ['being deleted, held', { deleting: true, ...held }, 'cleanup', 'nothing'],
  ['our class, being deleted, held', { loadBalancerClass: 'hcloud', deleting: true, ...held }, 'cleanup', 'cleanup'],
  [
    'another class, being deleted, held',
    { loadBalancerClass: 'example.com/other', deleting: true, ...held },
    'nothing',
    'nothing',
  ],
  ['another finalizer', { deleting: true, finalizers: ['example.com/other'] }, 'nothing', 'nothing'],
];

describe('whose Service it is', () => {
  for (const [title, fields, ...expected] of rows) {
    it(`is told: ${title}`, () => {
      const found = [both, only].map(rules => {
        const service = kubeService(fields);
        const [wants, cleanup] = [wantsLoadBalancer(service, rules), needsCleanup(service, rules)];
        assert.equal(wants && cleanup, false);
        return wants ? 'wants' : cleanup ? 'cleanup' : 'nothing';
      });
      assert.deepEqual(found, expected);
    });
  }
});

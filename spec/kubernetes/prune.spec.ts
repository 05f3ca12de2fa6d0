import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createInterner } from '../../lib/kubernetes/intern.ts';
import { pruneNode } from '../../lib/kubernetes/prune.ts';

const full = {
  metadata: {
    name: 'w1',
    uid: 'u1',
    resourceVersion: '42',
    creationTimestamp: '2026-01-02T03:04:05Z',
    deletionTimestamp: '2026-01-03T00:00:00Z',
    labels: { a: 'b', n: 1 },
    annotations: {
      'alpha.kubernetes.io/provided-node-ip': '10.0.0.1',
      'instance.hetzner.cloud/x': 'y',
      'flannel.alpha.coreos.com/backend-data': 'z',
    },
    managedFields: [{}],
  },
  spec: {
    providerID: 'hcloud://1',
    podCIDR: '10.1.0.0/24',
    podCIDRs: ['10.1.0.0/24', 'fd00::/64'],
    taints: [
      { key: 'k', effect: 'NoSchedule' },
      { key: 'v', value: 'true', effect: 'NoExecute', timeAdded: '2026-01-02T03:04:05Z' },
    ],
    unschedulable: true,
  },
  status: {
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }, { type: 'Strange', address: 'x' }, { type: 'Hostname' }],
    conditions: [
      { type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: 't', message: 'long' },
      { type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated' },
    ],
    images: [{}],
  },
};

describe('pruneNode', () => {
  it('keeps what the controllers read and nothing else', () => {
    assert.deepEqual(pruneNode(full), {
      name: 'w1',
      namespace: '',
      uid: 'u1',
      resourceVersion: '42',
      creationTimestamp: Date.UTC(2026, 0, 2, 3, 4, 5),
      deleting: true,
      labels: { a: 'b' },
      annotations: { 'alpha.kubernetes.io/provided-node-ip': '10.0.0.1', 'instance.hetzner.cloud/x': 'y' },
      providerID: 'hcloud://1',
      podCIDRs: ['10.1.0.0/24', 'fd00::/64'],
      taints: full.spec.taints,
      unschedulable: true,
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      ready: { status: 'True', reason: 'KubeletReady', lastTransitionTime: 't' },
      networkUnavailable: { status: 'False', reason: 'RouteCreated' },
    });
  });

  it('reads podCIDR where podCIDRs is missing', () => {
    const { podCIDRs: _, ...spec } = full.spec;
    assert.deepEqual(pruneNode({ ...full, spec }).podCIDRs, ['10.1.0.0/24']);
  });

  it('says which identity is missing', () => {
    assert.throws(() => pruneNode({ metadata: { uid: 'u' } }), /metadata\.name/);
    assert.throws(() => pruneNode({ metadata: { name: 'n' } }), /metadata\.uid/);
    assert.throws(() => pruneNode(null), /metadata\.name/);
  });

  it('survives anything else in the object', () => {
    const metadata = fc.record({
      name: fc.constant('n'),
      uid: fc.constant('u'),
      labels: fc.jsonValue(),
      annotations: fc.jsonValue(),
      creationTimestamp: fc.jsonValue(),
      deletionTimestamp: fc.jsonValue(),
    });
    const spec = fc.oneof(
      fc.jsonValue(),
      fc.record({ taints: fc.jsonValue(), podCIDRs: fc.jsonValue(), providerID: fc.jsonValue() }),
    );
    const status = fc.oneof(fc.jsonValue(), fc.record({ addresses: fc.jsonValue(), conditions: fc.jsonValue() }));
    fc.assert(
      fc.property(fc.record({ metadata, spec, status }), raw => {
        const pruned = pruneNode(raw);
        assert.ok(pruned.podCIDRs.every(cidr => typeof cidr === 'string'));
        assert.ok(Number.isFinite(pruned.creationTimestamp));
      }),
    );
  });
});

describe('interner', () => {
  it('returns equal strings and stays within its capacity', () => {
    const intern = createInterner(2);
    for (const text of ['a', 'b', 'c', 'a', 'b']) assert.equal(intern(text), text);
  });
});

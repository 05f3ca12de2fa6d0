import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { applyNode } from '../../../lib/controllers/node/apply.ts';
import { desiredNode, type NodeSettings } from '../../../lib/controllers/node/desired.ts';
import { isUninitialized, planLabels, planNode } from '../../../lib/controllers/node/plan.ts';
import type { KubeNode, Taint } from '../../../lib/kubernetes/types.ts';
import { node } from '../../kubernetes/support.ts';
import { nodeAPI } from '../node-api.ts';
import { joiningNode, networkID, server, uninitialized } from '../support.ts';

const settings: NodeSettings = { family: 'dualstack', networkID, zoneLabelEnabled: true, forwardInternalIPs: false };
const desiredOf = (n: KubeNode, s = server(1)) => {
  const desired = desiredNode(n, { kind: 'cloud', server: s }, settings);
  assert.ok('node' in desired);
  return desired.node;
};
const kinds = (n: KubeNode): string[] => planNode(n, desiredOf(n)).changes.map(change => change.kind);

describe('the plan of a node', () => {
  it('puts addresses before initialisation, so that nothing is scheduled on a half-initialised node', () => {
    assert.deepEqual(kinds(joiningNode('w1')), ['addresses', 'initialise']);
  });

  it('keeps the provider ID that is there, and labels with the right value out of the write', () => {
    const joined = joiningNode('w1', {
      providerID: 'hcloud://1',
      labels: { 'topology.kubernetes.io/region': 'fsn1', 'topology.kubernetes.io/zone': 'mine' },
    });
    const initialise = planNode(joined, desiredOf(joined)).changes.find(change => change.kind === 'initialise');
    assert.ok(initialise !== undefined);
    assert.equal(initialise.providerID, undefined);
    assert.equal(initialise.labels['topology.kubernetes.io/region'], undefined);
    assert.equal(initialise.labels['topology.kubernetes.io/zone'], 'fsn1-dc14');
  });

  it("keeps a user's value of an additional label, and says so (BUG-011)", () => {
    const key = 'instance.hetzner.cloud/provided-by';
    const joined = joiningNode('w1', { labels: { [key]: 'robot' } });
    const plan = planNode(joined, desiredOf(joined));
    assert.deepEqual(plan.keptLabels, [key]);
    const initialise = plan.changes.find(change => change.kind === 'initialise');
    assert.ok(initialise !== undefined && !(key in initialise.labels));
    const right = joiningNode('w1', { labels: { [key]: 'cloud' } });
    assert.deepEqual(planNode(right, desiredOf(right)).keptLabels, []);
  });

  it('writes neither provider ID nor labels to a node that was initialised before (BUG-001, BUG-011)', () => {
    assert.deepEqual(kinds(node('w1')), ['addresses']);
    assert.deepEqual(kinds(node('w1', { addresses: desiredOf(node('w1')).addresses })), []);
  });

  it('brings label pairs of initialised nodes in step, and leaves them alone while the taint is there', () => {
    const labels = { 'beta.kubernetes.io/instance-type': 'cpx11', 'node.kubernetes.io/instance-type': 'cpx31' };
    assert.deepEqual(planLabels(node('w1', { labels })), {
      kind: 'labels',
      labels: { 'node.kubernetes.io/instance-type': 'cpx11' },
    });
    assert.equal(planLabels(joiningNode('w1', { labels })), undefined);
  });

  it('knows the taint by its key alone', () => {
    assert.equal(isUninitialized(node('w1', { taints: [{ key: uninitialized.key, effect: 'NoExecute' }] })), true);
    assert.equal(isUninitialized(node('w1', { taints: [{ key: 'other', effect: 'NoSchedule' }] })), false);
  });
});

const anyTaint: fc.Arbitrary<Taint> = fc.constantFrom(
  uninitialized,
  { key: uninitialized.key, effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' },
  { key: 'dedicated', value: 'db', effect: 'NoSchedule' },
);
const anyLabelKey = fc.constantFrom(
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/zone',
  'instance.hetzner.cloud/provided-by',
  'example.com/role',
);
const anyNode = fc
  .record({
    taints: fc.uniqueArray(anyTaint, { maxLength: 4 }),
    labels: fc.dictionary(anyLabelKey, fc.constantFrom('cpx31', 'cloud', 'robot', '')),
    providerID: fc.constantFrom('', 'hcloud://1'),
    annotations: fc.constantFrom({}, { 'alpha.kubernetes.io/provided-node-ip': '10.0.1.1' }),
    addresses: fc.constantFrom([], [{ type: 'Hostname' as const, address: 'w1' }]),
  })
  .map(fields => node('w1', fields));
const anyServer = fc
  .record({
    ipv4: fc.option(fc.constant('203.0.113.1'), { nil: undefined }),
    ipv6: fc.option(fc.constant('2001:db8::1'), { nil: undefined }),
    type: fc.constantFrom('cpx31', 'AX41 NVMe', ''),
    location: fc.constantFrom('fsn1', 'new1', ''),
  })
  .map(fields => server(1, fields));

describe('a plan applied to the node it was made from', () => {
  it('leaves nothing to plan, and nothing but our own fields changed', async () => {
    await fc.assert(
      fc.asyncProperty(anyNode, anyServer, async (created, machine) => {
        const api = nodeAPI();
        const before = api.add(created);
        const desired = desiredOf(before, machine);
        const { changes } = planNode(before, desired);
        let latest = before;
        for (const change of changes)
          latest = await applyNode(api.client, latest, change, new AbortController().signal);

        assert.deepEqual(planNode(latest, desired).changes, []);
        assert.equal(isUninitialized(latest), false);
        assert.deepEqual(latest, api.get('w1'));
        assert.equal(api.writes.length, changes.length);
        assert.deepEqual(
          latest.taints,
          before.taints.filter(taint => taint.key !== uninitialized.key),
        );
        assert.equal(latest.providerID, before.providerID || (isUninitialized(before) ? 'hcloud://1' : ''));
        for (const [key, value] of Object.entries(before.labels)) {
          if (key === 'example.com/role' || key === 'instance.hetzner.cloud/provided-by')
            assert.equal(latest.labels[key], value);
        }
      }),
      { numRuns: 200 },
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { percentile } from '../../../lib/simulator/demo/percentile.ts';
import { countKubernetes, figureOf } from '../../../lib/simulator/demo/requests.ts';
import { textTable } from '../../../lib/simulator/demo/text-table.ts';

describe('percentiles', () => {
  it('are values that occurred, by nearest rank, whatever the order', () => {
    const values = [10, 1, 9, 2, 8, 3, 7, 4, 6, 5];
    assert.equal(percentile(values, 0.5), 5);
    assert.equal(percentile(values, 0.99), 10);
    assert.equal(percentile(values, 0), 1);
    assert.equal(percentile(values, 1), 10);
    assert.deepEqual(values.slice(0, 3), [10, 1, 9], 'the input is left as it was');
  });

  it('of one value are that value, of none nothing', () => {
    assert.equal(percentile([7], 0.5), 7);
    assert.equal(percentile([7], 0.99), 7);
    assert.equal(percentile([], 0.5), undefined);
  });
});

describe('figures of requests', () => {
  it('leave out the polls of actions once', () => {
    const counts = { 'GET /servers': 2, 'GET /actions': 5, 'GET /actions/{id}': 1, 'POST /x/actions/add_route': 3 };
    assert.deepEqual(figureOf(counts), { withoutActions: 5, withActions: 11 });
    assert.deepEqual(figureOf({}), { withoutActions: 0, withActions: 0 });
  });

  it('name requests to Kubernetes by verb and resource, others by their path', () => {
    const entry = (method: string, path: string, verb: 'watch' | 'update' | undefined) => ({
      at: 0,
      user: '',
      userAgent: '',
      body: '',
      method,
      path,
      verb,
    });
    const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager';
    const counts = countKubernetes([
      entry('PUT', lease, 'update'),
      entry('PUT', lease, 'update'),
      entry('GET', '/api/v1/nodes?watch=true', 'watch'),
      entry('GET', '/version', undefined),
    ]);
    assert.deepEqual(counts, { 'update leases': 2, 'watch nodes': 1, 'GET /version': 1 });
  });
});

describe('text tables', () => {
  it('align the first column to the left and the others to the right, without blanks at the end', () => {
    const lines = textTable([
      ['work', 'ours', 'peer'],
      ['scale', '13 / 24', ''],
      ['idle for long', '1', '2'],
    ]);
    assert.deepEqual(lines, [
      'work               ours   peer', //
      'scale           13 / 24',
      'idle for long         1      2',
    ]);
  });
});

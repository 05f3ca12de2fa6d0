import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Failure } from '../../../lib/controllers/load-balancer/apply.ts';
import { type Conclusion, conclude } from '../../../lib/controllers/load-balancer/conclude.ts';
import type { LoadBalancerChange } from '../../../lib/controllers/load-balancer/plan.ts';
import { createReport } from '../../../lib/controllers/load-balancer/report.ts';
import { hetznerError } from '../../hetzner/support.ts';
import { eventLog, routedNode } from '../support.ts';
import { kubeService, loadBalancer, server } from './support.ts';

const limit = hetznerError({ status: 422, code: 'resource_limit_exceeded', message: 'target limit exceeded' });
const adding: LoadBalancerChange = { kind: 'addTarget', target: server(1) };

const reporting = () => {
  const log = eventLog();
  const nodes = { get: (name: string) => (name === 'w1' ? routedNode(1) : undefined), list: () => [] };
  const tell = createReport({ events: log, nodes }).about(kubeService());
  return { tell, told: log.told };
};

describe('the end of a run', () => {
  const end = (more: Partial<Conclusion> = {}, applied: Partial<Conclusion['applied']> = {}) => {
    const { tell, told } = reporting();
    const outcome = conclude({
      applied: { loadBalancer: loadBalancer(), failures: [], changes: 0, surprised: false, ...applied },
      created: false,
      certificates: { problem: undefined, lookAgainIn: undefined },
      left: undefined,
      surprisedBefore: false,
      attempt: 0,
      complete: true,
      hasNotices: false,
      tell,
      ...more,
    });
    return [outcome.kind, 'after' in outcome ? outcome.after : undefined, told.map(({ reason }) => reason).join()];
  };

  it('is looked at again while a certificate is left that nobody needs', () => {
    const err = hetznerError();
    assert.deepEqual(end({ left: { err, lookAgainIn: undefined } }).slice(0, 1), ['failed']);
    assert.deepEqual(end({ left: { err, lookAgainIn: 3_600_000 } }).slice(0, 2), ['again', 3_600_000]);
  });

  it('is a failure where what is refused as made already is missing again', () => {
    assert.deepEqual(end({ surprisedBefore: true }, { surprised: true }).slice(0, 1), ['failed']);
  });

  it('is done without a word when nothing was to be done', () => {
    assert.deepEqual(end(), ['done', undefined, '']);
    assert.deepEqual(end({}, { changes: 1 }), ['done', undefined, 'EnsuredLoadBalancer']);
    assert.deepEqual(end({ created: true }), ['done', undefined, 'EnsuredLoadBalancer']);
  });

  it('fails with what failed, and waits with a certificate as long as that says', () => {
    assert.deepEqual(end({}, { failures: [{ change: adding, err: hetznerError() }], changes: 1 }), [
      'failed',
      undefined,
      'SyncLoadBalancerFailed',
    ]);
    assert.deepEqual(end({ certificates: { problem: limit, lookAgainIn: 3_600_000 } }), ['failed', 3_600_000, '']);
    assert.deepEqual(end({ certificates: { problem: limit, lookAgainIn: undefined } }), ['failed', undefined, '']);
  });

  it('waits for the Service, or an hour, where all that failed is refused for good and was so for five minutes', () => {
    const invalid = hetznerError({ status: 422, code: 'invalid_input' });
    const option: LoadBalancerChange = { kind: 'updateService', service: { listenPort: 80 } };
    const after = (attempt: number, ...failures: Failure[]) => end({ attempt }, { failures })[1];
    assert.equal(after(6, { change: option, err: invalid }), undefined);
    assert.equal(after(7, { change: option, err: invalid }), 3_600_000);
    assert.equal(after(9, { change: option, err: invalid }, { change: adding, err: invalid }), undefined, 'a server');
    assert.equal(after(9, { change: option, err: limit }), undefined, 'room may be made');
    assert.equal(after(9, { change: option, err: hetznerError({ status: 503, code: 'unavailable' }) }), undefined);
  });

  it('looks again soon after a surprise, for addresses and certificates, and in an hour to remind', () => {
    assert.deepEqual(end({ hasNotices: true }, { surprised: true }), ['again', 1_000, '']);
    assert.deepEqual(end({ complete: false }), ['again', 5_000, '']);
    assert.deepEqual(end({ certificates: { problem: undefined, lookAgainIn: 30_000 } }), ['again', 30_000, '']);
    assert.deepEqual(end({ hasNotices: true }), ['again', 3_600_000, '']);
  });
});

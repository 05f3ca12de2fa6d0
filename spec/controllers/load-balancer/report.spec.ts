import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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

describe('events about a load balancer', () => {
  it('go to the Service, or to the node they are about while that is there', () => {
    const { tell, told } = reporting();
    const notice = { type: 'Warning', reason: 'ServerNotFound', message: 'x' } as const;
    tell.notices([notice, { ...notice, node: 'w1' }, { ...notice, node: 'w9' }]);
    assert.deepEqual(
      told.map(event => event.node),
      ['web', 'w1', 'web'],
    );
  });

  it('name what failed and why in one event, cut to five', () => {
    const { tell, told } = reporting();
    const failures = [1, 2, 3, 4, 5, 6, 7].map(id => ({
      change: { kind: 'addTarget', target: server(id) } as const,
      err: limit,
    }));
    const text = tell.failures(failures);
    assert.match(text, /^addTarget server 1: target limit exceeded .*; and 2 more$/);
    assert.deepEqual(
      told.map(({ reason }) => reason),
      ['MaxTargetsReached'],
    );
    tell.failures([{ change: { kind: 'addService', service: { listenPort: 80 } }, err: limit }]);
    assert.equal(told[1]?.reason, 'SyncLoadBalancerFailed', 'ports are no targets');
  });

  it('BUG-060: name the field of an invalid input', () => {
    const { tell } = reporting();
    const err = hetznerError({
      status: 422,
      code: 'invalid_input',
      details: { fields: [{ name: 'http.timeout_idle', messages: ['must be between 30 and 300'] }] },
    });
    assert.match(tell.failures([{ change: adding, err }]), /http\.timeout_idle: must be between 30 and 300/);
  });

  it('BUG-057: say until when a deprecated type can be ordered, and nothing of others', () => {
    const { tell, told } = reporting();
    tell.checkType(loadBalancer(), undefined);
    tell.checkType(
      loadBalancer({ type: { ...loadBalancer().type, unavailableAfter: Date.UTC(2027, 0, 31) } }),
      undefined,
    );
    assert.deepEqual(
      told.map(({ reason }) => reason),
      ['LoadBalancerTypeDeprecated'],
    );
    assert.match(told[0]?.message ?? '', /2027-01-31/);
  });

  it('BUG-043: say what the type has no room for', () => {
    const { tell, told } = reporting();
    tell.withoutRoom(loadBalancer(), { withoutRoom: [], portsWithoutRoom: [] });
    tell.withoutRoom(loadBalancer(), { withoutRoom: [server(1)], portsWithoutRoom: [81, 82] });
    assert.deepEqual(
      told.map(({ reason }) => reason),
      ['MaxTargetsReached', 'SyncLoadBalancerFailed'],
    );
    assert.match(told[1]?.message ?? '', /room for 5 ports; there is none for 81, 82/);
  });
});

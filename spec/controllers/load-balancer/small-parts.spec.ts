import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Conclusion, conclude } from '../../../lib/controllers/load-balancer/conclude.ts';
import { essentialsOf } from '../../../lib/controllers/load-balancer/essentials.ts';
import type { LoadBalancerChange } from '../../../lib/controllers/load-balancer/plan.ts';
import { createRefusals } from '../../../lib/controllers/load-balancer/refusals.ts';
import { createReport } from '../../../lib/controllers/load-balancer/report.ts';
import { createLoadBalancerView } from '../../../lib/controllers/load-balancer/view.ts';
import type { LoadBalancer } from '../../../lib/hetzner/lb-types.ts';
import { calling, hetznerError } from '../../hetzner/support.ts';
import { manualClock } from '../../kubernetes/support.ts';
import { eventLog, routedNode } from '../support.ts';
import { kubeService, loadBalancer, server } from './support.ts';

const limit = hetznerError({ status: 422, code: 'resource_limit_exceeded', message: 'target limit exceeded' });
const adding: LoadBalancerChange = { kind: 'addTarget', target: server(1) };
const moving: LoadBalancerChange = { kind: 'reattach', network: 9, ip: '10.0.0.5', previousIP: '10.0.0.9' };

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

describe('the end of a run', () => {
  const end = (more: Partial<Conclusion> = {}, applied: Partial<Conclusion['applied']> = {}) => {
    const { tell, told } = reporting();
    const outcome = conclude({
      applied: { loadBalancer: loadBalancer(), failures: [], changes: 0, surprised: false, ...applied },
      created: false,
      certificates: { problem: undefined, lookAgainIn: undefined },
      left: undefined,
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

  it('looks again soon after a surprise, for addresses and certificates, and in an hour to remind', () => {
    assert.deepEqual(end({ hasNotices: true }, { surprised: true }), ['again', 1_000, '']);
    assert.deepEqual(end({ complete: false }), ['again', 5_000, '']);
    assert.deepEqual(end({ certificates: { problem: undefined, lookAgainIn: 30_000 } }), ['again', 30_000, '']);
    assert.deepEqual(end({ hasNotices: true }), ['again', 3_600_000, '']);
  });
});

describe('what Hetzner refused for good', () => {
  const taken = hetznerError({ status: 422, code: 'ip_not_available' });
  it('is remembered of private addresses, not of other changes or of trouble', () => {
    let now = 0;
    const refusals = createRefusals({ monotonic: () => now });
    refusals.learn('a', [
      { change: adding, err: taken },
      { change: moving, err: hetznerError() },
    ]);
    assert.equal(refusals.refusedIP('a'), undefined);
    refusals.learn('a', [{ change: moving, err: taken }]);
    assert.deepEqual([refusals.refusedIP('a'), refusals.refusedIP('b')], ['10.0.0.5', undefined]);
    now = 3_600_000;
    assert.equal(refusals.refusedIP('a'), undefined, 'what is refused today may be free tomorrow');
    refusals.learn('a', [{ change: moving, err: taken }]);
    assert.equal(refusals.refusedIP('a'), '10.0.0.5');
    refusals.forget('a');
    assert.equal(refusals.refusedIP('a'), undefined);
  });

  it('BUG-069: is remembered of creations, so that each try is one request', () => {
    const refusals = createRefusals({ monotonic: () => 0 });
    refusals.learnCreation('a', hetznerError());
    assert.equal(refusals.refusedBare('a'), false);
    refusals.learnCreation('a', hetznerError({ status: 422, code: 'invalid_input' }));
    assert.equal(refusals.refusedBare('a'), true);
    refusals.forget('a');
    assert.equal(refusals.refusedBare('a'), false);
  });
});

describe('the essentials of a listener', () => {
  const http = { cookieName: 'C', certificates: [1] };
  const healthCheck = { protocol: 'http', port: 1, interval: 5, http: { path: '/' } };
  it('are the way to the targets and a health check that finds them', () => {
    assert.deepEqual(
      essentialsOf({ listenPort: 1, destinationPort: 2, protocol: 'https', proxyProtocol: true, http, healthCheck }),
      {
        listenPort: 1,
        destinationPort: 2,
        protocol: 'https',
        proxyProtocol: true,
        http: { certificates: [1] },
        healthCheck: { protocol: 'http', port: 1, http: { path: '/' } },
      },
    );
  });

  it('are nothing when there is nothing else, or nothing of them', () => {
    assert.equal(essentialsOf({ listenPort: 1, destinationPort: 2 }), undefined);
    assert.equal(essentialsOf({ listenPort: 1, destinationPort: 2, http: undefined }), undefined);
    assert.equal(essentialsOf({ listenPort: 1, http: { cookieName: 'C' } }), undefined);
    assert.deepEqual(essentialsOf({ listenPort: 1, destinationPort: 2, http: { cookieName: 'C' } }), {
      listenPort: 1,
      destinationPort: 2,
    });
  });
});

describe('the view of load balancers', () => {
  const open = () => {
    const clock = manualClock(1_000);
    const state = { loadBalancers: [loadBalancer()] as readonly LoadBalancer[], lists: 0 };
    let latest: { requestedAt: number; loadBalancers: readonly LoadBalancer[] } | undefined;
    const notBefore = async (instant: number) => {
      if (latest === undefined || latest.requestedAt < instant) {
        state.lists += 1;
        latest = { requestedAt: clock.monotonic(), loadBalancers: state.loadBalancers };
      }
      return latest;
    };
    const view = createLoadBalancerView({ notBefore, latest: () => latest, changes$: undefined as never }, clock);
    const names = async (instant = 0) => (await view.load(instant, calling())).map(({ name }) => name);
    return { clock, state, view, names };
  };

  it('is read once, follows own writes without a read, and is read anew when it can not be trusted', async () => {
    const { clock, state, view, names } = open();
    assert.deepEqual(await names(), ['lb']);
    clock.advance(10);
    view.record(loadBalancer({ name: 'new' }));
    view.record(loadBalancer({ id: 8, name: 'second' }));
    assert.deepEqual([await names(), state.lists], [['new', 'second'], 1]);
    view.forget(8);
    assert.deepEqual(await names(), ['new']);
    clock.advance(10);
    view.invalidate();
    assert.deepEqual([await names(), state.lists], [['lb'], 2], 'what was written before counts no more');
  });

  it('is never older than it was made, which a term of leadership begins with', async () => {
    const { clock, names, state } = open();
    clock.advance(100);
    await names(-1_000_000);
    assert.equal(state.lists, 1);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LoadBalancerChange } from '../../../lib/controllers/load-balancer/plan.ts';
import { createRefusals } from '../../../lib/controllers/load-balancer/refusals.ts';
import { hetznerError } from '../../hetzner/support.ts';
import { server } from './support.ts';

const adding: LoadBalancerChange = { kind: 'addTarget', target: server(1) };
const moving: LoadBalancerChange = { kind: 'reattach', network: 9, ip: '10.0.0.5', previousIP: '10.0.0.9' };

const HOUR = 3_600_000;

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
    now = HOUR;
    assert.equal(refusals.refusedIP('a'), undefined, 'what is refused today may be free tomorrow');
    refusals.learn('a', [{ change: moving, err: taken }]);
    now = 3 * HOUR - 1;
    assert.equal(refusals.refusedIP('a'), '10.0.0.5', 'each try costs the private targets for a moment');
    now = 3 * HOUR;
    assert.equal(refusals.refusedIP('a'), undefined);
    refusals.learn('a', [{ change: { ...moving, ip: '10.0.0.6' }, err: taken }]);
    now = 4 * HOUR;
    assert.equal(refusals.refusedIP('a'), undefined, 'another address is another matter');
    refusals.learn('a', [{ change: moving, err: taken }]);
    assert.equal(refusals.refusedIP('a'), '10.0.0.5');
    refusals.forget('a');
    assert.equal(refusals.refusedIP('a'), undefined);
  });

  it('BUG-069: is remembered of creations, so that each try is one request', () => {
    const refusals = createRefusals({ monotonic: () => 0 });
    const bare = { name: 'a', type: 'lb99', location: 'fsn1' };
    refusals.learnCreation('a', bare, hetznerError());
    assert.equal(refusals.refusedBare('a', bare), false);
    refusals.learnCreation('a', bare, hetznerError({ status: 422, code: 'invalid_input' }));
    assert.equal(refusals.refusedBare('a', bare), true);
    assert.equal(refusals.refusedBare('a', { ...bare, type: 'lb11' }), false, 'another one is another matter');
    refusals.forget('a');
    assert.equal(refusals.refusedBare('a', bare), false);
  });
});

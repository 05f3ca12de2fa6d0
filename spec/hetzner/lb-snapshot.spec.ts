import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLoadBalancerSnapshot, createLoadBalancerTypes } from '../../lib/hetzner/lb-snapshot.ts';
import type { LoadBalancerType } from '../../lib/hetzner/lb-types.ts';
import { createLoadBalancerAPI } from '../../lib/hetzner/load-balancers.ts';
import type { CallOptions } from '../../lib/hetzner/types.ts';
import { calling, hetznerError, rejection, virtualClock, virtualTime } from './support.ts';

const type = (name: string): LoadBalancerType => ({
  id: 1,
  name,
  maxServices: 5,
  maxTargets: 25,
  maxCertificates: 10,
  unavailableAfter: undefined,
});

describe('the shared list of load balancers', () => {
  it('is one request for all who wait, at the priority of the most urgent', async t => {
    virtualTime(t);
    const sent: CallOptions[] = [];
    const api = createLoadBalancerAPI({
      call: async (_, o) => {
        sent.push(o);
        return { load_balancers: [{ id: 7, name: 'lb', services: [], targets: [] }] };
      },
    });
    const snapshot = createLoadBalancerSnapshot({ api, clock: virtualClock });
    const seen: number[] = [];
    snapshot.changes$.subscribe(({ loadBalancers }) => seen.push(loadBalancers.length));
    const now = Date.now();
    const [one, two] = await Promise.all([
      snapshot.notBefore(now, calling('loadBalancer')),
      snapshot.notBefore(now, calling('refresh')),
    ]);
    assert.equal(one, two);
    assert.deepEqual([one?.requestedAt, one?.loadBalancers[0]?.id, snapshot.latest()], [now, 7, one]);
    assert.deepEqual([sent.map(({ priority }) => priority), seen], [['loadBalancer'], [1]]);
  });
});

describe('the types of load balancers', () => {
  const setUp = (answers: (() => Promise<readonly LoadBalancerType[]>)[]) => {
    let requests = 0;
    const api = { listTypes: () => (answers[requests++] as () => Promise<readonly LoadBalancerType[]>)() };
    return { types: createLoadBalancerTypes({ api, clock: virtualClock }), requests: () => requests };
  };

  it('are asked for once an hour', async t => {
    const time = virtualTime(t);
    const { types, requests } = setUp([async () => [type('lb11')], async () => [type('lb21')]]);
    for (let i = 0; i < 3; i++) assert.equal((await types.get(calling()))[0]?.name, 'lb11');
    await time.advance(3_600_000, 3_600_000);
    assert.equal((await types.get(calling()))[0]?.name, 'lb11');
    assert.equal(requests(), 1);
    await time.advance(1);
    assert.equal((await types.get(calling()))[0]?.name, 'lb21');
  });

  it('stay known when Hetzner does not answer, and are an error when they never were', async t => {
    const time = virtualTime(t);
    const fail = () => Promise.reject(hetznerError());
    const { types } = setUp([async () => [type('lb11')], fail]);
    await types.get(calling());
    await time.advance(3_600_001, 3_600_001);
    assert.equal((await types.get(calling()))[0]?.name, 'lb11');
    assert.match(String(await rejection(setUp([fail]).types.get(calling()))), /unavailable/);
  });

  it('are not waited for beyond the signal', async t => {
    const time = virtualTime(t);
    const { types } = setUp([async () => [type('lb11')], () => new Promise(() => {})]);
    await types.get(calling());
    await time.advance(3_600_001, 3_600_001);
    const term = new AbortController();
    const got = rejection(types.get(calling('route', term.signal)));
    term.abort(new Error('term over'));
    assert.match(String(await got), /term over/);
  });
});

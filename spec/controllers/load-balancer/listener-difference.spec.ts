import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  listenerDifference,
  mergeListener,
  newListener,
} from '../../../lib/controllers/load-balancer/listener-difference.ts';
import { createFakeHetzner } from '../../../lib/simulator/hetzner/fake.ts';
import { anyListener, certificateIDs } from './support.ts';

const simulator = () => {
  const fake = createFakeHetzner({ now: () => 0 });
  for (const id of certificateIDs) fake.certificates.create({ id, name: `c${id}` });
  const { id } = fake.loadBalancers.create({ name: 'lb' });
  return { fake, id, services: () => fake.loadBalancers.get(id)?.services };
};

describe('the difference of two listeners', () => {
  it('makes of any listener any other, is empty then, and is merged as the simulator does it', () => {
    fc.assert(
      fc.property(fc.array(anyListener(443), { minLength: 1, maxLength: 4 }), ([first, ...rest]) => {
        assert.ok(first !== undefined);
        const { fake, id, services } = simulator();
        fake.loadBalancers.addService(id, first);
        let model = newListener(first);
        assert.deepEqual([model], services());
        assert.equal(listenerDifference(first, model), undefined);
        for (const wanted of rest) {
          const difference = listenerDifference(wanted, model);
          if (difference === undefined) continue;
          fake.loadBalancers.updateService(id, difference);
          model = mergeListener(model, difference);
          assert.deepEqual([model], services());
          assert.equal(listenerDifference(wanted, model), undefined);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('completes what the API completes when next to nothing is said', () => {
    for (const body of [
      { listenPort: 80, destinationPort: 1, protocol: 'tcp' },
      { listenPort: 80, destinationPort: 1, protocol: 'http' },
      { listenPort: 443, destinationPort: 1, protocol: 'https', http: { certificates: [902, 901] } },
    ]) {
      const { fake, id, services } = simulator();
      fake.loadBalancers.addService(id, body);
      assert.deepEqual([newListener(body)], services());
    }
  });

  const present = newListener({
    listenPort: 443,
    destinationPort: 1,
    protocol: 'https',
    http: { certificates: [2, 1], stickySessions: true },
  });

  it('says one field for one field', () => {
    const base = { listenPort: 443 };
    assert.deepEqual(listenerDifference({ ...base, destinationPort: 2 }, present), { ...base, destinationPort: 2 });
    assert.deepEqual(listenerDifference({ ...base, http: { stickySessions: false, timeoutIdle: 50 } }, present), {
      ...base,
      http: { stickySessions: false },
    });
    assert.deepEqual(listenerDifference({ ...base, healthCheck: { protocol: 'tcp', retries: 1 } }, present), {
      ...base,
      healthCheck: { retries: 1 },
    });
    assert.deepEqual(
      listenerDifference({ ...base, healthCheck: { protocol: 'http', http: { path: '/x' } } }, present),
      { ...base, healthCheck: { protocol: 'http', http: { path: '/x' } } },
    );
  });

  it('does not mind the order of certificates, nor a host header that is wanted away and is not there', () => {
    assert.equal(listenerDifference({ listenPort: 443, http: { certificates: [1, 2] } }, present), undefined);
    const http = newListener({ listenPort: 80, destinationPort: 1, protocol: 'http' });
    assert.equal(listenerDifference({ listenPort: 80, healthCheck: { http: { domain: null } } }, http), undefined);
  });

  it('says nothing of what is not wanted', () => {
    assert.equal(listenerDifference({ listenPort: 443 }, present), undefined);
    assert.equal(
      listenerDifference({ listenPort: 443, proxyProtocol: undefined, http: { cookieName: undefined } }, present),
      undefined,
    );
  });
});

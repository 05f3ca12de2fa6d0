import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { directDispatcher } from '../../lib/hetzner/dispatcher.ts';
import { createHetzner } from '../../lib/hetzner/hetzner.ts';
import { type HetznerReads, readsOf } from '../../lib/hetzner/reads.ts';
import { createFakeHetzner } from '../../lib/simulator/hetzner/fake.ts';
import { listenHetzner } from '../../lib/simulator/hetzner/listen.ts';
import { systemClock } from '../../lib/streams/clock.ts';
import { memoryLogger } from './support.ts';

const ignore = (): void => undefined;

describe('the reads of the Hetzner side', () => {
  it('hold no function that could change something, and each that is there sends GETs', async t => {
    const fake = createFakeHetzner();
    const { url, close } = await listenHetzner(fake);
    const hetzner = createHetzner({
      endpoint: url,
      token: () => fake.settings.token,
      debug: false,
      userAgent: 'spec',
      clock: systemClock,
      logger: memoryLogger(),
      dispatcher: directDispatcher(),
      hooks: {
        onRequest: ignore,
        onInFlight: ignore,
        onBudget: ignore,
        onLookup: ignore,
        onOperation: ignore,
        onActions: ignore,
      },
    });
    t.after(async () => {
      await hetzner.close();
      await close();
    });
    const reads = readsOf(hetzner);
    assert.deepEqual(Object.keys(reads).sort(), [
      'certificateSnapshot',
      'cloud',
      'loadBalancerSnapshot',
      'loadBalancerTypes',
      'loadBalancers',
      'networks',
      'servers',
      'tokenSince',
    ]);
    const o = { priority: 'refresh', signal: new AbortController().signal } as const;
    const calls = [
      reads.cloud.listServers(o),
      reads.cloud.hasServer(1, o),
      reads.cloud.listNetworks(o),
      reads.cloud.findNetwork('1', o),
      reads.cloud.getNetwork(1, o),
      reads.cloud.getActions([1], o),
      reads.loadBalancers.list(o),
      reads.loadBalancers.get(1, o),
      reads.loadBalancers.listTypes(o),
      reads.loadBalancers.listCertificates(o),
      reads.loadBalancers.getCertificate(1, o),
      reads.servers.notBefore(systemClock.monotonic(), o),
      reads.networks.notBefore(systemClock.monotonic(), o),
      reads.loadBalancerSnapshot.notBefore(systemClock.monotonic(), o),
      reads.certificateSnapshot.notBefore(systemClock.monotonic(), o),
      reads.loadBalancerTypes.get(o),
    ];
    await Promise.all(calls);
    const functions = Object.keys(reads.cloud).length + Object.keys(reads.loadBalancers).length;
    assert.equal(functions, 11, 'a function that is not called here');
    assert.ok(fake.requests.length >= calls.length);
    assert.deepEqual([...new Set(fake.requests.map(({ method }) => method))], ['GET']);
  });

  it('are no Hetzner side for the types', () => {
    const check = (reads: HetznerReads): unknown[] => [
      // @ts-expect-error a write
      reads.cloud.addRoute,
      // @ts-expect-error a write
      reads.loadBalancers.delete,
      // @ts-expect-error waits for writes
      reads.actions,
    ];
    assert.equal(typeof check, 'function');
  });
});

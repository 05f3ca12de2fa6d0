import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AnnotationName } from '../../../lib/controllers/load-balancer/annotations.ts';
import type { LoadBalancerConfig } from '../../../lib/controllers/load-balancer/config.ts';
import type { Settings } from '../../../lib/settings/settings.ts';
import { configFrom } from './support.ts';

type Row = readonly [
  annotation: AnnotationName,
  text: string,
  setting: Partial<Settings['loadBalancers']>,
  pick: (config: LoadBalancerConfig) => unknown,
  expected: readonly [neither: unknown, setting: unknown, both: unknown, wrong?: unknown],
];

/** Each default with its annotation: without both, with the default, with the annotation over it, with a wrong annotation. */
const rows: readonly Row[] = [
  ['type', 'lb21', { type: 'lb31' }, c => c.type, [undefined, 'lb31', 'lb21']],
  [
    'algorithm-type',
    'round_robin',
    { algorithmType: 'least_connections' },
    c => c.algorithm,
    [undefined, 'least_connections', 'round_robin', undefined],
  ],
  [
    'disable-public-network',
    'false',
    { disablePublicNetwork: true },
    c => c.publicInterface,
    [undefined, false, true, undefined],
  ],
  [
    'disable-private-ingress',
    'false',
    { disablePrivateIngress: true },
    c => c.privateIngress,
    [true, false, true, false],
  ],
  ['use-private-ip', 'false', { usePrivateIP: true }, c => c.usePrivateIP, [false, true, false]],
  ['ipv6-disabled', 'false', { disableIPv6: true }, c => c.ipv6Ingress, [true, false, true, false]],
  [
    'uses-proxyprotocol',
    'false',
    { usesProxyProtocol: true },
    c => c.proxyProtocol,
    [undefined, true, false, undefined],
  ],
  [
    'private-subnet-ip-range',
    '10.1.0.0/16',
    { privateSubnetIPRange: '10.2.0.0/16' },
    c => c.privateSubnet,
    [undefined, '10.2.0.0/16', '10.1.0.0/16', undefined],
  ],
  [
    'health-check-interval',
    '20',
    { healthCheckInterval: 7_900 },
    c => c.healthCheck.interval,
    [undefined, 7, 20, undefined],
  ],
  [
    'health-check-timeout',
    '20s',
    { healthCheckTimeout: 7_000 },
    c => c.healthCheck.timeout,
    [undefined, 7, 20, undefined],
  ],
  ['health-check-retries', '5', { healthCheckRetries: 2 }, c => c.healthCheck.retries, [undefined, 2, 5, undefined]],
];

describe('what is wanted of a load balancer', () => {
  for (const [annotation, text, setting, pick, [neither, byDefault, both, wrong]] of rows) {
    it(`${annotation} wins over its default; a wrong one does not bring the default back`, () => {
      assert.equal(pick(configFrom({})), neither);
      assert.equal(pick(configFrom({}, setting)), byDefault);
      assert.equal(pick(configFrom({ [annotation]: text }, setting)), both);
      if (annotation !== 'type' && annotation !== 'use-private-ip')
        assert.equal(pick(configFrom({ [annotation]: '!' }, setting)), wrong);
    });
  }

  it('is in one place: a location wins over a zone, and an empty one cancels the default', () => {
    const place = (values: Parameters<typeof configFrom>[0], settings = {}) => {
      const { location, networkZone } = configFrom(values, settings);
      return [location, networkZone];
    };
    assert.deepEqual(place({}), [undefined, undefined]);
    assert.deepEqual(place({ location: 'fsn1' }), ['fsn1', undefined]);
    assert.deepEqual(place({ 'network-zone': 'eu-central' }), [undefined, 'eu-central']);
    assert.deepEqual(place({ location: 'fsn1', 'network-zone': 'eu-central' }), ['fsn1', undefined]);
    assert.deepEqual(place({}, { location: 'hel1' }), ['hel1', undefined]);
    assert.deepEqual(place({}, { networkZone: 'us-east' }), [undefined, 'us-east']);
    assert.deepEqual(place({ 'network-zone': 'eu-central' }, { location: 'hel1' }), ['hel1', undefined]);
    assert.deepEqual(place({ location: '', 'network-zone': 'eu-central' }, { location: 'hel1' }), [
      undefined,
      'eu-central',
    ]);
    assert.deepEqual(place({ location: '' }, { location: 'hel1' }), [undefined, undefined]);
    assert.deepEqual(place({ location: 'fsn1' }, { networkZone: 'us-east' }), ['fsn1', undefined]);
  });

  it('takes from annotations alone what has no default', () => {
    const config = configFrom({
      id: '42',
      name: 'edge',
      'private-ipv4': '10.0.0.7',
      hostname: 'lb.example.com',
      'ipv4-rdns': 'four',
      'ipv6-rdns': 'six',
      'node-selector': 'a=b',
    });
    const { id, name, privateIPv4, hostname, rdns, nodeSelector } = config;
    assert.deepEqual(
      { id, name, privateIPv4, hostname, rdns, nodeSelector },
      {
        id: 42,
        name: 'edge',
        privateIPv4: '10.0.0.7',
        hostname: 'lb.example.com',
        rdns: { ipv4: 'four', ipv6: 'six' },
        nodeSelector: 'a=b',
      },
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { AnnotationName } from '../../lib/controllers/load-balancer/annotations.ts';
import type { Certificate, LoadBalancer } from '../../lib/hetzner/lb-types.ts';
import { knownVariables } from '../../lib/settings/table.ts';
import { balanced, ingressOf, lb, ports, targetsOf } from '../support/balanced.ts';
import { createService } from '../support/services.ts';
import { type VirtualApp, virtualApp } from '../support/virtual-app.ts';

/** What became of a Service and its load balancer. */
interface Seen {
  readonly balancer: LoadBalancer;
  readonly ingress: ReturnType<typeof ingressOf>;
  readonly certificates: readonly Certificate[];
  readonly v: VirtualApp;
}

type Values = Readonly<Record<string, string>>;
interface Row {
  readonly values: Values;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly pick: (seen: Seen) => unknown;
  readonly expected: unknown;
  /** What is there before the Service. */
  readonly before?: (v: VirtualApp) => void;
}

const service = ({ balancer }: Seen) => balancer.services[0];
const http = (seen: Seen) => service(seen)?.http;
const check = (seen: Seen) => service(seen)?.healthCheck;
const https = { protocol: 'https', 'http-certificates': 'one' };
const managed = {
  protocol: 'https',
  'certificate-type': 'managed',
  'http-managed-certificate-domains': 'a.example, b.example',
};
const tls = { ports: ports(443) };
const httpCheck = { 'health-check-protocol': 'http' };
const families = ({ ingress }: Seen): string[] =>
  ingress.map(({ ip = '' }) => (ip.includes(':') ? 'IPv6' : ip.startsWith('10.') ? 'private' : 'IPv4'));

/** Each annotation as a user sees it: what the whole program makes of it. */
const annotationRows: Record<AnnotationName, Row> = {
  id: {
    values: { id: '77' },
    before: v => v.hetzner.loadBalancers.create({ id: 77, name: 'by-hand' }),
    pick: ({ balancer }) => [balancer.id, balancer.name],
    expected: [77, 'by-hand'],
  },
  name: { values: { name: 'edge' }, pick: ({ balancer }) => balancer.name, expected: 'edge' },
  type: { values: { type: 'lb21' }, pick: ({ balancer }) => balancer.type.name, expected: 'lb21' },
  location: { values: { location: 'hel1' }, pick: ({ balancer }) => balancer.location, expected: 'hel1' },
  'network-zone': {
    values: { location: '', 'network-zone': 'us-east' },
    pick: ({ balancer }) => balancer.networkZone,
    expected: 'us-east',
  },
  'algorithm-type': {
    values: { 'algorithm-type': 'least_connections' },
    pick: ({ balancer }) => balancer.algorithm,
    expected: 'least_connections',
  },
  'disable-public-network': {
    values: { 'disable-public-network': 'true', 'use-private-ip': 'true' },
    pick: seen => [seen.balancer.publicNet.enabled, families(seen)],
    expected: [false, ['private']],
  },
  'disable-private-ingress': {
    values: { 'disable-private-ingress': 'true' },
    pick: families,
    expected: ['IPv4', 'IPv6'],
  },
  'use-private-ip': {
    values: { 'use-private-ip': 'true' },
    pick: ({ balancer }) => targetsOf(balancer),
    expected: ['101 private', '102 private'],
  },
  network: {
    values: { network: 'edge' },
    before: v => v.hetzner.networks.create({ id: 77, name: 'edge', ipRange: '10.9.0.0/16', subnets: ['10.9.0.0/16'] }),
    pick: ({ balancer }) => balancer.privateNets.map(net => net.network),
    expected: [77],
  },
  'private-ipv4': {
    values: { 'private-ipv4': '10.0.7.7' },
    pick: ({ balancer }) => balancer.privateNets.map(net => net.ip),
    expected: ['10.0.7.7'],
  },
  'private-subnet-ip-range': {
    values: { 'private-subnet-ip-range': '10.5.0.0/24' },
    before: v => v.hetzner.networks.addSubnet(v.networkID, '10.5.0.0/24'),
    pick: ({ balancer }) => balancer.privateNets[0]?.ip.startsWith('10.5.0.'),
    expected: true,
  },
  'ipv6-disabled': { values: { 'ipv6-disabled': 'true' }, pick: families, expected: ['IPv4', 'private'] },
  hostname: {
    values: { hostname: 'lb.example.com' },
    pick: ({ ingress }) => ingress,
    expected: [{ hostname: 'lb.example.com' }],
  },
  'ipv4-rdns': {
    values: { 'ipv4-rdns': 'a.example' },
    pick: ({ balancer }) => balancer.publicNet.ipv4?.dnsPtr,
    expected: 'a.example',
  },
  'ipv6-rdns': {
    values: { 'ipv6-rdns': 'a.example' },
    pick: ({ balancer }) => balancer.publicNet.ipv6?.dnsPtr,
    expected: 'a.example',
  },
  'node-selector': {
    values: { 'node-selector': 'kubernetes.io/hostname=w2' },
    pick: ({ balancer }) => targetsOf(balancer),
    expected: ['102'],
  },
  protocol: { values: { protocol: 'http' }, pick: seen => service(seen)?.protocol, expected: 'http' },
  'uses-proxyprotocol': {
    values: { 'uses-proxyprotocol': 'true' },
    pick: seen => [service(seen)?.proxyProtocol, [...new Set(seen.ingress.map(({ ipMode }) => ipMode))]],
    expected: [true, ['Proxy']],
  },
  'http-cookie-name': {
    values: { protocol: 'http', 'http-cookie-name': 'C' },
    pick: seen => http(seen)?.cookieName,
    expected: 'C',
  },
  'http-cookie-lifetime': {
    values: { protocol: 'http', 'http-cookie-lifetime': '10m' },
    pick: seen => http(seen)?.cookieLifetime,
    expected: 600,
  },
  'http-timeout-idle': {
    values: { protocol: 'http', 'http-timeout-idle': '70' },
    pick: seen => http(seen)?.timeoutIdle,
    expected: 70,
  },
  'http-sticky-sessions': {
    values: { protocol: 'http', 'http-sticky-sessions': 'true' },
    pick: seen => http(seen)?.stickySessions,
    expected: true,
  },
  'http-redirect-http': {
    values: { ...https, 'http-redirect-http': 'true' },
    spec: { ports: ports(80, 443) },
    pick: ({ balancer }) => balancer.services.map(one => [one.listenPort, one.http?.redirectHTTP]),
    expected: [[443, true]],
  },
  'certificate-type': {
    values: managed,
    spec: tls,
    pick: ({ certificates }) => certificates.filter(one => one.type === 'managed').length,
    expected: 1,
  },
  'http-certificates': {
    values: { ...https, 'http-certificates': 'one, 902' },
    spec: tls,
    pick: seen => http(seen)?.certificates,
    expected: [901, 902],
  },
  'http-managed-certificate-name': {
    values: { ...managed, 'http-managed-certificate-name': 'mine' },
    spec: tls,
    pick: ({ certificates }) => certificates.at(-1)?.name,
    expected: 'mine',
  },
  'http-managed-certificate-domains': {
    values: managed,
    spec: tls,
    pick: ({ certificates }) => certificates.at(-1)?.domainNames,
    expected: ['a.example', 'b.example'],
  },
  'http-managed-certificate-acme-staging': {
    values: { ...managed, 'http-managed-certificate-acme-staging': 'true' },
    spec: tls,
    pick: ({ certificates }) => certificates.at(-1)?.labels['HC-Use-Staging-CA'],
    expected: 'true',
  },
  'health-check-protocol': { values: httpCheck, pick: seen => check(seen)?.protocol, expected: 'http' },
  'health-check-port': { values: { 'health-check-port': '31999' }, pick: seen => check(seen)?.port, expected: 31_999 },
  'health-check-interval': {
    values: { 'health-check-interval': '20' },
    pick: seen => check(seen)?.interval,
    expected: 20,
  },
  'health-check-timeout': { values: { 'health-check-timeout': '9s' }, pick: seen => check(seen)?.timeout, expected: 9 },
  'health-check-retries': { values: { 'health-check-retries': '5' }, pick: seen => check(seen)?.retries, expected: 5 },
  'health-check-http-domain': {
    values: { ...httpCheck, 'health-check-http-domain': 'a.example' },
    pick: seen => check(seen)?.http?.domain,
    expected: 'a.example',
  },
  'health-check-http-path': {
    values: { ...httpCheck, 'health-check-http-path': '/ready' },
    pick: seen => check(seen)?.http?.path,
    expected: '/ready',
  },
  'health-check-http-validate-certificate': {
    values: { ...httpCheck, 'health-check-http-validate-certificate': 'true' },
    pick: seen => check(seen)?.http?.tls,
    expected: true,
  },
  'http-status-codes': {
    values: { ...httpCheck, 'http-status-codes': '200,204' },
    pick: seen => check(seen)?.http?.statusCodes,
    expected: ['200', '204'],
  },
};

/** Each variable: its text, the annotation that wins over it, and what either makes. */
const variableRows: Readonly<
  Record<
    string,
    readonly [
      text: string,
      annotation: AnnotationName,
      over: string,
      pick: Row['pick'],
      byDefault: unknown,
      both: unknown,
      more?: Values,
    ]
  >
> = {
  HCLOUD_LOAD_BALANCERS_LOCATION: ['hel1', 'location', 'nbg1', ({ balancer }) => balancer.location, 'hel1', 'nbg1'],
  HCLOUD_LOAD_BALANCERS_NETWORK_ZONE: [
    'us-east',
    'network-zone',
    'us-west',
    ({ balancer }) => balancer.networkZone,
    'us-east',
    'us-west',
  ],
  HCLOUD_LOAD_BALANCERS_TYPE: ['lb21', 'type', 'lb31', ({ balancer }) => balancer.type.name, 'lb21', 'lb31'],
  HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE: [
    ' Least_Connections ',
    'algorithm-type',
    'round_robin',
    ({ balancer }) => balancer.algorithm,
    'least_connections',
    'round_robin',
  ],
  HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK: [
    'true',
    'disable-public-network',
    'false',
    ({ balancer }) => balancer.publicNet.enabled,
    false,
    true,
    { 'use-private-ip': 'true' },
  ],
  HCLOUD_LOAD_BALANCERS_DISABLE_PRIVATE_INGRESS: [
    'true',
    'disable-private-ingress',
    'false',
    families,
    ['IPv4', 'IPv6'],
    ['IPv4', 'IPv6', 'private'],
  ],
  HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: [
    'true',
    'use-private-ip',
    'false',
    ({ balancer }) => targetsOf(balancer),
    ['101 private', '102 private'],
    ['101', '102'],
  ],
  HCLOUD_LOAD_BALANCERS_DISABLE_IPV6: [
    'true',
    'ipv6-disabled',
    'false',
    families,
    ['IPv4', 'private'],
    ['IPv4', 'IPv6', 'private'],
  ],
  HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL: [
    'true',
    'uses-proxyprotocol',
    'false',
    seen => service(seen)?.proxyProtocol,
    true,
    false,
  ],
  HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE: [
    '10.5.0.0/24',
    'private-subnet-ip-range',
    '10.6.0.0/24',
    ({ balancer }) => balancer.privateNets[0]?.ip.slice(0, 7),
    '10.5.0.',
    '10.6.0.',
  ],
  HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL: [
    '20s',
    'health-check-interval',
    '30s',
    seen => check(seen)?.interval,
    20,
    30,
  ],
  HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_TIMEOUT: ['8s', 'health-check-timeout', '9s', seen => check(seen)?.timeout, 8, 9],
  HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES: ['4', 'health-check-retries', '5', seen => check(seen)?.retries, 4, 5],
};

interface Course {
  readonly values?: Values;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly before?: ((v: VirtualApp) => void) | undefined;
}

/** Makes the Service and waits until all is as it should be and stays so. */
const see = async (t: TestContext, { values = {}, spec = {}, env = {}, before }: Course): Promise<Seen> => {
  const v = virtualApp(t);
  const b = balanced(v);
  for (const [id, name] of [
    [901, 'one'],
    [902, 'two'],
  ] as const)
    v.hetzner.certificates.create({ id, name });
  await b.grow(1, 2);
  before?.(v);
  // A load balancer can only be in a network of its own zone.
  const isElsewhere = 'network-zone' in values || 'HCLOUD_LOAD_BALANCERS_NETWORK_ZONE' in env;
  v.start({ env: { ...env, ...(isElsewhere && { HCLOUD_NETWORK: undefined }) } });
  const isPlaced = 'HCLOUD_LOAD_BALANCERS_LOCATION' in env || 'HCLOUD_LOAD_BALANCERS_NETWORK_ZONE' in env;
  await createService(v, {
    name: 'web',
    annotations: lb({ ...(isPlaced ? {} : { location: 'fsn1' }), ...values }),
    spec,
  });
  await v.until('the Service has its addresses', () => ingressOf(b.service('web')).length > 0, 120_000);
  await v.advance(60_000);
  const since = v.now();
  await v.advance(600_000);
  assert.deepEqual(b.writes(since), [], 'and then leaves it alone');
  return {
    balancer: b.balancer('web'),
    ingress: ingressOf(b.service('web')),
    certificates: v.hetzner.certificates.list(),
    v,
  };
};

describe('annotations of load balancers, by the whole program', () => {
  for (const [name, { values, spec, pick, expected, before }] of Object.entries(annotationRows)) {
    it(`${name} does what the reference says`, async t => {
      assert.deepEqual(pick(await see(t, { values, before, ...(spec && { spec }) })), expected);
    });
  }
});

describe('defaults of load balancers, by the whole program', () => {
  const subnets = (v: VirtualApp): void => {
    for (const range of ['10.5.0.0/24', '10.6.0.0/24']) v.hetzner.networks.addSubnet(v.networkID, range);
  };
  for (const [name, [text, annotation, over, pick, byDefault, both, more = {}]] of Object.entries(variableRows)) {
    it(`${name} holds where ${annotation} is absent, and only there`, async t => {
      const env = { [name]: text };
      const before = annotation === 'private-subnet-ip-range' ? subnets : undefined;
      await t.test('absent', async inner => {
        assert.deepEqual(pick(await see(inner, { values: more, env, before })), byDefault);
      });
      await t.test('there', async inner => {
        assert.deepEqual(pick(await see(inner, { values: { ...more, [annotation]: over }, env, before })), both);
      });
    });
  }

  it('HCLOUD_LOAD_BALANCERS_ENABLED, _CLASS and _CLASSLESS say whose Services are looked at', async t => {
    const rows = [
      [{ HCLOUD_LOAD_BALANCERS_ENABLED: 'false' }, undefined, 0],
      [{ HCLOUD_LOAD_BALANCERS_CLASSLESS: 'false' }, undefined, 0],
      [{ HCLOUD_LOAD_BALANCERS_CLASSLESS: 'false' }, 'hetzner.cloud/load-balancer', 1],
      [{ HCLOUD_LOAD_BALANCERS_CLASS: 'example.com/mine' }, 'example.com/mine', 1],
      [{ HCLOUD_LOAD_BALANCERS_CLASS: 'example.com/mine' }, 'hetzner.cloud/load-balancer', 0],
      [{ HCLOUD_LOAD_BALANCERS_CLASS: 'example.com/mine' }, undefined, 1],
    ] as const;
    for (const [env, loadBalancerClass, expected] of rows) {
      await t.test(`${JSON.stringify(env)} and class ${loadBalancerClass}`, async inner => {
        const v = virtualApp(inner);
        v.start({ env });
        await balanced(v).create('web', {}, loadBalancerClass === undefined ? {} : { loadBalancerClass });
        await v.advance(60_000);
        assert.equal(v.hetzner.loadBalancers.list().length, expected);
      });
    }
  });

  it('are all in this table', () => {
    const switches = ['ENABLED', 'CLASS', 'CLASSLESS'].map(name => `HCLOUD_LOAD_BALANCERS_${name}`);
    const known = knownVariables.filter(name => name.startsWith('HCLOUD_LOAD_BALANCERS_'));
    assert.deepEqual([...Object.keys(variableRows), ...switches].sort(), known.sort());
  });
});

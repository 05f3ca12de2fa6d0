import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { desiredListeners, isLocalCheck, withoutLocalCheck } from '../../../lib/controllers/load-balancer/listeners.ts';
import type { KubeService } from '../../../lib/kubernetes/types.ts';
import { configFrom, kubeService, tcpPort } from './support.ts';

type Values = Parameters<typeof configFrom>[0];
type Defaults = Parameters<typeof configFrom>[1];

const listenersOf = (
  values: Values,
  fields: Partial<KubeService> = {},
  certificates: readonly number[] = [],
  defaults: Defaults = {},
) => desiredListeners(kubeService(fields), configFrom(values, defaults), certificates);

const only = (...all: Parameters<typeof listenersOf>) => {
  const { listeners, problems } = listenersOf(...all);
  assert.deepEqual([listeners.length, problems], [1, []]);
  return listeners[0] as (typeof listeners)[0];
};
const checkOf = (...all: Parameters<typeof listenersOf>) => only(...all).healthCheck;
const portsOf = (...all: Parameters<typeof listenersOf>) => listenersOf(...all).listeners.map(one => one.listenPort);

const local = { externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 } as const;
const udp = (port: number) => ({ ...tcpPort(port), protocol: 'UDP' });

describe('listeners of a Service', () => {
  it('lead each TCP port to its node port and say nothing of what nobody chose', () => {
    assert.deepEqual(listenersOf({}, { ports: [tcpPort(80), tcpPort(443)] }).listeners, [
      { listenPort: 80, destinationPort: 30_080, protocol: 'tcp', healthCheck: { protocol: 'tcp', port: 30_080 } },
      { listenPort: 443, destinationPort: 30_443, protocol: 'tcp', healthCheck: { protocol: 'tcp', port: 30_443 } },
    ]);
  });

  it('BUG-035: leave out UDP and SCTP, beside TCP on the same port too, and name them', () => {
    const { listeners, problems } = listenersOf(
      {},
      { ports: [tcpPort(80), tcpPort(443), udp(443), { ...tcpPort(9), protocol: 'SCTP' }] },
    );
    assert.deepEqual(
      listeners.map(one => one.listenPort),
      [80, 443],
    );
    assert.deepEqual(
      problems.map(one => one.reason),
      ['UnsupportedProtocolConfigured', 'UnsupportedProtocolConfigured'],
    );
    assert.deepEqual(listenersOf({}, { ports: [udp(53)] }).listeners, []);
  });

  it('leave out ports without a node port and name the field that makes them so', () => {
    const { listeners, problems } = listenersOf({}, { ports: [tcpPort(80, 0), tcpPort(81)] });
    assert.deepEqual(
      listeners.map(one => one.listenPort),
      [81],
    );
    assert.match(problems[0]?.text ?? '', /^port 80 .*allocateLoadBalancerNodePorts/);
  });

  it('have the PROXY protocol of annotation or default, or leave it', () => {
    assert.equal('proxyProtocol' in only({}), false);
    assert.equal(only({ 'uses-proxyprotocol': 'true' }).proxyProtocol, true);
    assert.equal(only({}, {}, [], { usesProxyProtocol: true }).proxyProtocol, true);
    assert.equal(only({ 'uses-proxyprotocol': 'false' }, {}, [], { usesProxyProtocol: true }).proxyProtocol, false);
  });

  it('have http options with http and https only', () => {
    const values = {
      'http-cookie-name': 'C',
      'http-cookie-lifetime': '1m',
      'http-timeout-idle': '40',
      'http-sticky-sessions': 'true',
      'http-redirect-http': 'true',
    };
    assert.equal(only(values).http, undefined);
    const http = { cookieName: 'C', cookieLifetime: 60, timeoutIdle: 40, stickySessions: true };
    assert.deepEqual(only({ ...values, protocol: 'http' }).http, http);
    const https = only({ ...values, protocol: 'https' }, { ports: [tcpPort(443)] }, [9, 3]).http;
    assert.deepEqual(https, { ...http, redirectHTTP: true, certificates: [3, 9] });
  });

  it('BUG-054: are not made for https without a certificate, and say what to set', () => {
    const { listeners, problems } = listenersOf({ protocol: 'https' }, { ports: [tcpPort(443)] }, []);
    assert.deepEqual(listeners, []);
    assert.match(problems[0]?.text ?? '', /http-certificates.*certificate-type managed/);
  });

  it('#291: give port 80 to the redirect of port 443, and only then', () => {
    const redirect = { protocol: 'https', 'http-redirect-http': 'true' } as const;
    const ports = (...all: number[]) => ({ ports: all.map(port => tcpPort(port)) });
    assert.deepEqual(portsOf(redirect, ports(80, 443), [1]), [443]);
    assert.deepEqual(portsOf(redirect, ports(80, 8443), [1]), [80, 8443], 'nothing redirects');
    assert.deepEqual(portsOf(redirect, { ports: [tcpPort(80), tcpPort(443, 0)] }, [1]), [80], '443 can not be had');
    assert.deepEqual(portsOf(redirect, ports(80), [1]), [80]);
    assert.deepEqual(portsOf({ ...redirect, protocol: 'http' }, ports(80, 443)), [80, 443]);
    const [eighty, tls] = listenersOf({ protocol: 'https' }, ports(80, 443), [1]).listeners;
    assert.deepEqual(
      [eighty?.http?.redirectHTTP, tls?.http?.redirectHTTP],
      [false, false],
      'a left-over redirect goes',
    );
    assert.equal('redirectHTTP' in (only({ protocol: 'https' }, ports(443), [1]).http ?? {}), false);
  });

  const rows: readonly (readonly [string, Values, Partial<KubeService>, unknown, Defaults?])[] = [
    ['is tcp at the node port by default', {}, {}, { protocol: 'tcp', port: 30_080 }],
    ['is tcp by default for http too', { protocol: 'http' }, {}, { protocol: 'tcp', port: 30_080 }],
    [
      'follows the protocol once a timing is set',
      { protocol: 'http', 'health-check-interval': '5' },
      {},
      { protocol: 'http', port: 30_080, interval: 5, http: {} },
    ],
    [
      'follows it for a default timing',
      { protocol: 'http' },
      {},
      { protocol: 'http', port: 30_080, timeout: 4, http: {} },
      { healthCheckTimeout: 4_000 },
    ],
    [
      'follows it once a port is set',
      { protocol: 'http', 'health-check-port': '99' },
      {},
      { protocol: 'http', port: 99, http: {} },
    ],
    [
      'is not made http by options alone',
      { protocol: 'http', 'health-check-http-path': '/x' },
      {},
      { protocol: 'tcp', port: 30_080 },
    ],
    [
      'ignores http options with tcp',
      { 'health-check-protocol': 'tcp', 'health-check-http-path': '/x' },
      {},
      { protocol: 'tcp', port: 30_080 },
    ],
    [
      'has all of its options',
      {
        'health-check-protocol': 'http',
        'health-check-http-path': '/x',
        'health-check-http-domain': 'd',
        'http-status-codes': '200,204',
        'health-check-retries': '2',
      },
      {},
      { protocol: 'http', port: 30_080, retries: 2, http: { path: '/x', domain: 'd', statusCodes: ['200', '204'] } },
    ],
    [
      'speaks TLS as https',
      { 'health-check-protocol': 'https' },
      {},
      { protocol: 'http', port: 30_080, http: { tls: true } },
    ],
    [
      'speaks TLS as told',
      { 'health-check-protocol': 'http', 'health-check-http-validate-certificate': 'true' },
      {},
      { protocol: 'http', port: 30_080, http: { tls: true } },
    ],
    [
      'asks kube-proxy with externalTrafficPolicy Local',
      {},
      local,
      { protocol: 'http', port: 32_000, http: { path: '/healthz', statusCodes: ['200'], tls: false } },
    ],
    [
      'keeps its timing with Local',
      { 'health-check-interval': '7' },
      local,
      { protocol: 'http', port: 32_000, interval: 7, http: { path: '/healthz', statusCodes: ['200'], tls: false } },
    ],
    [
      'does what the user says with Local',
      { 'health-check-protocol': 'tcp' },
      local,
      { protocol: 'tcp', port: 30_080 },
    ],
    [
      'does what the user says of its port with Local',
      { 'health-check-port': '9' },
      local,
      { protocol: 'tcp', port: 9 },
    ],
    [
      'is usual while Local has no port yet',
      {},
      { ...local, healthCheckNodePort: 0 },
      { protocol: 'tcp', port: 30_080 },
    ],
  ];
  for (const [title, values, fields, expected, defaults] of rows) {
    it(`have a health check that ${title}`, () => {
      assert.deepEqual(checkOf(values, fields, [], defaults), expected);
    });
  }

  it('do not keep the question for kube-proxy when the health check is another again', () => {
    const mine = only({ 'health-check-protocol': 'http' });
    const local200 = { domain: undefined, path: '/healthz', response: '', statusCodes: ['200'], tls: false };
    assert.equal(isLocalCheck({ http: local200 }), true);
    assert.equal(isLocalCheck({ http: { ...local200, path: '/' } }), false);
    assert.equal(isLocalCheck({ http: undefined }), false);
    assert.deepEqual(withoutLocalCheck(mine).healthCheck?.http, { path: '/', statusCodes: ['2??', '3??'] });
    const chosen = only({ 'health-check-protocol': 'http', 'health-check-http-path': '/mine' });
    assert.deepEqual(withoutLocalCheck(chosen).healthCheck?.http, { path: '/mine', statusCodes: ['2??', '3??'] });
    assert.deepEqual(withoutLocalCheck(only({})), only({}));
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DecodeError } from '../../lib/hetzner/decode.ts';
import { decodeCertificate, decodeLoadBalancer, decodeLoadBalancerType } from '../../lib/hetzner/lb-decode.ts';

const check = { protocol: 'tcp', port: 30080, interval: 15, timeout: 10, retries: 3 };
const http = { cookie_name: 'C', cookie_lifetime: 300, timeout_idle: 50, sticky_sessions: true };
const tcp = { protocol: 'tcp', listen_port: 53, destination_port: 30053, proxyprotocol: true, health_check: check };
const https = {
  protocol: 'https',
  listen_port: 443,
  destination_port: 30443,
  proxyprotocol: false,
  health_check: {
    ...check,
    protocol: 'http',
    http: { domain: 'example.com', path: '/ok', response: 'yes', status_codes: ['2??'], tls: true },
  },
  http: { ...http, certificates: [5], redirect_http: true },
};
const health = [{ listen_port: 53, status: 'healthy' }];
const serverTarget = {
  type: 'server',
  server: { id: 42, ip: '10.0.0.3' },
  use_private_ip: true,
  health_status: health,
};

const type = {
  id: 1,
  name: 'lb11',
  max_services: 5,
  max_targets: 25,
  max_assigned_certificates: 10,
  deprecation: { announced: '2026-01-01T00:00:00Z', unavailable_after: '2026-02-01T00:00:00Z' },
};

const loadBalancer = {
  id: 7,
  name: 'lb',
  labels: { a: 'b', odd: 1 },
  created: '2026-01-30T23:55:00+00:00',
  public_net: {
    enabled: false,
    ipv4: { ip: '203.0.113.7', dns_ptr: 'lb.example.com' },
    ipv6: { ip: '2001:db8:7::1', dns_ptr: null },
  },
  private_net: [{ network: 9, ip: '10.0.0.7' }],
  location: { name: 'fsn1', network_zone: 'eu-central' },
  load_balancer_type: type,
  algorithm: { type: 'round_robin' },
  services: [tcp, https],
  targets: [
    serverTarget,
    { type: 'label_selector', label_selector: { selector: 'x=y' }, use_private_ip: false, targets: [serverTarget] },
    { type: 'ip', ip: { ip: '198.51.100.21' }, health_status: health },
    { type: 'something_new', something_new: {} },
  ],
  protection: { delete: true },
};

const decodedServer = {
  type: 'server',
  serverID: 42,
  ip: '10.0.0.3',
  usePrivateIP: true,
  health: [{ listenPort: 53, status: 'healthy' }],
};

describe('a load balancer', () => {
  it('is read with its listeners, targets, addresses and limits', () => {
    const decodedCheck = { ...check, http: undefined };
    assert.deepEqual(decodeLoadBalancer(loadBalancer), {
      id: 7,
      name: 'lb',
      labels: { a: 'b' },
      created: Date.parse('2026-01-30T23:55:00Z'),
      publicNet: {
        enabled: false,
        ipv4: { ip: '203.0.113.7', dnsPtr: 'lb.example.com' },
        ipv6: { ip: '2001:db8:7::1', dnsPtr: undefined },
      },
      privateNets: [{ network: 9, ip: '10.0.0.7' }],
      location: 'fsn1',
      networkZone: 'eu-central',
      type: {
        id: 1,
        name: 'lb11',
        maxServices: 5,
        maxTargets: 25,
        maxCertificates: 10,
        unavailableAfter: Date.parse('2026-02-01T00:00:00Z'),
      },
      algorithm: 'round_robin',
      services: [
        {
          protocol: 'tcp',
          listenPort: 53,
          destinationPort: 30053,
          proxyProtocol: true,
          healthCheck: decodedCheck,
          http: undefined,
        },
        {
          protocol: 'https',
          listenPort: 443,
          destinationPort: 30443,
          proxyProtocol: false,
          healthCheck: {
            ...decodedCheck,
            protocol: 'http',
            http: { domain: 'example.com', path: '/ok', response: 'yes', statusCodes: ['2??'], tls: true },
          },
          http: {
            cookieName: 'C',
            cookieLifetime: 300,
            timeoutIdle: 50,
            stickySessions: true,
            certificates: [5],
            redirectHTTP: true,
          },
        },
      ],
      targets: [
        decodedServer,
        { type: 'label_selector', selector: 'x=y', usePrivateIP: false, targets: [decodedServer] },
        { type: 'ip', ip: '198.51.100.21', health: [{ listenPort: 53, status: 'healthy' }] },
      ],
      isProtected: true,
    });
  });

  it('has defaults for all but id, name, services and targets', () => {
    assert.deepEqual(decodeLoadBalancer({ id: 1, name: 'a', services: [], targets: [] }), {
      id: 1,
      name: 'a',
      labels: {},
      created: 0,
      publicNet: { enabled: true, ipv4: undefined, ipv6: undefined },
      privateNets: [],
      location: '',
      networkZone: '',
      type: {
        id: 0,
        name: '',
        maxServices: undefined,
        maxTargets: undefined,
        maxCertificates: undefined,
        unavailableAfter: undefined,
      },
      algorithm: '',
      services: [],
      targets: [],
      isProtected: false,
    });
  });

  it('never has an empty or null address', () => {
    for (const address of [null, {}, { ip: null, dns_ptr: null }, { ip: '' }]) {
      const { publicNet } = decodeLoadBalancer({ ...loadBalancer, public_net: { ipv4: address, ipv6: address } });
      assert.deepEqual([publicNet.ipv4, publicNet.ipv6], [undefined, undefined]);
    }
    const half = { ...loadBalancer, private_net: [{ network: 9 }, { ip: '10.0.0.7' }, null] };
    assert.deepEqual(decodeLoadBalancer(half).privateNets, []);
  });

  const untrusted: [what: string, json: unknown][] = [
    ['without an id', { ...loadBalancer, id: null }],
    ['without a name', { ...loadBalancer, name: '' }],
    ['without services', { ...loadBalancer, services: undefined }],
    ['without targets', { ...loadBalancer, targets: null }],
    ['with a service without a port', { ...loadBalancer, services: [{ protocol: 'tcp' }] }],
    ['with a server target without a server', { ...loadBalancer, targets: [{ type: 'server' }] }],
    ['with an IP target without an address', { ...loadBalancer, targets: [{ type: 'ip', ip: null }] }],
    ['with a selector target without a selector', { ...loadBalancer, targets: [{ type: 'label_selector' }] }],
  ];
  for (const [what, json] of untrusted)
    it(`is not trusted ${what}: what is there would be written again`, () => {
      assert.throws(() => decodeLoadBalancer(json), DecodeError);
    });

  it('of any shape is read or refused, and never crashes', () => {
    const any = fc.jsonValue();
    const wild = fc.record({
      labels: any,
      public_net: any,
      private_net: any,
      location: any,
      load_balancer_type: any,
      services: fc.oneof(any, fc.array(fc.record({ listen_port: any, health_check: any, http: any, protocol: any }))),
      targets: fc.oneof(
        any,
        fc.array(
          fc.record({ type: fc.constantFrom('server', 'ip', 'label_selector'), server: any, ip: any, targets: any }),
        ),
      ),
    });
    fc.assert(
      fc.property(wild, fields => {
        try {
          assert.equal(decodeLoadBalancer({ ...fields, id: 1, name: 'a' }).id, 1);
        } catch (err) {
          assert.ok(err instanceof DecodeError, String(err));
        }
      }),
    );
  });
});

describe('a load balancer type', () => {
  it('is read with its limits, and is not deprecated when it does not say so', () => {
    assert.equal(decodeLoadBalancerType({ ...type, deprecation: null }).unavailableAfter, undefined);
    assert.deepEqual(decodeLoadBalancerType(type), decodeLoadBalancer(loadBalancer).type);
    assert.throws(() => decodeLoadBalancerType({ id: 1 }), DecodeError);
  });
});

describe('a certificate', () => {
  const managed = {
    id: 3,
    name: 'c',
    type: 'managed',
    labels: { a: 'b' },
    domain_names: ['example.com'],
    not_valid_after: null,
    status: { issuance: 'failed', renewal: 'unavailable', error: { code: 'dns_zone_not_found', message: 'no zone' } },
    used_by: [],
  };

  it('is read with its domains, its state and whether it is used', () => {
    assert.deepEqual(decodeCertificate(managed), {
      id: 3,
      name: 'c',
      labels: { a: 'b' },
      type: 'managed',
      domainNames: ['example.com'],
      notValidAfter: undefined,
      status: {
        issuance: 'failed',
        renewal: 'unavailable',
        error: { code: 'dns_zone_not_found', message: 'no zone' },
      },
      isUsed: false,
    });
  });

  it('has a state only when it is managed, and counts as used when nobody knows', () => {
    const plain = decodeCertificate({ id: 3, name: 'c', type: 'uploaded', status: null });
    assert.deepEqual([plain.status, plain.isUsed], [undefined, true]);
    assert.equal(decodeCertificate({ ...managed, status: null }).status?.issuance, 'pending');
    assert.equal(decodeCertificate({ ...managed, used_by: [{ id: 7, type: 'load_balancer' }] }).isUsed, true);
    assert.throws(() => decodeCertificate({ name: 'c' }), DecodeError);
  });
});

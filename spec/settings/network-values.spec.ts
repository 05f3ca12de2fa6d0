import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Parsed } from '../../lib/settings/go-values.ts';
import {
  familyOfCIDR,
  parseBaseURL,
  parseCIDR,
  parseClusterCIDRs,
  parseHostPort,
  parseIPAddress,
} from '../../lib/settings/network-values.ts';

interface Cases {
  readonly what: string;
  readonly parse: (text: string) => Parsed<unknown>;
  readonly accepts: readonly string[];
  readonly refuses: readonly string[];
}

const cases: readonly Cases[] = [
  {
    what: 'an IP address',
    parse: parseIPAddress,
    accepts: ['0.0.0.0', '127.0.0.1', '::', '::1', '2001:db8::1', '::ffff:192.0.2.1'],
    refuses: ['', '256.0.0.1', '1.2.3', '01.2.3.4', 'fe80::1%eth0', '[::1]', 'localhost', ':::'],
  },
  {
    what: 'a CIDR',
    parse: parseCIDR,
    accepts: ['10.244.0.0/16', '10.0.0.1/8', '0.0.0.0/0', '192.0.2.1/32', 'fd00::/48', '::/0', '::1/128'],
    refuses: [
      '',
      '10.0.0.0',
      '10.0.0.0/',
      '10.0.0.0/33',
      '10.0.0/8',
      '10.0.0.0/08',
      '10.0.0.0/8/8',
      '10.0.0.0/-1',
      'fd00::/129',
      'fd00::%1/64',
      'a/8',
      '/8',
    ],
  },
  {
    what: 'the cluster CIDRs',
    parse: parseClusterCIDRs,
    accepts: ['10.244.0.0/16', 'fd00::/48', '10.244.0.0/16,fd00::/48', 'fd00::/48, 10.244.0.0/16'],
    refuses: [
      '',
      ',',
      '10.244.0.0/16,',
      '10.0.0.0/16,10.1.0.0/16',
      'fd00::/48,fd01::/48',
      '10.0.0.0/16,fd00::/48,10.1.0.0/16',
      '10.0.0.0',
    ],
  },
  {
    what: 'a base URL',
    parse: parseBaseURL,
    accepts: [
      'https://api.hetzner.cloud/v1',
      'http://fake-api.test:8080/v1',
      'http://127.0.0.1:1',
      'HTTP://[::1]:80/x',
      'https://a//',
    ],
    refuses: [
      '',
      'api.hetzner.cloud',
      'ftp://a',
      'https://',
      'https:a',
      'http://a b',
      'http://u:p@a',
      'http://a?b',
      'http://a#b',
      'http://a:99999',
    ],
  },
  {
    what: 'a listen address',
    parse: parseHostPort,
    accepts: [':8233', '127.0.0.1:9000', '[::1]:9000', 'localhost:0', 'a.b-c.example:65535', '0.0.0.0:80'],
    refuses: [
      '',
      '8233',
      ':',
      ':65536',
      '::1:9000',
      '[::1]',
      '[127.0.0.1]:80',
      '999.0.0.1:80',
      '[fe80::1%1]:80',
      'a b:80',
      '-a:80',
      ':http',
      'http://a:80',
    ],
  },
];

for (const { what, parse, accepts, refuses } of cases) {
  describe(what, () => {
    for (const text of accepts) it(`may be "${text}"`, () => assert.ok('value' in parse(text)));
    for (const text of refuses) it(`may not be "${text}"`, () => assert.ok('allowed' in parse(text)));
  });
}

describe('network values', () => {
  it('loses the trailing slashes of a base URL only', () => {
    assert.deepEqual(parseBaseURL('https://a/v1//'), { value: 'https://a/v1' });
    assert.deepEqual(parseBaseURL('https://a//v1'), { value: 'https://a//v1' });
  });

  it('tells the family of every CIDR', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.integer({ min: 0, max: 40 }), (ip, prefix) => {
        assert.equal(familyOfCIDR(`${ip}/${prefix}`), prefix <= 32 ? 4 : undefined);
      }),
    );
    fc.assert(
      fc.property(fc.ipV6(), fc.integer({ min: 0, max: 140 }), (ip, prefix) => {
        assert.equal(familyOfCIDR(`${ip}/${prefix}`), prefix <= 128 ? 6 : undefined);
      }),
    );
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string(), text => cases.every(({ parse }) => typeof parse(text) === 'object')));
  });
});

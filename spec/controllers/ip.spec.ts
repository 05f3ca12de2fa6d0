import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { canonicalIP, canonicalIPv4CIDR, contains, isUnspecified, parseIPv4CIDR } from '../../lib/controllers/ip.ts';
import { anyIPv4 } from './support.ts';

const bigOf = (ip: string): bigint => ip.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
const anyCIDR = fc.tuple(anyIPv4, fc.integer({ min: 0, max: 32 }));
const textOf = ([ip, prefix]: readonly [string, number]): string => `${ip}/${prefix}`;

/** The block as bit arithmetic on bigint says it. */
const model = ([ip, prefix]: readonly [string, number]): { first: bigint; last: bigint } => {
  const host = (1n << BigInt(32 - prefix)) - 1n;
  const first = bigOf(ip) & ~host & 0xffff_ffffn;
  return { first, last: first | host };
};

describe('IP arithmetic', () => {
  it('cuts CIDRs as bit arithmetic does', () => {
    fc.assert(
      fc.property(anyCIDR, cidr => {
        const block = parseIPv4CIDR(textOf(cidr));
        assert.ok(block !== undefined);
        const { first, last } = model(cidr);
        assert.deepEqual([BigInt(block.first), BigInt(block.last), block.prefix], [first, last, cidr[1]]);
      }),
    );
  });

  it('spells a CIDR in one way, which is stable and means the same block', () => {
    fc.assert(
      fc.property(anyCIDR, cidr => {
        const canonical = canonicalIPv4CIDR(textOf(cidr));
        assert.ok(canonical !== undefined);
        assert.equal(canonicalIPv4CIDR(canonical), canonical);
        assert.deepEqual(parseIPv4CIDR(canonical), parseIPv4CIDR(textOf(cidr)));
        assert.equal(bigOf(canonical.split('/')[0] as string), model(cidr).first);
      }),
    );
  });

  it('tells whether one block lies in another as bigint comparison does', () => {
    const near = fc.tuple(anyCIDR, anyCIDR, fc.boolean()).map(([a, b, sameAddress]) => {
      const inner: [string, number] = sameAddress ? [a[0], b[1]] : b;
      return [a, inner] as const;
    });
    fc.assert(
      fc.property(near, ([outer, inner]) => {
        const [o, i] = [parseIPv4CIDR(textOf(outer)), parseIPv4CIDR(textOf(inner))];
        assert.ok(o !== undefined && i !== undefined);
        const [m, n] = [model(outer), model(inner)];
        assert.equal(contains(o, i), m.first <= n.first && n.last <= m.last);
      }),
    );
  });

  it('knows blocks from addresses, other families and nonsense, and never throws', () => {
    for (const text of [
      '',
      '/',
      '10.0.0.0',
      '10.0.0.0/',
      '/8',
      '10.0.0.0/33',
      '10.0.0.0/-1',
      '10.0.0.0/+8',
      '10.0.0.0/8.0',
      '10.0.0.0/ 8',
      ' 10.0.0.0/8',
      '10.0.0.0/8/8',
      '10.0.0/8',
      '010.0.0.0/8',
      '256.0.0.0/8',
      '10.0.0.0/1e1',
      '2001:db8::/32',
      '::ffff:10.0.0.0/104',
    ]) {
      assert.equal(parseIPv4CIDR(text), undefined, JSON.stringify(text));
      assert.equal(canonicalIPv4CIDR(text), undefined, JSON.stringify(text));
    }
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV6(), fc.ipV4Extended()), text => {
        parseIPv4CIDR(text);
        canonicalIP(text);
        isUnspecified(text);
      }),
    );
  });

  it('gives two spellings of one address the same text, and none to what is no address', () => {
    assert.equal(canonicalIP('2001:DB8:0:0::0:1'), canonicalIP('2001:db8::1'));
    assert.equal(canonicalIP('10.0.0.1'), '10.0.0.1');
    assert.notEqual(canonicalIP('2001:db8::1'), canonicalIP('2001:db8::2'));
    for (const text of ['', 'fe80::1%eth0', '10.0.0', 'w1', '10.0.0.1/8']) assert.equal(canonicalIP(text), undefined);
    fc.assert(
      fc.property(fc.ipV6(), ip => {
        const canonical = canonicalIP(ip);
        assert.ok(canonical !== undefined && isIP(canonical) === 6);
        assert.equal(canonicalIP(canonical), canonical);
        assert.equal(canonicalIP(ip.toUpperCase()), canonical);
      }),
    );
  });

  it('takes only the two addresses of no host for unspecified', () => {
    for (const text of ['0.0.0.0', '::', '0:0:0:0:0:0:0:0', '0::0']) assert.equal(isUnspecified(text), true, text);
    for (const text of ['', '0.0.0.1', '::1', '0', '0.0.0.0/0']) assert.equal(isUnspecified(text), false, text);
  });
});

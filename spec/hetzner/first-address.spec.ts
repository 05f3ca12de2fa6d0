import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { firstAddress } from '../../lib/hetzner/first-address.ts';

describe('the first address of an IPv6 network', () => {
  const table: ReadonlyArray<readonly [string, string | undefined]> = [
    ['2001:db8::/64', '2001:db8::1'],
    ['2001:db8:0:0:0:0:0:0/64', '2001:db8::1'],
    ['2001:0DB8:00AB::/64', '2001:db8:ab::1'],
    ['2a01:4f8:c2c:1234::/64', '2a01:4f8:c2c:1234::1'],
    ['2001:db8:1:2:3:4:5:6/64', '2001:db8:1:2::1'],
    ['2001:db8:1:2:3:4:5:6/40', '2001:db8::1'],
    ['2001:db8:1:2:3:4:5:6/56', '2001:db8:1::1'],
    ['2001:db8::4/128', '2001:db8::4'],
    ['2001:db8::', '2001:db8::1'],
    ['::/0', '::1'],
    ['::ffff:10.1.2.3/96', '::ffff:0:1'],
    ['::ffff:10.1.2.0/120', '::ffff:a01:201'],
    ['', undefined],
    ['10.0.0.0/8', undefined],
    ['fe80::1%eth0/64', undefined],
    ['2001:db8::/129', undefined],
    ['2001:db8::/x', undefined],
    ['2001:db8::/64/1', undefined],
    ['nonsense', undefined],
  ];
  for (const [network, expected] of table) {
    it(`of "${network}" is ${expected}`, () => assert.equal(firstAddress(network), expected));
  }

  it('is the same for each way to write the network', () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(fc.tuple(group, group, group, group), groups => {
        const long = groups.map(g => g.toString(16).padStart(4, '0').toUpperCase()).join(':');
        const short = groups.map(g => g.toString(16)).join(':');
        const found = firstAddress(`${long}:0000:0000:0000:0000/64`);
        assert.equal(found, firstAddress(`${short}::/64`));
        assert.equal(found, new URL(`http://[${short}::1]`).hostname.slice(1, -1));
      }),
    );
  });
});

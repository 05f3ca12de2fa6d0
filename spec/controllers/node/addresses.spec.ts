import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  addressesText,
  preferProvided,
  sameAddresses,
  serverAddresses,
} from '../../../lib/controllers/node/addresses.ts';
import type { NodeAddress } from '../../../lib/kubernetes/types.ts';
import type { AddressFamily } from '../../../lib/settings/settings.ts';
import { networkID, server } from '../support.ts';

const nets = [
  { network: networkID, ip: '10.0.1.11', aliasIPs: ['10.0.0.254'] },
  { network: 8, ip: '10.8.0.11', aliasIPs: [] },
];
const full = server(11, { ipv6: '2001:db8:11::1', privateNets: nets });

describe('addresses of a server', () => {
  it('follow the family, public IPv4 first, private ones last, of the one network, without aliases (BUG-005)', () => {
    const of = (family: AddressFamily, network: number | undefined) =>
      addressesText(serverAddresses(full, { family, networkID: network }));
    const v4 = 'ExternalIP=203.0.113.11';
    const v6 = 'ExternalIP=2001:db8:11::1';
    const internal = 'InternalIP=10.0.1.11';
    assert.equal(of('ipv4', networkID), `Hostname=w11 ${v4} ${internal}`);
    assert.equal(of('ipv6', networkID), `Hostname=w11 ${v6} ${internal}`);
    assert.equal(of('dualstack', networkID), `Hostname=w11 ${v4} ${v6} ${internal}`);
    assert.equal(of('dualstack', 8), `Hostname=w11 ${v4} ${v6} InternalIP=10.8.0.11`);
    assert.equal(of('dualstack', undefined), `Hostname=w11 ${v4} ${v6}`);
    assert.equal(of('dualstack', 99), `Hostname=w11 ${v4} ${v6}`);
  });

  it('are exactly the name and the private one where there is no public one (BUG-004)', () => {
    const bare = server(11, { ipv4: undefined });
    for (const family of ['ipv4', 'ipv6', 'dualstack'] as const) {
      assert.equal(addressesText(serverAddresses(bare, { family, networkID })), 'Hostname=w11 InternalIP=10.0.1.11');
    }
  });
});

describe('the address kubelet announced', () => {
  const offered = serverAddresses(full, { family: 'dualstack', networkID });
  const prefer = (annotation: string | undefined, from: readonly NodeAddress[] = offered): string => {
    const result = preferProvided(from, annotation);
    return 'missing' in result ? `missing ${result.missing.join()}` : addressesText(result.addresses);
  };
  const all = addressesText(offered);

  for (const [name, annotation, expected] of [
    ['none: what is offered', undefined, all],
    ['an empty one: what is offered', '', all],
    ['only wishes for a family: what is offered', '0.0.0.0, ::', all],
    [
      'the private one: first, others of its type go',
      '10.0.1.11',
      'InternalIP=10.0.1.11 Hostname=w11 ExternalIP=203.0.113.11 ExternalIP=2001:db8:11::1',
    ],
    [
      'the public one: the other public one goes',
      '203.0.113.11',
      'ExternalIP=203.0.113.11 Hostname=w11 InternalIP=10.0.1.11',
    ],
    [
      'both families, in the order announced',
      '2001:DB8:11:0::1,203.0.113.11',
      'ExternalIP=2001:db8:11::1 ExternalIP=203.0.113.11 Hostname=w11 InternalIP=10.0.1.11',
    ],
    ['two types', ' 10.0.1.11 , 2001:db8:11::1 ', 'InternalIP=10.0.1.11 ExternalIP=2001:db8:11::1 Hostname=w11'],
    [
      'an address and a wish',
      '10.0.1.11,::',
      'InternalIP=10.0.1.11 Hostname=w11 ExternalIP=203.0.113.11 ExternalIP=2001:db8:11::1',
    ],
    [
      'one announced twice',
      '10.0.1.11,10.0.1.11',
      'InternalIP=10.0.1.11 Hostname=w11 ExternalIP=203.0.113.11 ExternalIP=2001:db8:11::1',
    ],
    ['one nobody offers', '10.0.1.12', 'missing 10.0.1.12'],
    ['an alias address', '10.0.0.254', 'missing 10.0.0.254'],
    ['one of two', '10.0.1.11,10.0.1.12', 'missing 10.0.1.12'],
    ['no address at all', 'w11', 'missing w11'],
  ] as const) {
    it(name, () => assert.equal(prefer(annotation), expected));
  }

  it('never is the name, even where that is spelled like an address', () => {
    assert.equal(prefer('10.9.9.9', [{ type: 'Hostname', address: '10.9.9.9' }]), 'missing 10.9.9.9');
  });

  const anyAddress: fc.Arbitrary<NodeAddress> = fc.record({
    type: fc.constantFrom('Hostname' as const, 'InternalIP' as const, 'ExternalIP' as const),
    address: fc.constantFrom('10.0.0.1', '10.0.0.2', '203.0.113.1', '2001:db8::1', '2001:db8::2', 'w1'),
  });
  const anyAnnotation = fc
    .array(
      fc.constantFrom('10.0.0.1', '10.0.0.2', '203.0.113.1', '2001:DB8::1', '2001:db8:0::2', '::', '0.0.0.0', 'x', ''),
      {
        maxLength: 3,
      },
    )
    .map(ips => ips.join());

  it('is preferred to the same effect the second time, and nothing that was not offered is made up', () => {
    fc.assert(
      fc.property(fc.array(anyAddress, { maxLength: 6 }), anyAnnotation, (addresses, annotation) => {
        const once = preferProvided(addresses, annotation);
        if ('missing' in once) return;
        const twice = preferProvided(once.addresses, annotation);
        assert.ok('addresses' in twice && sameAddresses(twice.addresses, once.addresses));
        for (const address of once.addresses) assert.ok(addresses.includes(address));
        const types = (list: readonly NodeAddress[]) => [...new Set(list.map(a => a.type))].sort();
        assert.deepEqual(types(once.addresses), types(addresses));
      }),
    );
  });
});

describe('two lists of addresses', () => {
  it('are the same only with the same entries in the same order', () => {
    const a: NodeAddress = { type: 'InternalIP', address: '10.0.0.1' };
    const b: NodeAddress = { type: 'ExternalIP', address: '10.0.0.1' };
    const c: NodeAddress = { type: 'InternalIP', address: '10.0.0.2' };
    assert.equal(sameAddresses([a, b], [{ ...a }, { ...b }]), true);
    for (const other of [[b, a], [a], [a, b, c], [a, c], [c, b], [a, a]]) {
      assert.equal(sameAddresses([a, b], other), false);
      assert.equal(sameAddresses(other, [a, b]), false);
    }
  });
});

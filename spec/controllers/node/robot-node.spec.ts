import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { robotLabels } from '../../../lib/controllers/node/labels.ts';
import { robotAddresses } from '../../../lib/controllers/node/robot-addresses.ts';
import { decodeRobotServers, type RobotServer } from '../../../lib/hetzner/robot-server.ts';
import type { NodeAddress } from '../../../lib/kubernetes/types.ts';
import type { AddressFamily } from '../../../lib/settings/settings.ts';

/** As Robot answers it. */
const server = (fields: Readonly<Record<string, unknown>> = {}): RobotServer =>
  decodeRobotServers([
    {
      server: {
        server_number: 321,
        server_name: 'bm1',
        product: 'AX41-NVMe',
        dc: 'FSN1-DC7',
        server_ip: '198.51.100.21',
        server_ipv6_net: '2001:db8:9::',
        subnet: [{ ip: '2001:db8:9::', mask: '64' }],
        ...fields,
      },
    },
  ])[0] as RobotServer;

describe('labels of a Robot server', () => {
  const values = (fields: Readonly<Record<string, unknown>>) => {
    const { wellKnown, additional } = robotLabels(server(fields));
    const of = (name: string) => wellKnown[name];
    for (const [beta, stable] of [
      ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
      ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
      ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
    ] as const)
      assert.equal(of(beta), of(stable));
    assert.deepEqual(additional, { 'instance.hetzner.cloud/provided-by': 'robot' });
    return [
      of('node.kubernetes.io/instance-type'),
      of('topology.kubernetes.io/region'),
      of('topology.kubernetes.io/zone'),
    ];
  };

  it('BUG-007: are legal values made of product and data centre', () => {
    assert.deepEqual(values({ product: 'Server Auction (AX41+)' }), ['Server-Auction-AX41', 'fsn1', 'fsn1-dc7']);
  });

  const table: [what: string, fields: Readonly<Record<string, unknown>>, expected: (string | undefined)[]][] = [
    ['an ordinary product', {}, ['AX41-NVMe', 'fsn1', 'fsn1-dc7']],
    ['a product without a legal character', { product: '(+)' }, [undefined, 'fsn1', 'fsn1-dc7']],
    [
      'a product of 80 characters',
      { product: `${'x'.repeat(62)} y${'z'.repeat(16)}` },
      ['x'.repeat(62), 'fsn1', 'fsn1-dc7'],
    ],
    ['a data centre without a number', { dc: 'HEL1' }, ['AX41-NVMe', 'hel1', 'hel1']],
    ['no data centre', { dc: null }, ['AX41-NVMe', undefined, undefined]],
    ['no product', { product: undefined }, [undefined, 'fsn1', 'fsn1-dc7']],
  ];
  for (const [what, fields, expected] of table)
    it(`BUG-007: with ${what} are as expected`, () => assert.deepEqual(values(fields), expected));
});

describe('addresses of a Robot server', () => {
  const v4 = 'ExternalIP=198.51.100.21';
  const v6 = 'ExternalIP=2001:db8:9::1';
  const host = 'Hostname=bm1';
  const texts = (addresses: readonly NodeAddress[]) => addresses.map(({ type, address }) => `${type}=${address}`);
  const internal = (...ips: string[]): NodeAddress[] => ips.map(address => ({ type: 'InternalIP', address }));

  const offered: [family: AddressFamily, fields: Readonly<Record<string, unknown>>, expected: string[]][] = [
    ['ipv4', {}, [host, v4]],
    ['ipv6', {}, [host, v6]],
    ['dualstack', {}, [host, v6, v4]],
    ['dualstack', { server_ip: null }, [host, v6]],
    ['ipv4', { server_ip: null }, [host]],
    ['ipv4', { server_ip: '' }, [host]],
    ['dualstack', { server_ipv6_net: null, subnet: null }, [host, v4]],
    ['dualstack', { server_ipv6_net: '' }, [host, v4]],
    ['ipv6', { server_ipv6_net: undefined }, [host]],
    ['ipv6', { server_ipv6_net: '2001:db8:9::/64' }, [host, v6]],
    ['ipv6', { server_ipv6_net: 'none' }, [host]],
  ];
  for (const [family, fields, expected] of offered)
    it(`are ${expected.join(' ')} for ${family} and ${JSON.stringify(fields)}`, () => {
      const found = robotAddresses(server(fields), { family, forwardInternalIPs: true }, []);
      assert.deepEqual(texts(found.addresses), expected);
      assert.deepEqual(found.misconfigured, []);
    });

  const forwarded: [
    what: string,
    family: AddressFamily,
    present: NodeAddress[],
    kept: string[],
    problems: Readonly<Record<string, string>>,
  ][] = [
    ['a vSwitch address is kept', 'ipv4', internal('10.0.2.2'), ['10.0.2.2'], {}],
    ['one of each family is kept', 'dualstack', internal('10.0.2.2', 'fd00::2'), ['10.0.2.2', 'fd00::2'], {}],
    [
      'the public address is not kept',
      'ipv4',
      internal('198.51.100.21'),
      [],
      { '198.51.100.21': 'it is the ExternalIP of the node, too' },
    ],
    [
      'the public address is not kept in another spelling',
      'ipv6',
      internal('2001:0db8:9:0::1'),
      [],
      { '2001:0db8:9:0::1': 'it is the ExternalIP of the node, too' },
    ],
    [
      'IPv6 is not kept for ipv4',
      'ipv4',
      internal('fd00::2', '10.0.2.2'),
      ['10.0.2.2'],
      { 'fd00::2': 'HCLOUD_INSTANCES_ADDRESS_FAMILY is ipv4' },
    ],
    [
      'IPv4 is not kept for ipv6',
      'ipv6',
      internal('10.0.2.2'),
      [],
      { '10.0.2.2': 'HCLOUD_INSTANCES_ADDRESS_FAMILY is ipv6' },
    ],
    [
      'one is kept once',
      'dualstack',
      internal('fd00::2', 'fd00:0::2'),
      ['fd00::2'],
      { 'fd00:0::2': 'it is the InternalIP of the node, too' },
    ],
    ['what is no address is not kept', 'dualstack', internal('bm1.lan'), [], { 'bm1.lan': 'it is no IP address' }],
    [
      'other types are Robot’s to say',
      'ipv4',
      [
        { type: 'ExternalIP', address: '203.0.113.1' },
        { type: 'Hostname', address: 'old' },
        { type: 'InternalDNS', address: 'x' },
      ],
      [],
      {},
    ],
  ];
  for (const [what, family, present, kept, problems] of forwarded) {
    it(`BUG-061: ${what}`, () => {
      const settings = { family, forwardInternalIPs: true };
      const { addresses, misconfigured } = robotAddresses(server(), settings, present);
      const own = robotAddresses(server(), settings, []).addresses;
      assert.deepEqual(texts(addresses), [...texts(own), ...kept.map(ip => `InternalIP=${ip}`)]);
      assert.deepEqual(Object.fromEntries(misconfigured.map(one => [one.address, one.problem])), problems);
      const again = robotAddresses(server(), settings, addresses);
      assert.deepEqual(again, { addresses, misconfigured: [] }, 'not the same from its own result');
    });

    it(`BUG-061: without forwarding nothing is kept and nothing complained about, also when ${what} otherwise`, () => {
      const found = robotAddresses(server(), { family, forwardInternalIPs: false }, present);
      assert.deepEqual(found.addresses, robotAddresses(server(), { family, forwardInternalIPs: true }, []).addresses);
      assert.deepEqual(found.misconfigured, []);
    });
  }
});

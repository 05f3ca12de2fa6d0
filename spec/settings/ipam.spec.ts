import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accepted, type Input, refused, warningsOf } from './load-with.ts';

const cluster = '--cluster-cidr=10.244.0.0/16';
const ipam = (argv: readonly string[], env: Record<string, string> = {}): Input => ({
  argv,
  env: { HCLOUD_NODE_IPAM: 'true', ...env },
});
const set = (name: string, value: string, by: string): string => `${name}="${value}" (set by ${by})`;
const on = set('HCLOUD_NODE_IPAM', 'true', 'environment variable');

describe('the allocation of pod CIDRs', () => {
  it('is off unless HCLOUD_NODE_IPAM says so, whatever --allocate-node-cidrs says', () => {
    for (const argv of [[cluster], [cluster, '--allocate-node-cidrs=true'], [cluster, '--controllers=nodeipam']]) {
      assert.equal(accepted({ argv }).settings.controllers.ipam, false);
    }
    assert.equal(accepted(ipam([cluster])).settings.controllers.ipam, true);
    assert.equal(accepted(ipam([cluster, '--allocate-node-cidrs=false'])).settings.controllers.ipam, true);
  });

  it('can be switched off by the list of controllers, which is said', () => {
    const input = ipam([cluster, '--controllers=*,-node-ipam-controller']);
    assert.equal(accepted(input).settings.controllers.ipam, false);
    assert.deepEqual(warningsOf(input), [
      'Left the IPAM controller idle: --controllers: add node-ipam-controller to the list, or unset HCLOUD_NODE_IPAM',
    ]);
  });

  it('takes the IPv4 cluster CIDR where networks have no ranges, whether or not routes are written', () => {
    const { settings } = accepted(ipam(['--cluster-cidr=fd00::/48,10.244.0.0/16']));
    assert.deepEqual(settings.ipam, { clusterCIDR: '10.244.0.0/16', maskSize: 24 });
    assert.deepEqual(settings.routes.clusterCIDRs, []);
    assert.equal(accepted({ argv: [cluster] }).settings.ipam.clusterCIDR, undefined);
  });

  it('takes the ranges of the networks where there are some', () => {
    const env = { HCLOUD_NETWORK: 'k8s', HCLOUD_NETWORK_POD_CIDRS: 'k8s=10.244.0.0/17' };
    assert.deepEqual(accepted(ipam([cluster], env)).settings.ipam, { clusterCIDR: undefined, maskSize: 24 });
  });

  it('has the sizes of upstream, under the names of upstream and one of ours', () => {
    const size = (argv: readonly string[], env: Record<string, string> = {}): number =>
      accepted(ipam([cluster, ...argv], env)).settings.ipam.maskSize;
    const env = { HCLOUD_NODE_CIDR_MASK_SIZE: '26' };
    assert.equal(size([], env), 26);
    assert.equal(size(['--node-cidr-mask-size=25'], env), 25);
    assert.equal(size(['--node-cidr-mask-size=25', '--node-cidr-mask-size-ipv4=27'], env), 27);
  });

  const network = { HCLOUD_NETWORK: 'k8s' };
  for (const [what, input, message] of [
    [
      'a selector: another instance would allocate from the same ranges',
      ipam([cluster], { HCLOUD_SERVER_LABEL_SELECTOR: 'a=b' }),
      `${on} is invalid with ${set('HCLOUD_SERVER_LABEL_SELECTOR', 'a=b', 'environment variable')}: must be set where one instance looks after all nodes, or two would allocate from the same ranges`,
    ],
    [
      'no election: another replica would allocate from the same ranges',
      ipam([cluster, '--leader-elect=false']),
      `${on} is invalid with ${set('--leader-elect', 'false', 'flag')}: must be set where a leader is elected, or two processes would allocate from the same ranges`,
    ],
    [
      'no range',
      ipam([]),
      `${on} is invalid: must have an IPv4 range to allocate from, in --cluster-cidr or HCLOUD_NETWORK_POD_CIDRS`,
    ],
    [
      'a range of IPv6 only',
      ipam(['--cluster-cidr=fd00::/48']),
      `${on} is invalid with ${set('--cluster-cidr', 'fd00::/48', 'flag')}: must have an IPv4 range to allocate from, in --cluster-cidr or HCLOUD_NETWORK_POD_CIDRS`,
    ],
    [
      'blocks that are larger than the range',
      ipam(['--cluster-cidr=10.244.0.0/25']),
      `HCLOUD_NODE_CIDR_MASK_SIZE="24" (default) is invalid: must be from 25 to 30 with ${set('--cluster-cidr', '10.244.0.0/25', 'flag')}`,
    ],
    [
      'blocks that are larger than the range of one network',
      ipam(['--cluster-cidr=10.0.0.0/8', '--node-cidr-mask-size-ipv4=20'], {
        ...network,
        HCLOUD_NETWORK_POD_CIDRS: 'k8s=10.1.0.0/16,b=10.2.0.0/22',
      }),
      `${set('--node-cidr-mask-size-ipv4', '20', 'flag')} is invalid: must be from 22 to 30 with ${set('HCLOUD_NETWORK_POD_CIDRS', 'k8s=10.1.0.0/16,b=10.2.0.0/22', 'environment variable')}`,
    ],
    [
      'more blocks than can be kept count of',
      ipam(['--cluster-cidr=10.0.0.0/8', '--node-cidr-mask-size=25']),
      `${set('--node-cidr-mask-size', '25', 'flag')} is invalid: must be from 8 to 24 with ${set('--cluster-cidr', '10.0.0.0/8', 'flag')}`,
    ],
    [
      'ranges that no size fits both of',
      ipam(['--cluster-cidr=0.0.0.0/0'], { ...network, HCLOUD_NETWORK_POD_CIDRS: 'k8s=10.0.0.0/8,b=11.1.1.0/28' }),
      `${set('HCLOUD_NETWORK_POD_CIDRS', 'k8s=10.0.0.0/8,b=11.1.1.0/28', 'environment variable')} is invalid: prefix lengths must be at most 30, and 16 apart`,
    ],
  ] as const) {
    it(`is refused with ${what}`, () => assert.deepEqual(refused(input), [message]));
  }

  it('has no rules while it is off', () => {
    accepted({ argv: ['--leader-elect=false', '--node-cidr-mask-size=30'], env: { HCLOUD_NODE_IPAM: 'false' } });
  });
});

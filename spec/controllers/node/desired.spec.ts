import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addressesText } from '../../../lib/controllers/node/addresses.ts';
import { desiredNode, type NodeSettings } from '../../../lib/controllers/node/desired.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { node } from '../../kubernetes/support.ts';
import { networkID, server } from '../support.ts';

const settings: NodeSettings = { family: 'ipv4', networkID, zoneLabelEnabled: true, forwardInternalIPs: false };
const announcing = (ip: string) => node('w11', { annotations: { 'alpha.kubernetes.io/provided-node-ip': ip } });
const problemOf = (ip: string, more: Partial<NodeSettings> = {}, of = server(11)): string => {
  const desired = desiredNode(announcing(ip), { kind: 'cloud', server: of }, { ...settings, ...more });
  return 'problem' in desired ? desired.problem : `none: ${addressesText(desired.node.addresses)}`;
};

describe('what a node should say about its machine', () => {
  it('is told from the server and the settings', () => {
    const desired = desiredNode(announcing('10.0.1.11'), { kind: 'cloud', server: server(11) }, settings);
    assert.ok('node' in desired);
    assert.equal(desired.node.providerID, 'hcloud://11');
    assert.equal(desired.node.labels.wellKnown['topology.kubernetes.io/zone'], 'fsn1-dc14');
    assert.equal(addressesText(desired.node.addresses), 'InternalIP=10.0.1.11 Hostname=w11 ExternalIP=203.0.113.11');
  });

  it('keeps the host name that its kubelet announced, whatever the server is called by now', () => {
    const renamed = { kind: 'cloud', server: server(11, { name: 'other' }) } as const;
    const hostnames = (of: KubeNode): string[] => {
      const desired = desiredNode(of, renamed, settings);
      assert.ok('node' in desired);
      return desired.node.addresses.filter(({ type }) => type === 'Hostname').map(({ address }) => address);
    };
    const announced = { type: 'Hostname', address: 'w11.example' } as const;
    assert.deepEqual(hostnames(node('w11', { addresses: [announced] })), ['w11.example']);
    assert.deepEqual(hostnames(node('w11', { addresses: [] })), ['w11']);
  });

  it('cannot be told when nobody offers the announced address; the problem names it, the offer and the cause (BUG-003)', () => {
    const nameOfNetwork = (id: number) => (id === 8 ? 'other' : undefined);
    const offer = 'server 11 offers Hostname=w11 ExternalIP=203.0.113.11';
    assert.equal(
      problemOf('10.0.1.11', { networkID: undefined }),
      `kubelet announced node IP 10.0.1.11, but ${offer}; HCLOUD_NETWORK is not set, so private addresses are not offered`,
    );
    assert.equal(
      problemOf('10.0.1.11', { networkID: 8, nameOfNetwork }),
      `kubelet announced node IP 10.0.1.11, but ${offer}; the server has that address in network 7, HCLOUD_NETWORK is other (8)`,
    );
    assert.equal(
      problemOf('10.0.1.11', { nameOfNetwork: () => 'k8s' }, server(11, { privateNets: [] })),
      `kubelet announced node IP 10.0.1.11, but ${offer}; server 11 is not attached to the network of HCLOUD_NETWORK, k8s (7)`,
    );
    assert.equal(
      problemOf('192.168.1.1,2001:db8::1'),
      `kubelet announced node IPs 192.168.1.1, 2001:db8::1, but ${offer} InternalIP=10.0.1.11; check --node-ip of the kubelet and HCLOUD_INSTANCES_ADDRESS_FAMILY`,
    );
  });
});

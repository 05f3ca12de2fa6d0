import assert from 'node:assert/strict';
import { it } from 'node:test';
import { previewPodCIDRs } from '../../../lib/controllers/ipam/preview.ts';
import { nodeNetworks } from '../../../lib/controllers/networks.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import { joiningNode, networkID, routedNode, server } from '../support.ts';

const [here, there] = [networkID, networkID + 1];
const networks = nodeNetworks(() => {
  const all = [
    { id: here, name: 'here', ipRange: '10.0.0.0/16' },
    { id: there, name: 'there', ipRange: '10.1.0.0/16' },
  ] as const;
  return { primary: all[0], controlPlane: undefined, all, podCIDRs: new Map([[here, '10.244.0.0/23']]), gateways: [] };
});
const attachedTo = (id: number, ...ids: number[]) =>
  server(id, { privateNets: ids.map(network => ({ network, ip: `10.0.1.${id}`, aliasIPs: [] })) });

it('shows which pod CIDRs nodes would get, and why others get none; applied, it shows nothing more', () => {
  const servers = createServerList(
    [attachedTo(1, here), attachedTo(2, here), attachedTo(3, here), attachedTo(4, there), attachedTo(5)],
    0,
  );
  const nodes = [
    routedNode(1, { podCIDRs: ['10.244.0.0/24'] }),
    ...[2, 3, 4, 5].map(id => routedNode(id, { podCIDRs: [] })),
    joiningNode('w6'),
  ];
  const input = { nodes, servers, settings: { clusterCIDR: undefined, networks }, maskSize: 24 };
  const { changes, notes, after } = previewPodCIDRs(input);
  assert.deepEqual(
    changes.map(({ at, object, action, details, why }) => [at, object, action, details, why]),
    [
      [
        'Kubernetes',
        'Node w2',
        'set pod CIDR',
        { podCIDR: '10.244.1.0/24' },
        'it has none, and this is free in the range 10.244.0.0/23 of network here',
      ],
    ],
  );
  assert.deepEqual(
    notes.map(({ object, text }) => `${object} ${text}`),
    [
      'Node w3 gets no pod CIDR: range 10.244.0.0/23 is used up',
      'Node w4 gets no pod CIDR: no range is told for network there',
      'Node w5 gets no pod CIDR: its server is in none of the networks of the cluster',
    ],
  );
  const again = previewPodCIDRs({ ...input, nodes: after });
  assert.deepEqual([again.changes, again.notes, again.after], [[], notes, after]);
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Machine } from '../../../lib/controllers/instances.ts';
import { externalIPv6Annotation, providedNodeIPAnnotation } from '../../../lib/controllers/node/addresses.ts';
import { desiredNode, type NodeSettings } from '../../../lib/controllers/node/desired.ts';
import { planNode } from '../../../lib/controllers/node/plan.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import type { AddressFamily } from '../../../lib/settings/settings.ts';
import { node } from '../../kubernetes/support.ts';
import { robotServer } from '../lifecycle/support.ts';
import { networkID, server } from '../support.ts';

/**
 * All that decides about the addresses of a node, and what they are, in order. H: host name, 4 and 6: the server's public
 * addresses, X: the IPv6 address of the node's annotation, I: the internal address; `!`: the node is not initialised,
 * since the kubelet announced an address that is not offered.
 *
 * net: a Cloud server is attached to the network; for a Robot server, on which the kubelet reports the internal address
 * always, that ROBOT_FORWARD_INTERNAL_IPS is on. The last four: the kubelet announced nothing, I, I and 6, or `::`.
 */
const matrix = `
cloud | ipv4      | 46 | net | ext | H4I   | IH4   | !     | H4I
cloud | ipv4      | 46 | net | -   | H4I   | IH4   | !     | H4I
cloud | ipv4      | 46 | -   | ext | H4    | !     | !     | H4
cloud | ipv4      | 46 | -   | -   | H4    | !     | !     | H4
cloud | ipv4      | 4  | net | ext | H4I   | IH4   | !     | H4I
cloud | ipv4      | 4  | net | -   | H4I   | IH4   | !     | H4I
cloud | ipv4      | 4  | -   | ext | H4    | !     | !     | H4
cloud | ipv4      | 4  | -   | -   | H4    | !     | !     | H4
cloud | ipv4      | 6  | net | ext | HI    | IH    | !     | HI
cloud | ipv4      | 6  | net | -   | HI    | IH    | !     | HI
cloud | ipv4      | 6  | -   | ext | H     | !     | !     | H
cloud | ipv4      | 6  | -   | -   | H     | !     | !     | H
cloud | ipv4      | -  | net | ext | HI    | IH    | !     | HI
cloud | ipv4      | -  | net | -   | HI    | IH    | !     | HI
cloud | ipv4      | -  | -   | ext | H     | !     | !     | H
cloud | ipv4      | -  | -   | -   | H     | !     | !     | H
cloud | ipv6      | 46 | net | ext | HXI   | IHX   | !     | HXI
cloud | ipv6      | 46 | net | -   | H6I   | IH6   | I6H   | H6I
cloud | ipv6      | 46 | -   | ext | HX    | !     | !     | HX
cloud | ipv6      | 46 | -   | -   | H6    | !     | !     | H6
cloud | ipv6      | 4  | net | ext | HXI   | IHX   | !     | HXI
cloud | ipv6      | 4  | net | -   | HI    | IH    | !     | HI
cloud | ipv6      | 4  | -   | ext | HX    | !     | !     | HX
cloud | ipv6      | 4  | -   | -   | H     | !     | !     | H
cloud | ipv6      | 6  | net | ext | HXI   | IHX   | !     | HXI
cloud | ipv6      | 6  | net | -   | H6I   | IH6   | I6H   | H6I
cloud | ipv6      | 6  | -   | ext | HX    | !     | !     | HX
cloud | ipv6      | 6  | -   | -   | H6    | !     | !     | H6
cloud | ipv6      | -  | net | ext | HXI   | IHX   | !     | HXI
cloud | ipv6      | -  | net | -   | HI    | IH    | !     | HI
cloud | ipv6      | -  | -   | ext | HX    | !     | !     | HX
cloud | ipv6      | -  | -   | -   | H     | !     | !     | H
cloud | dualstack | 46 | net | ext | H4XI  | IH4X  | !     | H4XI
cloud | dualstack | 46 | net | -   | H46I  | IH46  | I6H   | H46I
cloud | dualstack | 46 | -   | ext | H4X   | !     | !     | H4X
cloud | dualstack | 46 | -   | -   | H46   | !     | !     | H46
cloud | dualstack | 4  | net | ext | H4XI  | IH4X  | !     | H4XI
cloud | dualstack | 4  | net | -   | H4I   | IH4   | !     | H4I
cloud | dualstack | 4  | -   | ext | H4X   | !     | !     | H4X
cloud | dualstack | 4  | -   | -   | H4    | !     | !     | H4
cloud | dualstack | 6  | net | ext | HXI   | IHX   | !     | HXI
cloud | dualstack | 6  | net | -   | H6I   | IH6   | I6H   | H6I
cloud | dualstack | 6  | -   | ext | HX    | !     | !     | HX
cloud | dualstack | 6  | -   | -   | H6    | !     | !     | H6
cloud | dualstack | -  | net | ext | HXI   | IHX   | !     | HXI
cloud | dualstack | -  | net | -   | HI    | IH    | !     | HI
cloud | dualstack | -  | -   | ext | HX    | !     | !     | HX
cloud | dualstack | -  | -   | -   | H     | !     | !     | H
robot | ipv4      | 46 | net | ext | H4I   | IH4   | !     | H4I
robot | ipv4      | 46 | net | -   | H4I   | IH4   | !     | H4I
robot | ipv4      | 46 | -   | ext | H4    | !     | !     | H4
robot | ipv4      | 46 | -   | -   | H4    | !     | !     | H4
robot | ipv4      | 4  | net | ext | H4I   | IH4   | !     | H4I
robot | ipv4      | 4  | net | -   | H4I   | IH4   | !     | H4I
robot | ipv4      | 4  | -   | ext | H4    | !     | !     | H4
robot | ipv4      | 4  | -   | -   | H4    | !     | !     | H4
robot | ipv4      | 6  | net | ext | HI    | IH    | !     | HI
robot | ipv4      | 6  | net | -   | HI    | IH    | !     | HI
robot | ipv4      | 6  | -   | ext | H     | !     | !     | H
robot | ipv4      | 6  | -   | -   | H     | !     | !     | H
robot | ipv4      | -  | net | ext | HI    | IH    | !     | HI
robot | ipv4      | -  | net | -   | HI    | IH    | !     | HI
robot | ipv4      | -  | -   | ext | H     | !     | !     | H
robot | ipv4      | -  | -   | -   | H     | !     | !     | H
robot | ipv6      | 46 | net | ext | HX    | !     | !     | HX
robot | ipv6      | 46 | net | -   | H6    | !     | !     | H6
robot | ipv6      | 46 | -   | ext | HX    | !     | !     | HX
robot | ipv6      | 46 | -   | -   | H6    | !     | !     | H6
robot | ipv6      | 4  | net | ext | HX    | !     | !     | HX
robot | ipv6      | 4  | net | -   | H     | !     | !     | H
robot | ipv6      | 4  | -   | ext | HX    | !     | !     | HX
robot | ipv6      | 4  | -   | -   | H     | !     | !     | H
robot | ipv6      | 6  | net | ext | HX    | !     | !     | HX
robot | ipv6      | 6  | net | -   | H6    | !     | !     | H6
robot | ipv6      | 6  | -   | ext | HX    | !     | !     | HX
robot | ipv6      | 6  | -   | -   | H6    | !     | !     | H6
robot | ipv6      | -  | net | ext | HX    | !     | !     | HX
robot | ipv6      | -  | net | -   | H     | !     | !     | H
robot | ipv6      | -  | -   | ext | HX    | !     | !     | HX
robot | ipv6      | -  | -   | -   | H     | !     | !     | H
robot | dualstack | 46 | net | ext | HX4I  | IHX4  | !     | HX4I
robot | dualstack | 46 | net | -   | H64I  | IH64  | I6H   | H64I
robot | dualstack | 46 | -   | ext | HX4   | !     | !     | HX4
robot | dualstack | 46 | -   | -   | H64   | !     | !     | H64
robot | dualstack | 4  | net | ext | H4XI  | IH4X  | !     | H4XI
robot | dualstack | 4  | net | -   | H4I   | IH4   | !     | H4I
robot | dualstack | 4  | -   | ext | H4X   | !     | !     | H4X
robot | dualstack | 4  | -   | -   | H4    | !     | !     | H4
robot | dualstack | 6  | net | ext | HXI   | IHX   | !     | HXI
robot | dualstack | 6  | net | -   | H6I   | IH6   | I6H   | H6I
robot | dualstack | 6  | -   | ext | HX    | !     | !     | HX
robot | dualstack | 6  | -   | -   | H6    | !     | !     | H6
robot | dualstack | -  | net | ext | HXI   | IHX   | !     | HXI
robot | dualstack | -  | net | -   | HI    | IH    | !     | HI
robot | dualstack | -  | -   | ext | HX    | !     | !     | HX
robot | dualstack | -  | -   | -   | H     | !     | !     | H
`;

const announced = [undefined, '10.0.1.11', '10.0.1.11,2001:db8:11::1', '::'] as const;
const letters: ReadonlyMap<string, string> = new Map([
  ['Hostname w11', 'H'],
  ['ExternalIP 203.0.113.11', '4'],
  ['ExternalIP 2001:db8:11::1', '6'],
  ['ExternalIP 2001:db8:ff::1', 'X'],
  ['InternalIP 10.0.1.11', 'I'],
]);

interface Row {
  readonly machine: Machine;
  readonly settings: NodeSettings;
  readonly node: KubeNode;
}

const rowOf = (kind: string, family: string, pub: string, net: boolean, ext: boolean, ips: string | undefined): Row => {
  const ipv4 = pub.includes('4') ? '203.0.113.11' : undefined;
  const ipv6 = pub.includes('6') ? '2001:db8:11::1' : undefined;
  const privateNets = net ? [{ network: networkID, ip: '10.0.1.11', aliasIPs: [] }] : [];
  return {
    machine:
      kind === 'cloud'
        ? { kind, server: server(11, { ipv4, ipv6, privateNets }) }
        : { kind: 'robot', server: robotServer(11, { name: 'w11', ipv4, ipv6 }) },
    settings: { family: family as AddressFamily, networkID, zoneLabelEnabled: true, forwardInternalIPs: net },
    node: node('w11', {
      annotations: {
        ...(ips !== undefined && { [providedNodeIPAnnotation]: ips }),
        ...(ext && { [externalIPv6Annotation]: '2001:DB8:FF:0::1' }),
      },
      addresses: [
        { type: 'InternalIP', address: '10.0.1.11' },
        { type: 'Hostname', address: 'w11' },
      ],
    }),
  };
};

const addressesOf = ({ node, machine, settings }: Row): string => {
  const desired = desiredNode(node, machine, settings);
  if (!('node' in desired)) return '!';
  return desired.node.addresses.map(({ type, address }) => letters.get(`${type} ${address}`) ?? '?').join('');
};

describe('the addresses of a node', () => {
  const rows = matrix
    .trim()
    .split('\n')
    .map(line => line.split('|').map(cell => cell.trim()));

  it('are all cases: 2 clouds, 3 families, 4 public, with and without network, with and without annotation', () => {
    assert.equal(new Set(rows.map(cells => cells.slice(0, 5).join())).size, 2 * 3 * 4 * 2 * 2);
  });

  for (const [kind = '', family = '', pub = '', net, ext, ...expected] of rows) {
    it(`of a ${kind} server, ${family}, public ${pub}, network ${net}, annotation ${ext}: ${expected.join(' ')}`, () => {
      const found = announced.map(ips => addressesOf(rowOf(kind, family, pub, net === 'net', ext === 'ext', ips)));
      assert.deepEqual(found, expected);
    });
  }

  it('are not written again once they are there, in no case whatever', () => {
    const anyRow = fc.tuple(
      fc.constantFrom('cloud', 'robot'),
      fc.constantFrom('ipv4', 'ipv6', 'dualstack'),
      fc.constantFrom('46', '4', '6', '-'),
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom(...announced, '2001:db8:11::1', '203.0.113.11', '2001:db8:ff::1,10.0.1.11', '0.0.0.0'),
    );
    const anyAddress = fc.record({
      type: fc.constantFrom('Hostname' as const, 'InternalIP' as const, 'ExternalIP' as const),
      address: fc.constantFrom('10.0.1.11', '10.0.2.2', '203.0.113.11', '2001:db8:11::1', 'fd00::2', 'w11', 'x'),
    });
    fc.assert(
      fc.property(anyRow, fc.array(anyAddress, { maxLength: 5 }), fc.boolean(), (of, present, initialised) => {
        const row = rowOf(...of);
        const taints = initialised
          ? []
          : [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }];
        const before = { ...row.node, addresses: present, taints };
        const desired = desiredNode(before, row.machine, row.settings);
        if (!('node' in desired)) return;
        let after: KubeNode = before;
        for (const change of planNode(before, desired.node).changes) {
          if (change.kind === 'addresses') after = { ...after, addresses: change.addresses };
          else after = { ...after, taints: [], labels: { ...after.labels, ...change.labels } };
        }
        const again = desiredNode(after, row.machine, row.settings);
        assert.ok('node' in again, JSON.stringify(again));
        assert.deepEqual(planNode(after, again.node).changes, []);
      }),
      { numRuns: 2_000 },
    );
  });
});

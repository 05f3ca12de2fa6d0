import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodeNetworks } from '../../../lib/controllers/networks.ts';
import { aggregatesOf } from '../../../lib/controllers/route/aggregates.ts';
import { createEvidence } from '../../../lib/controllers/route/evidence.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import type { Server } from '../../../lib/hetzner/types.ts';
import { nodeStore, routedNode, server } from '../support.ts';

const [here, there, renamed] = [1, 2, 3];
const networks = nodeNetworks(() => {
  const core = { id: here, name: 'core', ipRange: '10.0.0.0/16' };
  const pool = { id: there, name: 'pool', ipRange: '10.1.0.0/16' };
  const podCIDRs = new Map([[there, '10.241.0.0/16']]);
  const gateways = [{ network: here, neighbour: 'others', address: '10.0.0.10' }] as const;
  return { primary: core, controlPlane: undefined, all: [core, pool], podCIDRs, gateways };
});
const ways = aggregatesOf({ id: here, name: 'core', ipRange: '10.0.0.0/16' }, networks.current());
const attached = (...ids: number[]): Partial<Server> => ({
  privateNets: ids.map(network => ({ network, ip: `10.${network}.1.1`, aliasIPs: [`10.${network}.9.9`] })),
});
const router: Partial<Server> = { privateNets: [{ network: here, ip: '10.1.0.10', aliasIPs: [] }] };
/** One node, w1, and a machine that is none. */
const about = (podCIDR: string, fields: Partial<Server> | undefined, providerID = 'hcloud://1') => {
  const nodes = nodeStore();
  nodes.put(routedNode(1, { podCIDRs: [podCIDR], providerID }));
  const servers = [...(fields === undefined ? [] : [server(1, fields)]), server(2, router)];
  const list = createServerList(servers, 0);
  return createEvidence({ nodes: nodes.list, servers: () => list, networks, networkID: here });
};

describe('the evidence of whose a route is', () => {
  for (const [title, podCIDR, fields, providerID, carries] of [
    ['lives in another network', '10.245.1.0/24', attached(there), undefined, true],
    ['is reached by a way that the settings ask for', '10.241.1.0/24', attached(there), undefined, false],
    ['lives in this network', '10.245.1.0/24', attached(here), undefined, false],
    ['has its pods elsewhere', '10.250.1.0/24', attached(there), undefined, false],
    ['is in a network that was renamed', '10.245.1.0/24', attached(renamed), undefined, true],
    ['is in no network any more', '10.245.1.0/24', attached(), undefined, false],
    ['has no server any more', '10.245.1.0/24', undefined, undefined, false],
    ['is no Cloud server', '10.245.1.0/24', undefined, 'hrobot://7', true],
  ] as const) {
    it(`says ${carries ? 'that a way is needed' : 'of no need of a way'} for a node that ${title}`, () =>
      assert.equal(about(podCIDR, fields, providerID).carries('10.245.0.0/16', ways), carries));
  }

  it('tells machines by all of their addresses in this network', () => {
    const { machineAt, hasResidents } = about('10.245.1.0/24', attached(here));
    assert.deepEqual(['10.1.1.1', '10.1.9.9', '10.1.0.10', '10.2.1.1'].map(machineAt), [
      'node',
      'node',
      'other',
      'none',
    ]);
    assert.equal(hasResidents(), true);
    const { machineAt: other, hasResidents: others } = about('10.245.1.0/24', attached(there));
    assert.deepEqual(['10.1.0.10', '10.2.1.1'].map(other), ['other', 'none']);
    assert.equal(others(), false);
  });
});

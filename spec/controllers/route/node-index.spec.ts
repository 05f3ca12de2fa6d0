import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodeNetworks } from '../../../lib/controllers/networks.ts';
import { createConcern } from '../../../lib/controllers/route/concern.ts';
import { createEvidence } from '../../../lib/controllers/route/evidence.ts';
import { createNodeIndex } from '../../../lib/controllers/route/node-index.ts';
import { shareInNetwork, wholeShare } from '../../../lib/controllers/route/share.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import { networkID, nodeStore, routedNode, server } from '../support.ts';

const other = 8;
const [primary, second] = [
  { id: networkID, name: 'a', ipRange: '10.0.0.0/8' },
  { id: other, name: 'b', ipRange: '10.0.0.0/8' },
];
const chosen = { primary, controlPlane: undefined, all: [primary, second], podCIDRs: new Map(), gateways: [] };
const networks = nodeNetworks(() => chosen);
const inOther = (id: number) => server(id, { privateNets: [{ network: other, ip: `10.0.2.${id}`, aliasIPs: [] }] });
const names = (nodes: readonly { readonly name: string }[]) => nodes.map(({ name }) => name).sort();

describe('the index of nodes', () => {
  it('tells each network its own nodes and those that no network has, and follows nodes and servers', () => {
    const nodes = nodeStore();
    for (const id of [1, 2, 3]) nodes.put(routedNode(id));
    const { residents } = createNodeIndex(nodes, networks);
    let servers = createServerList([server(1), inOther(2)], 0);
    assert.deepEqual(names(residents(networkID, servers)), ['w1', 'w3']);
    assert.deepEqual(names(residents(other, servers)), ['w2', 'w3']);
    servers = createServerList([inOther(1), inOther(2), server(3)], 1);
    assert.deepEqual(names(residents(networkID, servers)), ['w3']);
    nodes.put(routedNode(4));
    assert.deepEqual(names(residents(networkID, servers)), ['w3', 'w4']);
  });

  it('has all nodes for the only network', () => {
    const nodes = nodeStore();
    for (const id of [1, 2]) nodes.put(routedNode(id));
    assert.deepEqual(names(createNodeIndex(nodes).residents(networkID, createServerList([inOther(2)], 0))), [
      'w1',
      'w2',
    ]);
  });
});

describe('the concern of one network of several', () => {
  const destination = '10.244.2.0/24';
  const setUp = () => {
    const nodes = nodeStore();
    const node = nodes.put(routedNode(2));
    const routes = new Map<string, string>();
    let list: ReturnType<typeof createServerList> | undefined = createServerList([inOther(2)], 0);
    const evidence = createEvidence({ nodes: nodes.list, servers: () => list, networks, networkID });
    const share = shareInNetwork(wholeShare(nodes), networks, networkID, evidence);
    const deps = { servers: { latest: () => list }, table: { current: () => routes }, networkID };
    const concern = createConcern(deps, share);
    return {
      concern,
      routes,
      forget: () => {
        list = undefined;
      },
      isElsewhere: () => concern.isElsewhere(node, destination),
    };
  };

  it('is no node of another network, unless nobody has listed the servers', () => {
    const { isElsewhere, forget } = setUp();
    assert.equal(isElsewhere(), true);
    forget();
    assert.equal(isElsewhere(), false);
  });

  it('is a destination with a route here, and one whose change is under way, until it is over', () => {
    const { concern, routes, isElsewhere } = setUp();
    concern.begin(destination);
    assert.equal(isElsewhere(), false, 'its route may come in a moment');
    routes.set(destination, '10.0.1.2');
    concern.end(destination);
    assert.equal(isElsewhere(), false);
    routes.delete(destination);
    assert.equal(isElsewhere(), false, 'nobody said that it is over');
    concern.end(destination);
    assert.equal(isElsewhere(), true);
  });
});

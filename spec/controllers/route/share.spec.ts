import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type NodeNetworks, nodeNetworks } from '../../../lib/controllers/networks.ts';
import { desiredRoutes } from '../../../lib/controllers/route/desired.ts';
import { createEvidence } from '../../../lib/controllers/route/evidence.ts';
import { selectedShare, shareInNetwork, wholeShare } from '../../../lib/controllers/route/share.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { networkID, nodeStore, routedNode, server } from '../support.ts';

const cidr = (id: number): string => `10.244.${id}.0/24`;

describe('the share of an instance with a node selector', () => {
  const setUp = (...servers: number[]) => {
    const [all, nodes] = [nodeStore(), nodeStore()];
    const share = selectedShare({
      all,
      nodes,
      servers: () => servers.map(id => server(id)),
      networkID,
      onHandedOver: () => undefined,
    });
    share.run$.subscribe();
    const take = (node: KubeNode): void => void nodes.put(all.put(node));
    const isLeftOver = (id: number): boolean => share.isLeftOver(cidr(id), `10.0.1.${id}`);
    return { all, nodes, share, take, isLeftOver };
  };

  it('has the route of a node that was its own to the end, though the server is still there', () => {
    const { all, nodes, take, isLeftOver } = setUp(1, 2);
    take(routedNode(1));
    all.put(routedNode(2));
    all.drop('w1');
    nodes.drop('w1');
    all.drop('w2');
    assert.deepEqual([isLeftOver(1), isLeftOver(2)], [true, false]);
  });

  it('gives up the route of a node that is handed over, and of a CIDR that another instance uses again', () => {
    const { all, nodes, take, isLeftOver } = setUp(1, 2, 3);
    take(routedNode(1));
    take(routedNode(2));
    nodes.drop('w1');
    all.drop('w1');
    assert.equal(isLeftOver(1), false);
    all.drop('w2');
    nodes.drop('w2');
    assert.equal(isLeftOver(2), true);
    all.put(routedNode(3, { podCIDRs: [cidr(2)] }));
    all.drop('w3');
    assert.equal(isLeftOver(2), false);
  });

  it('has routes that lead to its own servers or to none', () => {
    const { take, share } = setUp(1, 2);
    take(routedNode(1));
    const to = (gateway: string): boolean => share.isLeftOver('10.244.99.0/24', gateway);
    assert.deepEqual([to('10.0.1.1'), to('10.0.1.2'), to('10.0.1.77')], [true, false, true]);
  });

  it('leaves routes to no server alone, too, where the network may be of a cluster of which nobody is seen', () => {
    const [all, list] = [nodeStore(), () => [server(1)]];
    let isHome = false;
    const deps = { all, nodes: all, servers: list, networkID, isHome: () => isHome, onHandedOver: () => undefined };
    const share = selectedShare(deps);
    share.run$.subscribe();
    const left = (id: number): boolean => share.isLeftOver(cidr(id), `10.0.1.${id}`);
    assert.deepEqual([left(1), left(2)], [false, false]);
    all.put(routedNode(2));
    all.drop('w2');
    assert.equal(left(2), true, 'of a node that was there');
    assert.equal(left(3), false);
    isHome = true;
    assert.equal(left(3), true);
  });

  it('plans no change for the nodes and routes of others', () => {
    const { all, share, take } = setUp(1, 2, 3);
    take(routedNode(1));
    all.put(routedNode(2));
    const present = new Map([[cidr(3), '10.0.1.3']]);
    const { byDestination } = desiredRoutes(
      all.list(),
      createServerList(
        [1, 2, 3].map(id => server(id)),
        0,
      ),
      networkID,
      present,
      share,
    );
    assert.deepEqual(
      [1, 2, 3].map(id => byDestination.get(cidr(id))?.kind),
      ['route', 'hold', 'hold'],
    );
  });
});

describe('the share of one network of several', () => {
  const other = 8;
  const networks: NodeNetworks = nodeNetworks(() => {
    const [primary, second] = [
      { id: networkID, name: 'a', ipRange: '10.0.0.0/8' },
      { id: other, name: 'b', ipRange: '10.0.0.0/8' },
    ];
    return { primary, controlPlane: undefined, all: [primary, second], podCIDRs: new Map(), gateways: [] };
  });
  const elsewhere = server(2, { privateNets: [{ network: other, ip: '10.0.2.2', aliasIPs: [] }] });
  const servers = createServerList([server(1), elsewhere, server(3, { privateNets: [] })], 0);
  const nodes = nodeStore();
  for (const id of [1, 2, 3]) nodes.put(routedNode(id));
  const evidenceOf = (store: ReturnType<typeof nodeStore>) =>
    createEvidence({ nodes: store.list, servers: () => servers, networks, networkID });
  const share = shareInNetwork(wholeShare(nodes), networks, networkID, evidenceOf(nodes));
  const kinds = (network: number, present: ReadonlyMap<string, string> = new Map()) => {
    const { byDestination } = desiredRoutes(nodes.list(), servers, network, present, share);
    return [...byDestination].map(([to, route]) => `${to} ${route.kind === 'hold' ? route.problem : route.gateway}`);
  };

  it('claims the pods of its own nodes, and speaks of a server in no network only once', () => {
    assert.deepEqual(kinds(networkID), [`${cidr(1)} 10.0.1.1`, `${cidr(3)} notAttached`]);
    assert.deepEqual(kinds(other), [`${cidr(2)} 10.0.2.2`, `${cidr(3)} attachedNowhere`]);
  });

  it('keeps what is larger than the pod CIDR of any node, and lets go what is not', () => {
    const present = new Map([
      ['10.244.128.0/17', '10.0.1.9'],
      ['10.244.77.0/24', '10.0.1.9'],
      [cidr(2), '10.0.1.2'],
    ]);
    assert.deepEqual(kinds(networkID, present).slice(2), ['10.244.128.0/17 notSelected']);
  });

  it('keeps a way of the user to one node of another network: through a machine that is no node', () => {
    const router = server(9);
    const withRouter = createServerList([...servers.servers, router], 0);
    const evidence = createEvidence({ nodes: nodes.list, servers: () => withRouter, networks, networkID });
    const { isLeftOver } = shareInNetwork(wholeShare(nodes), networks, networkID, evidence);
    assert.equal(isLeftOver(cidr(2), '10.0.1.9'), false, 'through a machine that is no node');
    assert.equal(isLeftOver(cidr(2), '10.0.1.1'), true, 'through a node, which had the CIDR before');
    assert.equal(isLeftOver(cidr(2), '10.0.1.2'), true, 'through no machine: the old address of the node');
    assert.equal(isLeftOver(cidr(77), '10.0.1.9'), true, 'no node has the CIDR');
  });

  it('keeps everything while there is no node to tell by', () => {
    const none = nodeStore();
    const empty = shareInNetwork(wholeShare(none), networks, networkID, evidenceOf(none));
    assert.equal(empty.isLeftOver('10.244.77.0/24', '10.0.1.9'), false);
  });
});

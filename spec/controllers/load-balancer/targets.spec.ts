import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { InstanceLists } from '../../../lib/controllers/instances.ts';
import { nodeTargets, presentTargets } from '../../../lib/controllers/load-balancer/node-targets.ts';
import { holderOf } from '../../../lib/controllers/load-balancer/private-address.ts';
import { desiredTarget, type TargetRules } from '../../../lib/controllers/load-balancer/targets.ts';
import { createRobotServerList, type RobotServer } from '../../../lib/hetzner/robot-server.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import type { Server } from '../../../lib/hetzner/types.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { node } from '../../kubernetes/support.ts';
import { networkID, routedNode, server, uninitialized } from '../support.ts';
import { loadBalancer, server as target } from './support.ts';

const robotServer = (number: number, fields: Partial<RobotServer> = {}): RobotServer =>
  ({
    number,
    name: `bm${number}`,
    ipv4: `198.51.100.${number}`,
    ipv6Network: undefined,
    product: 'AX41',
    dc: 'FSN1-DC1',
    cancelled: false,
    ...fields,
  }) as RobotServer;

const lists = (servers: readonly Server[], robots?: readonly RobotServer[]): InstanceLists => ({
  cloud: createServerList(servers, 0),
  robot: robots && createRobotServerList(robots, 0),
});
const rules = (more: Partial<TargetRules> = {}): TargetRules => ({
  usePrivateIP: false,
  networkID,
  robotEnabled: true,
  ...more,
});
const robotNode = (number: number, internal?: string): KubeNode =>
  node(`bm${number}`, {
    providerID: `hrobot://${number}`,
    addresses: internal === undefined ? [] : [{ type: 'InternalIP', address: internal }],
  });

/** What becomes of the node: `target`, or `skip` with its reason and what is kept. */
const outcome = (object: KubeNode, all: InstanceLists, more: Partial<TargetRules> = {}) => {
  const result = desiredTarget(object, all, rules(more));
  return result.kind === 'target'
    ? ['target', result.target, result.notice?.reason]
    : ['skip', result.reason, result.keep];
};

const cloud = lists([server(1), server(2, { ipv4: undefined }), server(3, { privateNets: [] })], [robotServer(21)]);
const isPrivate = { usePrivateIP: true } as const;
const ip = (address: string) => ({ type: 'ip', ip: address });

const rows: readonly (readonly [string, KubeNode, Partial<TargetRules>, readonly unknown[], InstanceLists?])[] = [
  ['a Cloud server, publicly', routedNode(1), {}, ['target', target(1), undefined]],
  ['a Cloud server, privately', routedNode(1), isPrivate, ['target', target(1, true), undefined]],
  ['one without public IPv4, privately', routedNode(2), isPrivate, ['target', target(2, true), undefined]],
  ['one without public IPv4, publicly', routedNode(2), {}, ['skip', 'TargetNotReachable', target(2)]],
  ['one outside of the network, privately', routedNode(3), isPrivate, ['skip', 'TargetNotReachable', target(3, true)]],
  ['one outside of the network, publicly', routedNode(3), {}, ['target', target(3), undefined]],
  ['a server that is gone', routedNode(9), {}, ['skip', 'ServerNotFound', target(9)]],
  ['a node without a provider ID', node('w7'), {}, ['skip', 'UnknownProviderIDPrefix', undefined]],
  ['a machine of others', node('w7', { providerID: 'aws://x' }), {}, ['skip', 'UnknownProviderIDPrefix', undefined]],
  ['a malformed ID', node('w7', { providerID: 'hcloud://x' }), {}, ['skip', 'UnknownProviderIDPrefix', undefined]],
  ['a Robot server, publicly', robotNode(21), {}, ['target', ip('198.51.100.21'), undefined]],
  ['a Robot server, privately', robotNode(21, '10.1.0.21'), isPrivate, ['target', ip('10.1.0.21'), undefined]],
  [
    'one without InternalIP, privately',
    robotNode(21),
    isPrivate,
    ['target', ip('198.51.100.21'), 'InternalIPNotConfigured'],
  ],
  ['one nobody knows, publicly', robotNode(22), {}, ['skip', 'ServerNotFound', undefined]],
  ['one nobody knows, privately', robotNode(22), isPrivate, ['skip', 'InternalIPNotConfigured', undefined]],
  [
    'BUG-065: one by its InternalIP without a login',
    robotNode(21, '10.1.0.21'),
    isPrivate,
    ['target', ip('10.1.0.21'), undefined],
    lists([]),
  ],
  ['one without a login, publicly', robotNode(21, '10.1.0.21'), {}, ['skip', 'ServerNotFound', undefined], lists([])],
  [
    'BUG-066: one while Robot is off',
    robotNode(21, '10.1.0.21'),
    { robotEnabled: false },
    ['skip', 'UnknownProviderIDPrefix', undefined],
  ],
];

describe('the target of a node', () => {
  for (const [title, object, more, expected, all = cloud] of rows) {
    it(`is told: ${title}`, () => {
      assert.deepEqual(outcome(object, all, more), expected);
    });
  }
});

describe('targets of all nodes', () => {
  const targetsOf = (nodes: readonly KubeNode[], nodeSelector?: string) =>
    nodeTargets({ config: { nodeSelector }, nodes, lists: cloud, rules: rules() });

  it('are in the order of age, then of names, whatever the order of the store', () => {
    const nodes = [routedNode(1, { creationTimestamp: 5 }), routedNode(3, { creationTimestamp: 4 })];
    const ids = (all: readonly KubeNode[]) =>
      targetsOf(all).targets.map(one => (one.type === 'server' ? one.serverID : 0));
    assert.deepEqual(ids(nodes), [3, 1]);
    assert.deepEqual(ids(nodes.toReversed()), [3, 1]);
    const same = [routedNode(3, { creationTimestamp: 5 }), routedNode(1, { creationTimestamp: 5 })];
    assert.deepEqual(ids(same), [1, 3]);
  });

  it('say by name and id which network a server is not in, by the id alone where the name is not known', () => {
    const problemIn = (more: Partial<TargetRules>): string => {
      const skipped = desiredTarget(routedNode(3), cloud, rules({ ...isPrivate, ...more }));
      return skipped.kind === 'skip' ? skipped.problem : '';
    };
    assert.match(problemIn({ nameOfNetwork: () => 'k8s' }), /not attached to network k8s \(7\)$/);
    assert.match(problemIn({}), /not attached to network 7$/);
  });

  it('lack those that can not be had, with an event on each node and one on the Service; the others go on', () => {
    const { targets, kept, notices } = targetsOf([routedNode(1), routedNode(2), routedNode(9)]);
    assert.deepEqual([targets, kept], [[target(1)], [target(2), target(9)]]);
    assert.deepEqual(
      notices.map(({ reason, node: name }) => [reason, name]),
      [
        ['TargetNotReachable', 'w2'],
        ['ServerNotFound', 'w9'],
        ['SyncLoadBalancerFailed', undefined],
      ],
    );
    assert.match(notices[2]?.message ?? '', /^2 of 3 nodes are not targets: node w2: .*; node w9: /);
  });

  it('BUG-049: are told to be none, with the label that may be why', () => {
    const { notices } = targetsOf([]);
    assert.deepEqual(
      notices.map(({ reason }) => reason),
      ['UnAvailableLoadBalancer'],
    );
    assert.match(notices[0]?.message ?? '', /exclude-from-external-load-balancers/);
    assert.match(targetsOf([routedNode(1)], 'pool=a').notices[0]?.message ?? '', /node-selector pool=a/);
  });

  it('wait without a word for nodes that are only just joining', () => {
    const joining = node('w5', { taints: [uninitialized] });
    assert.deepEqual(targetsOf([routedNode(1), joining]).notices, []);
  });

  it('are those that are there when nobody can tell what is wanted, but for selectors of others', () => {
    const there = loadBalancer({
      targets: [
        { type: 'server', serverID: 1, ip: '1.2.3.4', usePrivateIP: true, health: [] },
        { type: 'ip', ip: '198.51.100.21', health: [] },
        { type: 'label_selector', selector: 'a', usePrivateIP: false, targets: [] },
      ],
    });
    assert.deepEqual(presentTargets(there).kept, [target(1, true), ip('198.51.100.21')]);
    assert.deepEqual(presentTargets(undefined).kept, []);
  });
});

describe('who has a private address', () => {
  const own = loadBalancer({ id: 7, privateNets: [{ network: networkID, ip: '10.0.0.7' }] });
  const other = loadBalancer({ id: 8, name: 'b', privateNets: [{ network: networkID, ip: '10.0.0.8' }] });
  const alias = server(4, { privateNets: [{ network: networkID, ip: '10.0.1.4', aliasIPs: ['10.0.9.9'] }] });
  const all = { loadBalancers: [own, other], lists: lists([server(1), alias]) };
  const holder = (address: string, network = networkID) => holderOf(address, network, own, all);

  it('is a server, also by an alias, or another load balancer of the network', () => {
    assert.equal(holder('10.0.1.1'), 'server w1 (1)');
    assert.equal(holder('10.0.9.9'), 'server w4 (4)');
    assert.equal(holder('10.0.0.8'), 'load balancer b (8)');
  });

  it('is nobody for free ones, its own, and those of other networks', () => {
    assert.equal(holder('10.0.0.9'), undefined);
    assert.equal(holder('10.0.0.7'), undefined);
    assert.equal(holder('10.0.1.1', 99), undefined);
  });
});

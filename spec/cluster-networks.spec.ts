import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { finalize, NEVER, Subject } from 'rxjs';
import { chooseNetworks, clusterNetworks, forEachNetwork } from '../lib/cluster-networks.ts';
import type { NetworkList, Networks } from '../lib/hetzner/networks.ts';
import type { Network } from '../lib/hetzner/types.ts';

const network = (id: number, name: string): Network => ({ id, name, ipRange: '10.0.0.0/8', routes: [], servers: [] });
const list = (requestedAt: number, ...networks: Network[]): NetworkList => ({ requestedAt, networks });
const [main, cp, w2, w10] = [network(1, 'main'), network(2, 'cp'), network(3, 'w-2'), network(4, 'w-10')];

const further = (controlPlane?: string, workerRegex?: string, workerPrefix?: string) => ({
  controlPlane,
  workerRegex,
  workerPrefix,
  podCIDRs: [],
  gateways: [],
});
const names = (chosen: ReturnType<typeof chooseNetworks>): string =>
  'problem' in chosen
    ? chosen.problem
    : `${chosen.all.map(({ name }) => name).join()} control planes: ${chosen.controlPlane?.name}`;

describe('the networks of a cluster', () => {
  const all = list(5, w2, cp, w10, main);
  for (const [title, wanted, result] of [
    [
      'the primary one first, the others by name',
      ['main', further('cp', 'w-[0-9]+')],
      'main,cp,w-10,w-2 control planes: cp',
    ],
    ['a pattern describes whole names', ['main', further(undefined, 'w-[0-9]')], 'main,w-2 control planes: undefined'],
    ['a prefix', ['main', further(undefined, undefined, 'w-')], 'main,w-10,w-2 control planes: undefined'],
    ['by id', ['1', further('2')], 'main,cp control planes: cp'],
    [
      'that of the control planes is the primary one',
      ['cp', further('cp', 'w-.*')],
      'cp,w-10,w-2 control planes: undefined',
    ],
    ['each once', ['w-2', further(undefined, 'w-.*')], 'w-2,w-10 control planes: undefined'],
    [
      'no primary one',
      ['x', further('cp')],
      'HCLOUD_NETWORK: no network with the name or id "x" in the Hetzner Cloud project',
    ],
    [
      'none of the control planes',
      ['main', further('y')],
      'HCLOUD_CONTROL_PLANE_NETWORK: no network with the name or id "y" in the Hetzner Cloud project',
    ],
  ] as const) {
    it(`are chosen by the settings: ${title}`, () => {
      assert.equal(names(chooseNetworks({ network: wanted[0], furtherNetworks: wanted[1] }, all)), result);
    });
  }

  describe('with ranges of pod addresses', () => {
    const range = (network: string, cidr: string) => ({ network, cidr });
    const chosen = (workerPrefix: string | undefined, ...podCIDRs: ReturnType<typeof range>[]) =>
      chooseNetworks(
        { network: 'main', furtherNetworks: { ...further(undefined, undefined, workerPrefix), podCIDRs } },
        list(5, main, w2, cp),
      );

    it('know them by id, without those of networks that workers may yet have', () => {
      const found = chosen('w-', range('main', '10.0.0.0/16'), range('3', '10.1.0.0/16'), range('w-9', '10.2.0.0/16'));
      assert.ok(!('problem' in found));
      assert.deepEqual(
        [...found.podCIDRs],
        [
          [1, '10.0.0.0/16'],
          [3, '10.1.0.0/16'],
        ],
      );
    });

    for (const [title, podCIDRs, problem] of [
      [
        'not in the project',
        [range('x', '10.0.0.0/16')],
        'HCLOUD_NETWORK_POD_CIDRS: no network with the name or id "x" in the Hetzner Cloud project',
      ],
      [
        'none of the cluster',
        [range('cp', '10.0.0.0/16')],
        'HCLOUD_NETWORK_POD_CIDRS: network "cp" is none of the cluster, must be HCLOUD_NETWORK, HCLOUD_CONTROL_PLANE_NETWORK or described by HCLOUD_WORKER_NETWORK_REGEX or HCLOUD_WORKER_NETWORK_PREFIX',
      ],
      [
        'named twice',
        [range('w-2', '10.0.0.0/16'), range('3', '10.1.0.0/16')],
        'HCLOUD_NETWORK_POD_CIDRS: network w-2 (3) must be named once, is named by name and by id',
      ],
    ] as const) {
      it(`refuse one that is ${title}`, () => assert.deepEqual(chosen('w-', ...podCIDRs), { problem }));
    }
  });

  describe('with gateways between them', () => {
    const gateway = (network: string, neighbour: string | undefined, address: string | undefined = '10.0.0.10') => ({
      network,
      neighbour,
      address,
    });
    const chosen = (...gateways: ReturnType<typeof gateway>[]) =>
      chooseNetworks(
        { network: 'main', furtherNetworks: { ...further(undefined, undefined, 'w-'), gateways } },
        list(5, main, w2, cp),
      );

    it('know the pairs by ids, and which of their neighbours are not there', () => {
      const found = chosen(gateway('main', undefined), gateway('1', 'w-2'), gateway('w-9', '1'), gateway('3', 'w-9'));
      assert.ok(!('problem' in found));
      assert.deepEqual(
        found.gateways.map(({ network: from, neighbour }) => [from, neighbour]),
        [
          [1, 'others'],
          [1, 3],
          [3, 'absent'],
        ],
      );
    });

    for (const [title, gateways, problem] of [
      ['of no network', [gateway('x', 'main')], 'no network with the name or id "x" in the Hetzner Cloud project'],
      ['to no network', [gateway('main', 'x')], 'no network with the name or id "x" in the Hetzner Cloud project'],
      ['to itself', [gateway('main', '1')], 'network main (1) must not be its own neighbour'],
      [
        'named twice',
        [gateway('w-2', 'main'), gateway('3', '1')],
        'the pair w-2/main must be named once, is named by name and by id',
      ],
    ] as const) {
      it(`refuse one ${title}`, () =>
        assert.deepEqual(chosen(...gateways), { problem: `HCLOUD_NETWORK_GATEWAYS: ${problem}` }));
    }
  });

  it('are run for as long as they are there, and a list that lacks the primary one changes nothing', () => {
    const lists = new Subject<NetworkList>();
    let latest: NetworkList | undefined;
    lists.subscribe(one => {
      latest = one;
    });
    const networks: Networks = {
      notBefore: () => assert.fail('asks'),
      latest: () => latest,
      changes$: lists,
    };
    const { chosen$, current } = clusterNetworks(
      { network: 'main', furtherNetworks: further(undefined, 'w-.*') },
      networks,
    );
    const running: string[] = [];
    forEachNetwork({ chosen$ }, ({ value, requestedAt }) => {
      const name = `${value.name}@${requestedAt}`;
      running.push(name);
      return NEVER.pipe(finalize(() => running.splice(running.indexOf(name), 1)));
    }).subscribe();
    lists.next(list(1, main, w2));
    assert.deepEqual(
      [running, current().all],
      [
        ['main@1', 'w-2@1'],
        [main, w2],
      ],
    );
    lists.next(list(2, w2));
    assert.deepEqual(
      [running, current().all],
      [
        ['main@1', 'w-2@1'],
        [main, w2],
      ],
    );
    lists.next(list(3, main, w10));
    assert.deepEqual(
      [running, current().all],
      [
        ['main@1', 'w-10@3'],
        [main, w10],
      ],
    );
  });
});

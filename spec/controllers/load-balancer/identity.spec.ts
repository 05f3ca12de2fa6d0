import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createClaims } from '../../../lib/controllers/load-balancer/claims.ts';
import type { ClusterView } from '../../../lib/controllers/load-balancer/cluster-view.ts';
import {
  choose,
  defaultName,
  type IdentityQuery,
  identify,
  idNotices,
  ownerLabel,
} from '../../../lib/controllers/load-balancer/identity.ts';
import { wantedOf } from '../../../lib/controllers/load-balancer/wanted.ts';
import { annotated, kubeService, loadBalancer, noSettings } from './support.ts';

const uid = '9efd5f5c-56e2-4282-bdee-a91fa157ecca';
const lb = (id: number, name: string, owner?: string) =>
  loadBalancer({ id, name, labels: owner === undefined ? { mine: 'x' } : { [ownerLabel]: owner } });
/** Of the nodes of this cluster, w1 alone is a target. */
const cluster: ClusterView = {
  ownerOf: other => (other === 'alive' ? 'default/other' : undefined),
  hasServer: id => id === 1,
};
const query = (more: Partial<IdentityQuery> = {}): IdentityQuery => ({
  uid,
  id: undefined,
  name: undefined,
  cluster,
  ...more,
});

/** One row: what there is, what the Service says, and what comes of it. */
const rows: readonly (readonly [string, Parameters<typeof lb>[], Partial<IdentityQuery>, string | RegExp])[] = [
  ['nothing there', [], {}, 'create'],
  ['nothing of that name', [[1, 'other']], { name: 'edge' }, 'create'],
  ['its own by label', [[1, 'other', uid]], {}, 'own 1'],
  [
    'its own by label, whatever it names',
    [
      [1, 'a', uid],
      [2, 'edge'],
    ],
    { name: 'edge' },
    'own 1',
  ],
  [
    'its own by label, whatever id it names',
    [
      [1, 'a', uid],
      [2, 'edge'],
    ],
    { id: 2 },
    'own 1',
  ],
  [
    'two of its own',
    [
      [1, 'a', uid],
      [2, 'b', uid],
    ],
    {},
    /1, 2 all carry the label/,
  ],
  ['one of its default name without owner', [[1, defaultName(uid)]], {}, 'adopt 1'],
  ['one of its name without owner', [[1, 'edge']], { name: 'edge' }, 'adopt 1'],
  ['one of its default name while it names another', [[1, defaultName(uid)]], { name: 'edge' }, 'create'],
  ['one of its id without owner', [[1, 'x']], { id: 1 }, 'adopt 1'],
  [
    'id before name',
    [
      [1, 'x'],
      [2, 'edge'],
    ],
    { id: 1, name: 'edge' },
    'adopt 1',
  ],
  ['no such id', [[1, 'x']], { id: 9 }, 'create'],
  ['no such id, but one of the name', [[1, 'edge']], { id: 9, name: 'edge' }, 'adopt 1'],
  [
    'BUG-051: a name that another Service has',
    [[1, 'edge', 'alive']],
    { name: 'edge' },
    /edge \(1\) belongs to Service default\/other/,
  ],
  ['an id that another Service has', [[1, 'edge', 'alive']], { id: 1 }, /belongs to Service default\/other/],
  [
    'a default name that another Service has',
    [[1, defaultName(uid), 'alive']],
    {},
    /belongs to Service default\/other/,
  ],
  ['a name whose owner is gone', [[1, 'edge', 'gone']], { name: 'edge' }, 'adopt 1'],
  ['an id whose owner is gone', [[1, 'edge', 'gone']], { id: 1 }, 'adopt 1'],
  [
    'a default name whose owner is not here',
    [[1, defaultName(uid), 'gone']],
    {},
    /uid gone, which is not in this cluster/,
  ],
];

describe('the load balancer of a Service', () => {
  for (const [title, all, more, expected] of rows) {
    it(`is settled: ${title}`, () => {
      const found = identify(
        all.map(one => lb(...one)),
        query(more),
      );
      if (found.kind === 'refused') assert.match(found.problem, expected as RegExp);
      else assert.equal([found.kind, ...('loadBalancer' in found ? [found.loadBalancer.id] : [])].join(' '), expected);
    });
  }

  it('is not one that another cluster seems to use: its owner is unknown, and so is the server of a target', () => {
    const used = (...servers: number[]) =>
      loadBalancer({
        id: 1,
        name: 'edge',
        labels: { [ownerLabel]: 'gone' },
        targets: servers.map(serverID => ({
          type: 'server',
          serverID,
          ip: undefined,
          usePrivateIP: false,
          health: [],
        })),
      });
    for (const named of [{ name: 'edge' }, { id: 1 }]) {
      assert.equal(identify([used(1)], query(named)).kind, 'adopt', 'its targets are nodes of this cluster');
      const found = identify([used(1, 2)], query(named));
      assert.ok(found.kind === 'refused');
      assert.match(
        found.problem,
        /uid gone, .* target server 2: it may be in use by another cluster; .* remove its label/,
      );
      const unlabelled = { ...used(1, 2), labels: {} };
      assert.equal(identify([unlabelled], query(named)).kind, 'adopt', 'so it was told');
    }
  });

  it('never is one whose owner lives', () => {
    const anyOwner = fc.constantFrom(undefined, uid, 'alive', 'gone');
    const anyOne = fc.record({ name: fc.constantFrom('edge', defaultName(uid)), owner: anyOwner });
    const anyName = fc.constantFrom(undefined, 'edge');
    fc.assert(
      fc.property(fc.array(anyOne, { maxLength: 3 }), anyName, fc.constantFrom(undefined, 1, 2), (all, name, id) => {
        const found = identify(
          all.map((one, i) => lb(i + 1, one.name, one.owner)),
          query({ name, id }),
        );
        if (!('loadBalancer' in found)) return;
        assert.notEqual(found.loadBalancer.labels[ownerLabel], 'alive');
        assert.equal(found.kind === 'own', found.loadBalancer.labels[ownerLabel] === uid);
      }),
    );
  });

  it('has a default name of at most 32 characters, as the peer forms it', () => {
    assert.equal(defaultName(uid), 'a9efd5f5c56e24282bdeea91fa157ecc');
    assert.equal(defaultName('short-uid'), 'ashortuid');
  });
});

describe('the choice of a load balancer', () => {
  const choice = (values: Parameters<typeof annotated>[0], all: readonly ReturnType<typeof lb>[] = []) => {
    const wanted = wantedOf(kubeService({ annotations: annotated(values) }), noSettings, undefined);
    return choose({ uid }, wanted, all, { ...cluster, ownerOf: () => undefined });
  };

  it('BUG-038: is none without a place, and names all that could give one', () => {
    const found = choice({});
    assert.ok(found.kind === 'refused');
    for (const name of [
      '/location',
      '/network-zone',
      'HCLOUD_LOAD_BALANCERS_LOCATION',
      'HCLOUD_LOAD_BALANCERS_NETWORK_ZONE',
    ])
      assert.ok(found.problem.includes(name), name);
    assert.equal(choice({ location: 'fsn1' }).kind, 'create');
    assert.equal(choice({ 'network-zone': 'eu-central' }).kind, 'create');
    assert.equal(choice({ name: 'edge' }, [lb(1, 'edge')]).kind, 'adopt', 'one that is there needs no place');
  });

  for (const [name, text] of [
    ['id', 'x'],
    ['use-private-ip', 'yes'],
    ['node-selector', '(('],
    ['private-ipv4', 'x'],
    ['private-subnet-ip-range', 'x'],
    ['disable-public-network', 'x'],
  ] as const) {
    it(`is none while ${name} is wrong, but for the one it has`, () => {
      const values = { location: 'fsn1', name: 'edge', [name]: text };
      assert.equal(choice(values).kind, 'refused');
      assert.equal(choice(values, [lb(1, 'edge')]).kind, 'refused');
      assert.equal(choice(values, [lb(1, 'edge', uid)]).kind, 'own');
    });
  }

  it('BUG-047: is none for private targets without a network', () => {
    assert.equal(choice({ location: 'fsn1', 'use-private-ip': 'true' }).kind, 'refused');
  });

  it('tells of an id that leads nowhere', () => {
    const reasons = (id: number | undefined, found: ReturnType<typeof choice>) =>
      idNotices(id, found).map(({ reason }) => reason);
    assert.deepEqual(reasons(9, { kind: 'create' }), ['LoadBalancerNotFound']);
    assert.deepEqual(reasons(9, { kind: 'own', loadBalancer: lb(1, 'a', uid) }), ['LoadBalancerNotFound']);
    assert.deepEqual(reasons(1, { kind: 'own', loadBalancer: lb(1, 'a', uid) }), []);
    assert.deepEqual(reasons(undefined, { kind: 'create' }), []);
  });
});

describe('claims', () => {
  it('give a load balancer to the first who asks, for as long as that one lives', () => {
    const alive = new Set(['a', 'b']);
    const claims = createClaims(one => alive.has(one));
    assert.equal(claims.claim(7, 'a'), undefined);
    assert.equal(claims.claim(7, 'a'), undefined);
    assert.equal(claims.claim(7, 'b'), 'a');
    assert.equal(claims.claim(8, 'b'), undefined);
    alive.delete('a');
    assert.equal(claims.claim(7, 'b'), undefined);
  });
});

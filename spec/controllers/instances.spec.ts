import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NEVER } from 'rxjs';
import { createInstances, type InstanceLists, isOurs, locate } from '../../lib/controllers/instances.ts';
import type { Robot } from '../../lib/hetzner/robot.ts';
import { createRobotServerList } from '../../lib/hetzner/robot-server.ts';
import { createServerList } from '../../lib/hetzner/server-list.ts';
import { calling } from '../hetzner/support.ts';
import { node } from '../kubernetes/support.ts';
import { robotServer } from './lifecycle/support.ts';
import { server } from './support.ts';

const cloud = createServerList([server(1), server(2, { name: 'renamed' }), server(3, { name: 'w2' })], 0);
const lists = { cloud, robot: undefined };
const found = (name: string, providerID = ''): number | string => {
  const result = locate(node(name, { providerID }), lists);
  return result.kind === 'found' && result.machine.kind === 'cloud' ? result.machine.server.id : result.kind;
};

describe('the machine of a node', () => {
  it('is the server of its exact name while the node has no provider ID (BUG-002)', () => {
    assert.equal(found('w1'), 1);
    assert.equal(found('W1'), 'missing');
    assert.equal(found('w1.example.internal'), 'missing');
    assert.equal(found(''), 'missing');
  });

  it('is the one of its provider ID from then on, whatever it and others are called now (BUG-008)', () => {
    assert.equal(found('w2', 'hcloud://2'), 2);
    assert.equal(found('w1', 'hcloud://9'), 'missing');
  });

  it('is none of ours with the provider ID of another, of a Robot server or a malformed one (BUG-012)', () => {
    for (const [providerID, problem] of [
      ['k3s://w1', /not one of Hetzner/],
      ['hrobot://1', /Robot support is not enabled/],
      ['hcloud://bm-1', /Robot support is not enabled/],
      ['hcloud://w1', /malformed.*"w1"/],
      ['hcloud://', /malformed.*no number/],
    ] as const) {
      const result = locate(node('w1', { providerID }), lists);
      assert.equal(result.kind, 'foreign');
      assert.match(result.kind === 'foreign' ? result.problem : '', problem);
    }
  });

  it('is not missing where nobody has listed the servers yet (BUG-015)', () => {
    assert.notEqual(
      locate(node('w1', { providerID: 'hcloud://1' }), { cloud: undefined, robot: undefined }).kind,
      'missing',
    );
  });
});

describe('the machine of a node, with Robot', () => {
  const robot = createRobotServerList(
    [
      robotServer(321, { name: 'bm1' }),
      robotServer(322, { name: 'w1' }),
      robotServer(323),
      robotServer(324, { name: 'bm323' }),
    ],
    5,
  );
  const both = { cloud, robot };
  const locateIn = (name: string, providerID = '') => locate(node(name, { providerID }), both);

  it('is the one of the number, whichever form the provider ID has (BUG-064)', () => {
    for (const providerID of ['hrobot://321', 'hcloud://bm-321']) {
      const result = locateIn('bm1', providerID);
      assert.equal(result.kind === 'found' && result.machine.kind === 'robot' && result.machine.server.number, 321);
    }
    assert.deepEqual(
      ['hrobot://', 'hcloud://bm-', 'hrobot://x', 'hcloud://abc'].map(id => locateIn('bm1', id).kind),
      Array(4).fill('foreign'),
    );
  });

  it('counts as missing once it is called otherwise (BUG-063)', () => {
    const result = locateIn('old-name', 'hrobot://321');
    assert.ok(result.kind === 'missing' && result.renamed);
    assert.match(result.problem, /Robot server 321 is called bm1, not old-name/);
    assert.ok(!('renamed' in locateIn('bm1', 'hrobot://321')));
    const gone = locateIn('bm9', 'hrobot://999');
    assert.ok(gone.kind === 'missing' && !gone.renamed);
  });

  it('is none of two with one name, in both clouds or twice at Robot (BUG-062)', () => {
    const result = locateIn('w1');
    assert.equal(result.kind, 'ambiguous');
    assert.match(result.kind === 'ambiguous' ? result.problem : '', /Cloud server \(1\) and a Robot server \(322\)/);
    assert.equal(locateIn('bm323').kind, 'ambiguous');
    assert.equal(locateIn('w1', 'hcloud://1').kind, 'found', 'an ID is not ambiguous');
  });

  it('is missing by its name as of the older of both lists', () => {
    const result = locateIn('w9');
    assert.deepEqual([result.kind, 'requestedAt' in result && result.requestedAt], ['missing', 0]);
    assert.equal(locate(node('w9'), { cloud: undefined, robot }).kind, 'foreign', 'the Cloud was not asked');
  });

  it('is a concern of ours by the form of the provider ID and by whether Robot is in use (BUG-012)', () => {
    const ours = (enabled: boolean) =>
      ['', 'hcloud://1', 'hrobot://1', 'hcloud://bm-1', 'hcloud://x', 'k3s://a'].filter(providerID =>
        isOurs(node('w1', { providerID }), enabled),
      );
    assert.deepEqual(ours(false), ['', 'hcloud://1']);
    assert.deepEqual(ours(true), ['', 'hcloud://1', 'hrobot://1', 'hcloud://bm-1']);
  });
});

describe('the reads about the machine of a node', () => {
  const o = calling();
  /** Lists that are requested whenever an older one does not do, and Robot's answers about power and existence. */
  const setUp = () => {
    let now = 100;
    const asked: string[] = [];
    const listOf = <L extends { requestedAt: number }>(what: string, make: (at: number) => L) => {
      let latest: L | undefined;
      const notBefore = async (instant: number): Promise<L> => {
        if (latest === undefined || latest.requestedAt < instant) {
          asked.push(what);
          latest = make(now);
        }
        return latest;
      };
      return {
        notBefore,
        latest: () => latest,
        changes$: NEVER,
        recent: () => notBefore(now - 50),
        find: async () => undefined,
      };
    };
    const numbers = new Set([321]);
    const robot: Robot = {
      servers: listOf('robot', at =>
        createRobotServerList(
          [...numbers].map(n => robotServer(n, { name: `bm${n}` })),
          at,
        ),
      ),
      isShutOff: async number => {
        asked.push(`power ${number}`);
        return true;
      },
      hasServer: async number => numbers.has(number),
      loginSince: () => 7,
    };
    const hetzner = {
      servers: listOf('cloud', at => createServerList([server(1, { status: 'off' })], at)),
      cloud: { hasServer: async (id: number) => id === 1 },
      tokenSince: () => 3,
    };
    const make = (enabled = true) => createInstances(hetzner, enabled ? robot : undefined, { monotonic: () => now });
    return { numbers, make, seen: () => asked.splice(0), pass: (ms: number) => (now += ms) };
  };
  const cloudNode = node('w1', { providerID: 'hcloud://1' });
  const robotNode = node('bm321', { providerID: 'hrobot://321' });

  it('ask only the cloud the node belongs to, both where that is open, none for foreign nodes (BUG-013)', async () => {
    const { make, seen, pass } = setUp();
    const instances = make();
    const asked = async (of: ReturnType<typeof node>) => {
      pass(1_000);
      await instances.read(of, 0, o);
      return seen();
    };
    assert.deepEqual(await asked(node('edge', { providerID: 'k3s://a' })), []);
    assert.deepEqual(await asked(robotNode), ['robot']);
    assert.deepEqual(await asked(cloudNode), ['cloud']);
    const fresh = make();
    pass(1_000);
    await fresh.read(node('w1'), 4_100, o);
    assert.deepEqual(seen(), ['cloud', 'robot']);
    await make(false).read(robotNode, 1e9, o);
    assert.deepEqual(seen(), [], 'Robot is not in use');
  });

  it('take a Robot list from the cache while it has the server, and read it again before one is missing (BUG-012)', async () => {
    const { make, seen, pass, numbers } = setUp();
    const instances = make();
    await instances.read(robotNode, 0, o);
    pass(40);
    await instances.read(robotNode, 140, o);
    assert.deepEqual(seen(), ['robot']);
    numbers.add(322);
    const found = locate(
      node('bm322', { providerID: 'hrobot://322' }),
      await instances.read(node('bm322', { providerID: 'hrobot://322' }), 140, o),
    );
    assert.deepEqual([seen(), found.kind], [['robot'], 'found']);
  });

  it('know the power of a Cloud server from the list, and ask Robot for that of its own as of now (BUG-017)', async () => {
    const { make, seen, pass } = setUp();
    const instances = make();
    const located = (of: ReturnType<typeof node>, lists: InstanceLists) => {
      const result = locate(of, lists);
      assert.ok(result.kind === 'found');
      return result;
    };
    const lists = { ...(await instances.read(cloudNode, 0, o)), robot: (await instances.read(robotNode, 0, o)).robot };
    pass(30);
    seen();
    const inCloud = located(cloudNode, lists);
    const inRobot = located(robotNode, lists);
    assert.deepEqual(await instances.power(inCloud.machine, 100, o), { isOff: true, requestedAt: 100 });
    assert.deepEqual(await instances.power(inRobot.machine, 100, o), { isOff: true, requestedAt: 130 });
    assert.deepEqual(seen(), ['power 321']);
  });

  it('ask for one machine by its number', async () => {
    const { make } = setUp();
    const answers = [1, 2].flatMap(id => [{ kind: 'cloud', id } as const, { kind: 'robot', id: 319 + id } as const]);
    const exist = await Promise.all(answers.map(id => make().exists(id, o)));
    assert.deepEqual(exist, [true, false, false, true]);
    assert.equal(await make(false).exists({ kind: 'robot', id: 1 }, o), true, 'nobody knows, so nothing is gone');
  });

  it('know since when the credentials of each cloud are in use', () => {
    const { make } = setUp();
    assert.deepEqual([make().credentialsSince('cloud'), make().credentialsSince('robot')], [3, 7]);
    assert.equal(make(false).credentialsSince('robot'), Number.POSITIVE_INFINITY);
  });
});

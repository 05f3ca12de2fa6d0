import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FatalError } from '../../lib/fatal-error.ts';
import { createFakeHetzner } from '../../lib/simulator/hetzner/fake.ts';
import type { Fault } from '../../lib/simulator/hetzner/faults.ts';
import type { KubeObject } from '../support/kube-client.ts';
import { createNode, nodePath, setReady, UNINITIALIZED } from '../support/nodes.ts';
import { numbers } from '../support/random.ts';
import { type VirtualController, virtualApp } from '../support/virtual-app.ts';

/**
 * A day and more in the life of a small cluster of Cloud, Robot and foreign nodes, at random: SEED and STEPS in the
 * environment choose another one. Whatever happens, a node whose machine exists is never deleted; once the trouble is
 * over, each node whose machine is gone is.
 */
const seed = Number(process.env.SEED ?? 4);
const steps = Number(process.env.STEPS ?? 3_000);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const SHUTDOWN = 'node.cloudprovider.kubernetes.io/shutdown';
const names = Array.from({ length: 10 }, (_, i) => `w${i + 1}`);
const robotNames = ['bm1', 'bm2', 'bm3'];

const providerIDOf = (node: KubeObject): string => String(node.spec.providerID ?? '');
const taintsOf = (node: KubeObject): string[] => ((node.spec.taints ?? []) as { key: string }[]).map(({ key }) => key);
const isReady = (node: KubeObject): boolean =>
  (node.status.conditions as { type: string; status: string }[]).some(c => c.type === 'Ready' && c.status === 'True');

it(`never deletes a node whose machine exists, and in the end each whose machine is gone (SEED=${seed}, ${steps} steps)`, async t => {
  const v = virtualApp(t, { keepRequests: 100 });
  const { hetzner, kubernetes, now } = v;
  const random = numbers(seed);
  const rightToken = hetzner.settings.token;
  const login = { ...hetzner.robot.settings.login };
  const other = createFakeHetzner({
    token: 'token-of-another-project'.padEnd(64, 'x'),
    now,
    answerDelay: 20,
    keepRequests: 10,
  });
  other.networks.create({ name: 'k8s', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/16'] });
  for (let i = 0; i < 3; i += 1) other.servers.create({ name: i === 0 ? 'cp' : `other-${i}`, id: 900_000 + i });
  const env = {
    ROBOT_ENABLED: 'true',
    ROBOT_USER: login.user,
    ROBOT_PASSWORD: login.password,
    ROBOT_ENDPOINT: 'http://hetzner/robot',
  };
  const happened = new Map<string, number>();
  const recent: string[] = [];
  const note = (what: string): void => {
    happened.set(what.split(' ')[0] as string, (happened.get(what.split(' ')[0] as string) ?? 0) + 1);
    recent.push(`${new Date(now()).toISOString()} ${what}`);
    if (recent.length > 60) recent.shift();
  };

  const nodes = (): KubeObject[] => kubernetes.list('/api/v1/nodes') as unknown as KubeObject[];
  /** Whether Hetzner has the machine of a node, by what its provider ID says, else by its name. */
  const hasMachine = (node: KubeObject): boolean => {
    const [, prefix, id] = /^(hcloud|hrobot):\/\/(\d+)$/.exec(providerIDOf(node)) ?? [];
    const { name } = node.metadata;
    if (prefix === 'hcloud') return hetzner.servers.get(Number(id)) !== undefined;
    if (prefix === 'hrobot') return hetzner.robot.get(Number(id))?.name === name;
    return hetzner.servers.byName(name) !== undefined || hetzner.robot.list().some(one => one.name === name);
  };
  const isOurs = (node: KubeObject): boolean => /^(|hcloud:\/\/\d+|hrobot:\/\/\d+)$/.test(providerIDOf(node));
  const isOff = (node: KubeObject): boolean => {
    const [, prefix, id] = /^(hcloud|hrobot):\/\/(\d+)$/.exec(providerIDOf(node)) ?? [];
    return prefix === 'hrobot'
      ? hetzner.robot.get(Number(id))?.operatingStatus === 'shut off'
      : hetzner.servers.get(Number(id))?.status === 'off';
  };

  let controller: VirtualController = v.start({ env });
  const started = [controller];

  /** A node that was tied to its server since the last look says so only in the log. */
  const asDeleted = (node: KubeObject): KubeObject => {
    if (providerIDOf(node) !== '') return node;
    const said = started
      .flatMap(one => one.lines())
      .findLast(({ msg, node: of }) => msg === 'Deleted node' && of === node.metadata.name);
    return { ...node, spec: { ...node.spec, providerID: said?.providerID ?? '' } };
  };

  let before = new Map<string, KubeObject>();
  let deletions = 0;
  /** Looks for nodes that went since the last look: it was the controller, and their machines have not changed since. */
  const check = (): void => {
    const present = new Map(nodes().map(node => [node.metadata.uid, node]));
    for (const [uid, known] of before) {
      if (present.has(uid)) continue;
      deletions += 1;
      const node = asDeleted(known);
      note(`deleted ${node.metadata.name} ${providerIDOf(node)}`);
      const said = controller
        .lines()
        .filter(line => line.node === node.metadata.name || line.key === node.metadata.name);
      const story = [...recent, ...said.slice(-20).map(line => JSON.stringify(line))].join('\n');
      const text = `${node.metadata.name} (${providerIDOf(node)}) was deleted\n${story}`;
      assert.ok(isOurs(node), `foreign node ${text}`);
      assert.ok(!hasMachine(node), `its machine exists: ${text}`);
      assert.ok(providerIDOf(node) !== '' || taintsOf(node).includes(UNINITIALIZED), `nobody knows it: ${text}`);
    }
    before = present;
  };

  const restart = async (how: 'kill' | 'stop'): Promise<void> => {
    await controller[how]();
    controller = v.start({ env });
    started.push(controller);
  };

  let [privateIP, robotNumber] = [1, 400];
  const newServer = (name: string): void => {
    privateIP += 1;
    const ip = `10.0.${Math.floor(privateIP / 200) % 200}.${(privateIP % 200) + 10}`;
    hetzner.servers.create({ name, network: v.networkID, ip });
  };
  const servers = () => hetzner.servers.list().filter(({ name }) => name !== 'cp');
  const freeName = (): string | undefined =>
    random.one(names.filter(name => hetzner.servers.byName(name) === undefined));
  const workers = (): KubeObject[] => nodes().filter(({ metadata }) => metadata.name !== 'cp');
  const join = (name: string): Promise<unknown> =>
    createNode(v, { name, ready: random.chance(0.7), podCIDRs: [`10.244.${names.indexOf(name) + 20}.0/24`] });

  const listFaults: (() => Fault)[] = [
    () => ({
      kind: 'error',
      status: random.one([500, 503, 404, 403, 429, 423]) as number,
      code: random.one(['server_error', 'not_found', 'forbidden']) as string,
    }),
    () => ({ kind: 'error', status: 401, code: 'unauthorized' }),
    () => ({ kind: 'html', status: 502 }),
    () => ({ kind: random.one(['hang', 'reset', 'reset-after-effect', 'truncated']) as 'hang' }),
    () => ({ kind: 'slow', ms: random.upTo(14_000) }),
    () => ({ kind: 'wrong-type' }),
    // An empty list, one without the last servers that is counted right or wrong, another project's.
    () => ({
      kind: 'rewrite',
      body: () => ({ servers: [], meta: { pagination: { page: 1, next_page: null, total_entries: 0 } } }),
    }),
    () => ({
      kind: 'rewrite',
      body: body => ({
        ...(body as object),
        servers: ((body as { servers?: unknown[] }).servers ?? []).slice(0, 1 + random.upTo(3)),
      }),
    }),
    () => ({
      kind: 'rewrite',
      body: () =>
        JSON.parse(
          other.handle({
            method: 'GET',
            path: '/v1/servers',
            query: new URLSearchParams(),
            headers: { authorization: `Bearer ${other.settings.token}` },
          } as never).body,
        ),
    }),
  ];

  const actions: readonly (readonly [weight: number, what: string, act: () => Promise<unknown> | unknown])[] = [
    [
      8,
      'create',
      () => {
        const name = freeName();
        if (name !== undefined) newServer(name);
      },
    ],
    [
      12,
      'join',
      () => {
        const joinable = [...servers().map(({ name }) => name), ...hetzner.robot.list().map(({ name }) => name)].filter(
          name => v.node(name) === undefined,
        );
        const name = random.one(joinable);
        return name === undefined ? undefined : join(name);
      },
    ],
    [
      6,
      'remove',
      () => {
        const server = random.one(servers());
        if (server !== undefined) hetzner.servers.remove(server.id);
      },
    ],
    [
      4,
      'recreate',
      () => {
        const server = random.one(servers());
        if (server === undefined) return;
        hetzner.servers.remove(server.id);
        newServer(server.name);
      },
    ],
    [
      14,
      'status',
      () => {
        const server = random.one(servers());
        const status = random.one([
          'off',
          'off',
          'running',
          'running',
          'starting',
          'stopping',
          'migrating',
          'rebuilding',
          'unknown',
        ]);
        if (server !== undefined && status !== undefined) hetzner.servers.setStatus(server.id, status);
      },
    ],
    [
      3,
      'rename',
      () => {
        const server = random.one(servers());
        const name = freeName();
        if (server !== undefined && name !== undefined)
          hetzner.servers.rename(server.id, random.chance(0.5) ? name : `renamed-${server.id}`);
      },
    ],
    [
      3,
      'attach',
      () => {
        const server = random.one(servers());
        if (server === undefined) return;
        if (server.privateNets.length > 0) hetzner.servers.detach(server.id, v.networkID);
        else hetzner.servers.attach(server.id, v.networkID);
      },
    ],
    [
      3,
      'robot',
      () => {
        const server = random.one(hetzner.robot.list());
        const missing = robotNames.filter(name => !hetzner.robot.list().some(one => one.name === name));
        if (server === undefined || (missing.length > 0 && random.chance(0.5))) {
          robotNumber += 1;
          hetzner.robot.create({ number: robotNumber, name: random.one(missing) ?? 'spare' });
        } else if (random.chance(0.3)) hetzner.robot.remove(server.number);
        else if (random.chance(0.4)) hetzner.robot.rename(server.number, random.one(missing) ?? 'elsewhere');
        else hetzner.robot.setOperatingStatus(server.number, random.chance(0.5) ? 'shut off' : 'running');
      },
    ],
    [
      40,
      'condition',
      () => {
        const node = random.one(workers());
        if (node === undefined) return;
        const honest = !isOurs(node) || (hasMachine(node) && !isOff(node));
        const ready = random.chance(0.75) ? honest : random.chance(0.3);
        return setReady(v, node.metadata.name, ready ? 'True' : random.chance(0.5) ? 'False' : 'Unknown', now());
      },
    ],
    [
      2,
      'user',
      async () => {
        const node = random.one(workers().filter(one => isOurs(one) && one.metadata.name !== 'stray'));
        if (node === undefined) return;
        before.delete(node.metadata.uid);
        kubernetes.delete(nodePath(node.metadata.name));
        if (random.chance(0.6) && hasMachine(node)) await join(node.metadata.name);
      },
    ],
    [
      5,
      'fault',
      () => {
        const fault = random.one(listFaults)?.();
        const forMs = random.chance(0.1) ? 15 * MINUTE : random.upTo(2 * MINUTE);
        const path = random.one([/^\/servers/, '/servers', /^\/robot/, /./]);
        if (fault !== undefined && path !== undefined) hetzner.faults.add({ ...fault, path, forMs });
      },
    ],
    [
      4,
      'kubernetes',
      () => {
        const fault = random.one([
          { kind: 'status', code: 500 },
          { kind: 'status', code: 409 },
          { kind: 'status', code: 422 },
          { kind: 'status', code: 429 },
          { kind: 'reset' },
          { kind: 'reset', after: true },
          { kind: 'delay', ms: 5_000 },
        ] as const);
        if (fault === undefined) return;
        kubernetes.faults.add({
          user: controller.user,
          ...(random.chance(0.5) && { verb: ['patch', 'delete'] as const }),
          fault,
          times: 1 + random.upTo(10),
        });
      },
    ],
    [
      4,
      'watch',
      () => {
        const how = random.upTo(5);
        if (how === 0) kubernetes.compact({ gone: random.chance(0.5) ? 'event' : 'http' });
        else if (how === 1) kubernetes.endWatches();
        else if (how === 2 && random.chance(0.2)) kubernetes.freezeWatches();
        else kubernetes.cutWatches();
      },
    ],
    [1, 'restart', () => restart(random.chance(0.5) ? 'kill' : 'stop')],
    [
      1,
      'token',
      () => {
        if (random.chance(0.2)) v.rotateToken(other.settings.token, other);
        else v.rotateToken(rightToken);
      },
    ],
    [
      0.3,
      'login',
      () => hetzner.robot.setLogin(random.chance(0.2) ? { ...login, password: 'changed-by-somebody-else' } : login),
    ],
  ];
  const lots = actions.flatMap(action => Array(Math.ceil(action[0] * 4)).fill(action) as (typeof action)[]);

  hetzner.servers.create({ name: 'cp', network: v.networkID, ip: '10.0.0.5' });
  await createNode(v, { name: 'cp', podCIDRs: ['10.244.1.0/24'] });
  for (const name of names.slice(0, 6)) {
    newServer(name);
    await join(name);
  }
  for (const name of robotNames) hetzner.robot.create({ name });
  for (const name of robotNames) await createNode(v, { name });
  await createNode(v, { name: 'edge1', providerID: 'k3s://edge1', taint: false, ready: false });
  await createNode(v, { name: 'edge2', providerID: 'hcloud://not-a-number', taint: false, ready: false });
  await createNode(v, { name: 'stray', taint: false, ready: false });
  await v.advance(MINUTE);
  check();

  for (let step = 0; step < steps; step += 1) {
    const [, what, act] = random.one(lots) as (typeof actions)[number];
    note(what);
    await v.settled(Promise.resolve(act()).then(() => undefined));
    await v.advance(random.chance(0.03) ? random.upTo(10 * MINUTE) : random.upTo(10 * SECOND));
    check();
    if (controller.error() !== undefined) {
      assert.ok(controller.error() instanceof FatalError, String(controller.error()));
      await restart('stop');
    }
  }

  hetzner.faults.clear();
  kubernetes.faults.clear();
  kubernetes.cutWatches();
  v.rotateToken(rightToken);
  hetzner.robot.setLogin(login);
  await restart('stop');
  for (const node of workers()) {
    const works = hasMachine(node) && !isOff(node);
    await setReady(v, node.metadata.name, works ? 'True' : 'Unknown', now());
  }
  const expected = nodes()
    .filter(
      node =>
        !isOurs(node) || hasMachine(node) || (providerIDOf(node) === '' && !taintsOf(node).includes(UNINITIALIZED)),
    )
    .map(({ metadata }) => metadata.name);
  await v.advance(90 * MINUTE);
  check();
  assert.deepEqual(
    nodes().map(({ metadata }) => metadata.name),
    expected,
  );
  for (const node of nodes()) {
    const tainted = isOurs(node) && !isReady(node) && isOff(node);
    assert.equal(taintsOf(node).includes(SHUTDOWN), tainted, `${node.metadata.name}: ${taintsOf(node).join()}`);
  }
  for (const name of ['cp', 'edge1', 'edge2', 'stray']) assert.ok(v.node(name) !== undefined, name);
  assert.equal(controller.error(), undefined);
  const story = [...happened].map(([what, count]) => `${what} ${count}`).join(', ');
  t.diagnostic(`seed ${seed}, ${steps} steps, ${deletions} nodes deleted: ${story}`);
  if (steps >= 1_000) assert.ok(deletions > steps / 100, `${deletions} deletions: the run showed little`);
});

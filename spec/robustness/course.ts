import assert from 'node:assert/strict';
import { mock } from 'node:test';
import type { Fault } from '../../lib/simulator/hetzner/faults.ts';
import { type Balanced, balanced } from '../support/balanced.ts';
import { createTrace, type Interleaving, interleaved } from '../support/interleaving.ts';
import type { KubeObject } from '../support/kube-client.ts';
import { createNode, deleteNode, setReady } from '../support/nodes.ts';
import { type Numbers, numbers } from '../support/random.ts';
import { deleteService } from '../support/services.ts';
import { type VirtualApp, type VirtualController, virtualApp } from '../support/virtual-app.ts';
import { assertAtRest } from './at-rest.ts';
import { createGuard, type Guard } from './guard.ts';

/** A small cluster and what happens to it, all of it chosen by one seed. */
export interface Course {
  readonly seed: number;
  readonly v: VirtualApp;
  readonly balanced: Balanced;
  /** Ids of the networks nodes live in. */
  readonly networks: readonly number[];
  /** What the controllers are asked to do. */
  readonly ipam: boolean;
  readonly faulty: boolean;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const names = Array.from({ length: 7 }, (_, i) => `w${i + 1}`);
const services = ['web', 'api'];

const hetznerFaults: readonly Fault[] = [
  { kind: 'error', status: 500, code: 'server_error' },
  { kind: 'error', status: 503, code: 'unavailable' },
  { kind: 'error', status: 423, code: 'locked' },
  { kind: 'error', status: 409, code: 'conflict' },
  { kind: 'error', status: 429, code: 'rate_limit_exceeded' },
  { kind: 'html', status: 502 },
  { kind: 'reset' },
  { kind: 'reset-after-effect' },
  { kind: 'lost-after-effect' },
  { kind: 'truncated' },
  { kind: 'action', error: { code: 'server_error', message: 'it failed' } },
];
const kubernetesFaults = [
  { kind: 'status', code: 409 },
  { kind: 'status', code: 500 },
  { kind: 'status', code: 429 },
  { kind: 'reset' },
  { kind: 'reset', after: true },
  { kind: 'delay', ms: 5_000 },
] as const;

export const providerIDOf = (node: KubeObject): string => String(node.spec.providerID ?? '');
export const nodesOf = (v: VirtualApp): KubeObject[] => v.kubernetes.list('/api/v1/nodes') as unknown as KubeObject[];

/** The server of a node, by its provider ID, else by its name. */
export const serverOf = (v: VirtualApp, node: KubeObject) => {
  const id = /^hcloud:\/\/(\d+)$/.exec(providerIDOf(node))?.[1];
  return id === undefined ? v.hetzner.servers.byName(node.metadata.name) : v.hetzner.servers.get(Number(id));
};

/** A node that nothing happens to: where no server of the cluster is known, no list is believed. */
const witness = 'cp';
const workers = (v: VirtualApp) => v.hetzner.servers.list().filter(({ name }) => name !== witness);

/** Without it pod CIDRs are not allocated. Rarer than usual, for most of its requests tell nothing here. */
const election = [
  '--leader-elect=true',
  '--leader-elect-lease-duration=60s',
  '--leader-elect-renew-deadline=40s',
  '--leader-elect-retry-period=15s',
];

interface Play {
  readonly course: Course;
  readonly random: Numbers;
  readonly guard: Guard;
  readonly start: () => VirtualController;
  readonly note: (what: string) => void;
  controller: VirtualController;
  isDown: boolean;
  address: number;
}

const newAddress = (play: Play): { network: number; ip: string } => {
  const { networks } = play.course;
  const k = play.random.upTo(networks.length);
  play.address += 1;
  return { network: networks[k] as number, ip: `10.${k + 1}.1.${play.address % 250}` };
};
const newServer = (play: Play, name: string): void => {
  play.course.v.hetzner.servers.create({ name, ...newAddress(play) });
};
const join = ({ course: { v, ipam }, random }: Play, name: string): Promise<KubeObject> =>
  createNode(v, {
    name,
    ready: name === witness || random.chance(0.7),
    ...(!ipam && { podCIDRs: [`10.244.${names.indexOf(name) + 9}.0/24`] }),
  });

/** What may happen, with how often it does. */
const events: readonly (readonly [weight: number, what: string, act: (play: Play) => unknown])[] = [
  [
    8,
    'create',
    play => {
      const { hetzner } = play.course.v;
      const name = play.random.one(names.filter(one => hetzner.servers.byName(one) === undefined));
      if (name !== undefined) newServer(play, name);
    },
  ],
  [
    14,
    'join',
    play => {
      const { v } = play.course;
      const name = play.random.one(names.filter(one => v.node(one) === undefined));
      return name === undefined ? undefined : join(play, name);
    },
  ],
  [
    5,
    'server gone',
    ({ course: { v }, random }) => {
      const server = random.one(workers(v));
      if (server !== undefined) v.hetzner.servers.remove(server.id);
    },
  ],
  [
    4,
    'server made anew',
    play => {
      const { servers } = play.course.v.hetzner;
      const server = play.random.one(workers(play.course.v).filter(({ name }) => names.includes(name)));
      if (server === undefined) return;
      servers.remove(server.id);
      newServer(play, server.name);
    },
  ],
  [
    2,
    'server renamed',
    ({ course: { v }, random }) => {
      const server = random.one(workers(v));
      if (server !== undefined) v.hetzner.servers.rename(server.id, `renamed-${server.id}`);
    },
  ],
  [
    6,
    'server moved',
    play => {
      const { servers } = play.course.v.hetzner;
      const server = play.random.one(workers(play.course.v));
      if (server === undefined) return;
      for (const { network } of server.privateNets) servers.detach(server.id, network);
      if (play.random.chance(0.2)) return;
      const { network, ip } = newAddress(play);
      servers.attach(server.id, network, { ip });
    },
  ],
  [
    4,
    'power',
    ({ course: { v }, random }) => {
      const server = random.one(workers(v));
      if (server !== undefined) v.hetzner.servers.setStatus(server.id, random.chance(0.5) ? 'off' : 'running');
    },
  ],
  [
    14,
    'ready',
    ({ course: { v }, random }) => {
      const node = random.one(nodesOf(v).filter(({ metadata }) => metadata.name !== witness));
      if (node === undefined) return;
      const isUp = serverOf(v, node)?.status === 'running';
      return setReady(v, node.metadata.name, random.chance(0.2) !== isUp ? 'True' : 'Unknown', v.now());
    },
  ],
  [
    4,
    'user deletes',
    async play => {
      const { v } = play.course;
      const node = play.random.one(nodesOf(v).filter(({ metadata }) => metadata.name !== witness));
      if (node === undefined) return;
      await deleteNode(v, node.metadata.name);
      if (play.random.chance(0.6)) await join(play, node.metadata.name);
    },
  ],
  [
    7,
    'Service',
    async ({ course: { v, balanced: b, networks }, random }) => {
      const name = random.one(services) as string;
      const ports = random.chance(0.5) ? [80] : [80, 443];
      const spec = { ports: ports.map(port => ({ name: `p${port}`, port, protocol: 'TCP' })) };
      const isPrivate = networks.length === 1;
      const found = b.service(name);
      if (found === undefined) await b.create(name, isPrivate ? { 'use-private-ip': 'true' } : {}, spec);
      else if (found.metadata.deletionTimestamp === undefined) {
        if (random.chance(0.4)) await deleteService(v, name);
        else await b.change(name, {}, spec);
      }
    },
  ],
  [
    4,
    'watch',
    ({ course: { v }, random }) => {
      const how = random.upTo(4);
      if (how === 0) v.kubernetes.compact({ gone: random.chance(0.5) ? 'event' : 'http' });
      else if (how === 1) v.kubernetes.endWatches();
      else v.kubernetes.cutWatches();
    },
  ],
  [
    2,
    'lock',
    ({ course: { v, networks }, random }) => {
      v.hetzner.networks.lock(random.one(networks) as number, random.upTo(10 * SECOND));
    },
  ],
  [
    5,
    'fault of Hetzner',
    ({ course: { v, faulty }, random }) => {
      const fault = random.one(hetznerFaults) as Fault;
      if (faulty) v.hetzner.faults.add({ ...fault, times: 1 + random.upTo(3), skip: random.upTo(3) });
    },
  ],
  [
    5,
    'fault of Kubernetes',
    ({ course: { v, faulty }, controller, random }) => {
      const fault = random.one(kubernetesFaults) as (typeof kubernetesFaults)[number];
      const verb = random.chance(0.5) ? { verb: ['patch', 'delete'] as const } : {};
      if (faulty) v.kubernetes.faults.add({ user: controller.user, ...verb, fault, times: 1 + random.upTo(3) });
    },
  ],
  [
    1,
    'restart',
    async play => {
      await play.controller[play.random.chance(0.5) ? 'stop' : 'kill']();
      play.guard.restarted(play.controller);
      play.isDown = true;
    },
  ],
];
const lots = events.flatMap(event => Array<(typeof events)[number]>(event[0]).fill(event));

/** ms to the next event: mostly so short that the work of the last one is under way. */
const pause = (random: Numbers): number => {
  const sort = random.next();
  return random.upTo(sort < 0.5 ? 25 : sort < 0.85 ? SECOND : 20 * SECOND);
};

/** Faults end, all servers have an address, and each kubelet says how it is. */
const settleWorld = async (play: Play): Promise<void> => {
  const { v, networks } = play.course;
  const { servers, faults } = v.hetzner;
  faults.clear();
  v.kubernetes.faults.clear();
  for (const { id, privateNets } of servers.list()) {
    if (privateNets.some(net => networks.includes(net.network))) continue;
    const { network, ip } = newAddress(play);
    servers.attach(id, network, { ip });
  }
  await tellTheTruth(v);
  // A node that was just being tied to a server that is no more stands for that one, which nobody could know before.
  await v.advance(2 * MINUTE);
  await tellTheTruth(v);
};

const tellTheTruth = async (v: VirtualApp): Promise<void> => {
  for (const node of nodesOf(v)) {
    const isUp = serverOf(v, node)?.status === 'running';
    await setReady(v, node.metadata.name, isUp ? 'True' : 'Unknown', v.now());
  }
};

/** Plays the course of a seed. @returns the digest of its trace @throws what went wrong, with the last events */
export async function playCourse(seed: number, steps: number): Promise<string> {
  const endings: (() => unknown)[] = [];
  const random = numbers(seed);
  let now = (): number => 0;
  const trace = createTrace(() => now());
  const recent: string[] = [];
  const note = (what: string): void => {
    trace.note(what);
    recent.push(`${new Date(now()).toISOString()} ${what}`);
    if (recent.length > 40) recent.shift();
  };
  const guard = createGuard();
  let said = (): readonly string[] => [];
  const interleaving: Interleaving = {
    random,
    between: (api, exchanger) => interleaved(guard.between(api, exchanger), random, trace),
  };
  const networkChanges = random.one(['parallel', 'locked', 'conflict'] as const) ?? 'parallel';
  const v = virtualApp({ mock, after: end => void endings.push(end) }, { networkChanges }, interleaving);
  now = v.now;
  try {
    const count = random.chance(0.35) ? 3 : 1;
    const networks = Array.from({ length: count }, (_, k) => {
      const ipRange = `10.${k + 1}.0.0/16`;
      return v.hetzner.networks.create({ name: `net-${k}`, ipRange, subnets: [ipRange] }).id;
    });
    const [ipam, faulty] = [random.chance(0.3), random.chance(0.5)];
    const course: Course = { seed, v, balanced: balanced(v), networks, ipam, faulty };
    const env = {
      HCLOUD_NETWORK: 'net-0',
      HCLOUD_NODE_IPAM: String(ipam),
      ...(count > 1 && { HCLOUD_WORKER_NETWORK_PREFIX: 'net-' }),
    };
    const args = ['--log-level=debug', ...(ipam ? election : [])];
    const start = (): VirtualController => v.start({ env, args });
    guard.watch(course);
    const play: Play = { course, random, guard, note, start, controller: start(), isDown: false, address: 1 };
    said = () => play.controller.lines().map(line => JSON.stringify(line));
    for (const name of [witness, ...names.slice(0, 4)]) {
      newServer(play, name);
      await join(play, name);
    }
    for (let step = 0; step < steps; step += 1) {
      const [, what, act] = random.one(lots) as (typeof events)[number];
      note(what);
      await v.settled(Promise.resolve(act(play)).then(() => undefined));
      // What a process has under way at Hetzner when it ends is over before the next one starts, for of that it cannot know.
      await v.advance(play.isDown ? 5 * SECOND : pause(random));
      if (play.isDown) Object.assign(play, { isDown: false, controller: start() });
      assert.equal(play.controller.error(), undefined);
    }
    note('rest');
    await settleWorld(play);
    await v.advance(40 * MINUTE);
    await assertAtRest(course, play.controller.user);
    guard.restarted(play.controller);
    assert.deepEqual(guard.violations, []);
    return trace.digest();
  } catch (err) {
    const text = err instanceof Error ? err.message : String(err);
    const lines = said().filter(line => !line.includes('"level":"debug"'));
    const story = [...recent, ...lines.slice(-30)].join('\n');
    throw new Error(`SEED=${seed} STEPS=${steps}: ${text}\n${story}`, { cause: err });
  } finally {
    for (const end of endings) await end();
    mock.timers.reset();
  }
}

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Fault } from '../../lib/simulator/kubernetes/faults.ts';
import { watchAllocations } from '../support/allocations.ts';
import type { KubeObject } from '../support/kube-client.ts';
import { createNode, heartbeat, nodePath } from '../support/nodes.ts';
import { numbers } from '../support/random.ts';
import { type VirtualController, virtualApp } from '../support/virtual-app.ts';

/**
 * Nodes that join and leave two networks with room for eight pod CIDRs each, while two replicas take turns, are killed
 * with writes under way, restarted, cut off and refused, at random: SEED and STEPS in the environment choose another life.
 * No pod CIDR is ever given twice, none from outside of its range, and in the end every one can be given.
 */
const seed = Number(process.env.SEED ?? 1);
const steps = Number(process.env.STEPS ?? 600);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const args = [
  '--leader-elect=true',
  '--leader-elect-lease-duration=6s',
  '--leader-elect-renew-deadline=4s',
  '--leader-elect-retry-period=1s',
  '--controllers=node-ipam-controller,cloud-node',
];
const ranges = { first: '10.244.0.0/21', second: '10.244.8.0/21' } as const;
const room = 8;
const env = {
  HCLOUD_NODE_IPAM: 'true',
  HCLOUD_NETWORK: 'first',
  HCLOUD_WORKER_NETWORK_PREFIX: 'second',
  HCLOUD_NETWORK_POD_CIDRS: `first=${ranges.first},second=${ranges.second}`,
};
type Network = keyof typeof ranges;

/** Of writes that give a pod CIDR. */
const body = /podCIDR/;

/** Trouble of writes to Nodes. */
const faults: readonly Fault[] = [
  { kind: 'reset' },
  { kind: 'reset', after: true },
  { kind: 'status', code: 409 },
  { kind: 'status', code: 500 },
  { kind: 'status', code: 503, retryAfter: 2 },
  { kind: 'hang' },
  { kind: 'delay', ms: 3 * SECOND },
  { kind: 'late', ms: 8 * SECOND },
  { kind: 'late', ms: 40 * SECOND },
];

it(`gives no pod CIDR twice, none from outside of its range, and loses none (SEED=${seed}, ${steps} steps)`, async t => {
  const v = virtualApp(t, { keepRequests: 100 });
  const random = numbers(seed);
  const networks = {
    first: v.hetzner.networks.create({ name: 'first', ipRange: '172.16.0.0/16', subnets: ['172.16.0.0/16'] }).id,
    second: v.hetzner.networks.create({ name: 'second', ipRange: '192.168.0.0/16', subnets: ['192.168.0.0/16'] }).id,
  };
  const networkOf = (name: string): Network => (name.startsWith('a') ? 'first' : 'second');
  const all = watchAllocations(v.kubernetes, node => ranges[networkOf(node.metadata.name)]);
  const nodes = (): KubeObject[] => v.kubernetes.list('/api/v1/nodes') as unknown as KubeObject[];
  const recent: string[] = [];
  const happened = new Map<string, number>();
  const note = (what: string): void => {
    recent.push(`${new Date(v.now()).toISOString()} ${what}`);
    if (recent.length > 40) recent.shift();
    const kind = what.split(' ')[0] as string;
    happened.set(kind, (happened.get(kind) ?? 0) + 1);
  };
  const check = (): void => {
    try {
      all.check();
    } catch (err) {
      const said = replicas.flatMap(one => one.lines()).filter(({ msg }) => String(msg).includes('pod CIDR'));
      const story = said.slice(-20).map(line => JSON.stringify(line));
      throw new Error(`${err instanceof Error ? err.message : err}\n${[...recent, ...story].join('\n')}`);
    }
  };

  let count = 0;
  const replicas: VirtualController[] = [v.start({ args, env }), v.start({ args, env })];
  const replace = async (how: 'kill' | 'stop', index: number): Promise<void> => {
    await replicas[index]?.[how]();
    replicas[index] = v.start({ args, env });
  };
  const leader = (): number => {
    const lease = v.kubernetes.get(
      '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager',
    ) as unknown as KubeObject | undefined;
    const holder = String((lease?.spec as { holderIdentity?: string } | undefined)?.holderIdentity);
    return Math.max(
      0,
      replicas.findIndex(({ user }) => holder === user),
    );
  };
  const join = async (network: Network, attached = true): Promise<string> => {
    count += 1;
    const name = `${network === 'first' ? 'a' : 'b'}${count}`;
    v.hetzner.servers.create({ name, ...(attached && { network: networks[network] }) });
    await createNode(v, { name });
    return name;
  };
  const attach = (name: string): void => {
    const server = v.hetzner.servers.byName(name);
    if (server?.privateNets.length === 0) v.hetzner.servers.attach(server.id, networks[networkOf(name)]);
  };
  const leave = (name: string): void => {
    v.kubernetes.delete(nodePath(name));
    const server = v.hetzner.servers.byName(name);
    if (server !== undefined) v.hetzner.servers.remove(server.id);
  };

  const actions: Readonly<Record<string, readonly [share: number, act: () => unknown]>> = {
    join: [
      30,
      async () => {
        const many = random.chance(0.2) ? 1 + random.upTo(4) : 1;
        for (let i = 0; i < many && nodes().length < 20; i += 1) await join(random.chance(0.5) ? 'first' : 'second');
      },
    ],
    leave: [
      25,
      () => {
        const node = random.one(nodes());
        if (node !== undefined) leave(node.metadata.name);
      },
    ],
    again: [
      3,
      async () => {
        const node = random.one(nodes());
        if (node === undefined) return;
        v.kubernetes.delete(nodePath(node.metadata.name));
        await createNode(v, { name: node.metadata.name });
      },
    ],
    heartbeat: [
      10,
      async () => {
        const node = random.one(nodes());
        if (node !== undefined) await heartbeat(v, node.metadata.name);
      },
    ],
    fault: [
      20,
      () => {
        const fault = random.one(faults);
        if (fault === undefined) return;
        v.kubernetes.faults.add({
          fault,
          path: '/api/v1/nodes/',
          verb: 'patch',
          ...(random.chance(0.7) && { body }),
          ...(random.chance(0.5) && { user: replicas[random.upTo(2)]?.user ?? '' }),
          times: 1 + random.upTo(3),
        });
      },
    ],
    kill: [3, () => replace('kill', random.chance(0.8) ? leader() : random.upTo(2))],
    /**
     * With its last writes under way, that land when another one leads. That one may not know of the nodes they go to,
     * begins elsewhere in the range, and has a node to serve that could not be served before.
     */
    die: [
      8,
      async () => {
        const index = leader();
        const [leading, successor] = [replicas[index]?.user ?? '', replicas[1 - index]?.user ?? ''];
        const network = random.chance(0.5) ? 'first' : 'second';
        for (let i = random.upTo(room); i > 0; i -= 1) {
          const node = nodes().find(({ metadata }) => networkOf(metadata.name) === network);
          if (node !== undefined) leave(node.metadata.name);
        }
        const unattached = random.chance(0.6) ? await join(network, false) : undefined;
        const passing: string[] = [];
        for (let i = random.upTo(3); i > 0; i -= 1) passing.push(await join(network));
        await v.advance(random.upTo(3) * SECOND);
        passing.forEach(leave);
        const blind = random.chance(0.6);
        if (blind) v.kubernetes.freezeWatches({ path: '/api/v1/nodes', user: successor });
        const ms = (5 + random.upTo(30)) * SECOND;
        v.kubernetes.faults.add({ path: '/api/v1/nodes/', body, user: leading, fault: { kind: 'late', ms } });
        const last: string[] = [];
        for (let i = random.upTo(2); i >= 0; i -= 1) last.push(await join(network));
        await v.advance(random.upTo(3) * SECOND);
        await replace('kill', index);
        if (unattached !== undefined) attach(unattached);
        if (random.chance(0.6)) {
          for (const name of last)
            v.kubernetes.faults.add({
              path: nodePath(name),
              body,
              user: successor,
              fault: { kind: 'hang' },
              times: 1,
            });
        }
        await v.advance(random.upTo(12) * SECOND);
        if (blind) v.kubernetes.cutWatches({ path: '/api/v1/nodes', user: successor });
      },
    ],
    stop: [3, () => replace('stop', random.upTo(2))],
    freeze: [
      6,
      () => v.kubernetes.freezeWatches({ path: '/api/v1/nodes', user: replicas[random.upTo(2)]?.user ?? '' }),
    ],
    cut: [6, () => v.kubernetes.cutWatches({ path: '/api/v1/nodes' })],
    compact: [1, () => v.kubernetes.compact()],
  };
  const lots = Object.entries(actions).flatMap(([name, [share]]) => Array(share).fill(name) as string[]);

  for (let step = 0; step < steps; step += 1) {
    const name = random.one(lots) as string;
    note(name);
    await v.settled(Promise.resolve(actions[name]?.[1]()).then(() => undefined));
    await v.advance(random.chance(0.05) ? random.upTo(2 * MINUTE) : random.upTo(4 * SECOND));
    check();
  }

  for (const { metadata } of nodes()) attach(metadata.name);
  // When all trouble is over every node has one as long as there are any, and none is lost.
  v.kubernetes.faults.clear();
  v.kubernetes.cutWatches();
  for (const index of [0, 1]) await replace('stop', index);
  for (let i = 0; i < 2 * room; i += 1) for (const network of ['first', 'second'] as const) await join(network);
  await v.advance(30 * MINUTE);
  check();
  for (const network of ['first', 'second'] as const) {
    const given = [...all.now()].filter(([name]) => networkOf(name) === network).map(([, podCIDR]) => podCIDR);
    assert.equal(new Set(given).size, room, `${network}: ${given.sort()}`);
  }
  while (nodes().some(({ spec }) => spec.podCIDR === undefined)) {
    const gone = nodes().find(({ spec }) => spec.podCIDR !== undefined);
    leave(gone?.metadata.name as string);
    const waiting = nodes().filter(({ spec }) => spec.podCIDR === undefined).length;
    await v.advance(2 * SECOND);
    const left = nodes().filter(({ spec }) => spec.podCIDR === undefined).length;
    const mayHelp = nodes().some(
      ({ spec, metadata }) =>
        spec.podCIDR === undefined && networkOf(metadata.name) === networkOf(String(gone?.metadata.name)),
    );
    assert.ok(left < waiting || !mayHelp, 'what is freed goes to a node that waits');
  }
  check();
  t.diagnostic(`${all.count()} allocations; ${[...happened].map(([what, often]) => `${often} ${what}`).join(', ')}`);
});

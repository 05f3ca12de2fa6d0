import { loadavg } from 'node:os';
import { serverAddresses } from '../../lib/controllers/node/addresses.ts';
import { cloudProviderID } from '../../lib/hetzner/provider-id.ts';
import type { Server } from '../../lib/hetzner/types.ts';
import { eventually } from '../support/cluster.ts';
import type { ControllerProcess } from '../support/controller-process.ts';
import { UNINITIALIZED } from '../support/nodes.ts';
import { startProxy, type TCPProxy } from '../support/proxy.ts';
import { isInitialised, type StartOptions } from '../support/scenario.ts';
import type { FigureName, Result } from './figures.ts';
import { observe, spread } from './observer.ts';
import { type Bench, inParallel, type Project, range, sleep, withProject } from './project.ts';

const patience = 300_000;
/** A network of Hetzner holds 100 servers, so without several networks a cluster of this size has none. */
const withoutRoutes: StartOptions = {
  args: ['--configure-cloud-routes=false'],
  env: { HCLOUD_NETWORK: undefined },
};

/** What the kubelet of a node that has been at work reports of its images is most of the Node: it has 7 kB on the wire. */
const images = range(1, 25).map(i => ({
  names: [
    `registry.example.com/platform/component-${i}@sha256:${String(i).padStart(64, 'a')}`,
    `registry.example.com/platform/component-${i}:v1.${i}.0`,
  ],
  sizeBytes: 10_000_000 + i,
}));

interface Member {
  readonly name: string;
  /** Of a node that was initialised long ago. */
  readonly server?: Server;
  /** And, where it has one, routed. */
  readonly podCIDR?: string;
}

/** A Node as a kubelet registers it, in one request, or as a controller has left it. */
const register = ({ cluster }: Project, { name, server, podCIDR }: Member): Promise<unknown> => {
  const at = new Date().toISOString();
  const condition = (type: string, status: string, reason: string) => ({
    ...{ type, status, reason, lastHeartbeatTime: at, lastTransitionTime: at },
  });
  return cluster.client.must('POST', '/api/v1/nodes', {
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' },
    },
    spec: {
      ...(podCIDR !== undefined && { podCIDR, podCIDRs: [podCIDR] }),
      ...(server === undefined
        ? { taints: [{ key: UNINITIALIZED, value: 'true', effect: 'NoSchedule' }] }
        : { providerID: cloudProviderID(server.id) }),
    },
    status: {
      addresses:
        server === undefined
          ? [{ type: 'Hostname', address: name }]
          : serverAddresses(server, { family: 'ipv4', networkID: server.privateNets[0]?.network }),
      nodeInfo: { kubeletVersion: 'v1.37.2', architecture: 'amd64', operatingSystem: 'linux' },
      ...(server !== undefined && { images }),
      conditions: [
        ...['MemoryPressure', 'DiskPressure', 'PIDPressure'].map(type =>
          condition(type, 'False', 'KubeletHasNoPressure'),
        ),
        condition('Ready', 'True', 'KubeletReady'),
        ...(podCIDR === undefined ? [] : [condition('NetworkUnavailable', 'False', 'RouteCreated')]),
      ],
    },
  });
};

const registerAll = (project: Project, members: readonly Member[]): Promise<void> =>
  inParallel(
    20,
    members.map(member => () => register(project, member)),
  );

/** The controller behind a proxy that counts what it and the Kubernetes API tell each other. */
const launch = async (
  project: Project,
  options: StartOptions,
): Promise<{ controller: ControllerProcess; proxy: TCPProxy }> => {
  const proxy = await startProxy(Number(new URL(project.cluster.url).port));
  const controller = await project.launch({ ...options, kubernetesURL: `https://127.0.0.1:${proxy.port}` });
  return { controller, proxy };
};

/** Load of the machine over the last minute: times are worth little where it is above the number of cores without us. */
const load = (): string => loadavg()[0]?.toFixed(1) ?? '';

const mebibytes = (bytes: number): number => bytes / 2 ** 20;

/** Nodes that join a cluster without routes, all at once. */
export const joinMany = (bench: Bench, count = 1_000): Promise<Result[]> =>
  withProject(bench, { keepRequests: 100_000 }, async project => {
    const { hetzner, cluster } = project;
    const names = range(1, count).map(i => `w${i}`);
    for (const name of names) hetzner.servers.create({ name });
    const { controller, proxy } = await launch(project, withoutRoutes);
    await controller.waitForLine(({ msg }) => msg === 'Became the leader', 'the leader');
    // The list of the start is too old to tell about nodes that join now.
    await sleep(11_000);
    await project.settledRequests();
    hetzner.clearRequests();
    const before = { bytes: proxy.bytes(), cpu: controller.usage().cpuSeconds };
    const observer = await observe(project);
    const from = Date.now();
    await registerAll(
      project,
      names.map(name => ({ name })),
    );
    const registered = Date.now() - from;
    await eventually(
      'all are initialised',
      async () => {
        const initialised = controller.lines().filter(({ msg }) => msg === 'Initialised node').length;
        return initialised >= count ? true : undefined;
      },
      patience,
    );
    const took = Date.now() - from;
    const { all, byRoute } = await project.settledRequests();
    const { memoryMiB, peakMiB, cpuSeconds } = controller.usage();
    const bytes = proxy.bytes() - before.bytes;
    const { initialised } = observer.finish();
    const { items } = await cluster.client.must('GET', '/api/v1/nodes');
    const broken = items.every(isInitialised) ? {} : { broken: 'not all are initialised' };
    await controller.stop();
    await proxy.close();
    return [
      { row: 'join-1000', ours: [all], note: byRoute, ...broken },
      {
        row: 'join-1000-initialised',
        ours: spread(initialised),
        note: `registered within ${registered} ms, the last initialised after ${took} ms, load ${load()}`,
      },
      {
        row: 'join-1000-resources',
        ours: [memoryMiB, cpuSeconds - before.cpu],
        note: `at most ${peakMiB.toFixed(1)} MiB`,
      },
      { row: 'join-1000-kubernetes', ours: [mebibytes(bytes)] },
    ];
  });

/** Work that asks for nothing, such as a look at each route, goes on when the last answer is there. */
const atRest = async (controller: ControllerProcess): Promise<void> => {
  for (let before = -1; controller.usage().cpuSeconds - before > 0.1; ) {
    before = controller.usage().cpuSeconds;
    await sleep(3_000);
  }
};

/** A controller that starts in a large cluster in which all is in order: what it costs to look. */
const takeOverMany = async (
  project: Project,
  rows: { readonly requests: FigureName; readonly resources: FigureName },
  options: StartOptions,
): Promise<Result[]> => {
  const { hetzner } = project;
  hetzner.clearRequests();
  const writesBefore = await nodeWrites(project);
  const spawned = Date.now();
  const { controller, proxy } = await launch(project, options);
  await eventually('it asks for servers', async () => hetzner.count({ route: '/servers' }) > 0 || undefined, patience);
  const { all, byRoute } = await project.settledRequests();
  const seconds = ((hetzner.requests.at(-1)?.at ?? Number.NaN) + hetzner.settings.answerDelay - spawned) / 1_000;
  await atRest(controller);
  const { memoryMiB, peakMiB, cpuSeconds } = controller.usage();
  const bytes = mebibytes(proxy.bytes());
  const writes = (await nodeWrites(project)) - writesBefore + hetzner.count() - hetzner.count({ method: 'GET' });
  await controller.stop();
  await proxy.close();
  return [
    {
      row: rows.requests,
      ours: [all, seconds],
      note: `${byRoute}; load ${load()}`,
      ...(writes > 0 && { broken: `${writes} writes` }),
    },
    { row: rows.resources, ours: [memoryMiB, cpuSeconds, bytes], note: `at most ${peakMiB.toFixed(1)} MiB` },
  ];
};

const nodeWrites = async ({ cluster }: Project): Promise<number> => {
  const seen = await cluster.requests();
  return seen.filter(({ user, verb, path }) => user === 'controller' && verb !== 'get' && path.includes('/nodes/'))
    .length;
};

/** Take-over of clusters without routes. */
export const takeOverWithoutRoutes = (bench: Bench, count: 1_000 | 5_000): Promise<Result[]> =>
  withProject(bench, { keepRequests: 100_000 }, async project => {
    const names = range(1, count).map(i => `w${i}`);
    await registerAll(
      project,
      names.map(name => ({ name, server: project.hetzner.servers.create({ name }) })),
    );
    const rows = { requests: `take-over-${count}`, resources: `take-over-${count}-resources` } as const;
    return takeOverMany(project, rows, withoutRoutes);
  });

/** Take-over of 5,000 nodes in 50 networks, each with its 100 routes. */
export const takeOverNetworks = (bench: Bench, networks = 50): Promise<Result[]> =>
  withProject(bench, { keepRequests: 100_000 }, async project => {
    const { hetzner } = project;
    const members = range(1, networks).flatMap(k => {
      const ipRange = `10.1.${k}.0/24`;
      const { id: network } = hetzner.networks.create({ name: `workers-${k}`, ipRange, subnets: [ipRange] });
      return range(1, 100).map(i => {
        const name = `w${k}-${i}`;
        const server = hetzner.servers.create({ name, network, ip: `10.1.${k}.${i + 1}` });
        const podCIDR = `10.${128 + k}.${i}.0/24`;
        hetzner.networks.addRoute(network, podCIDR, `10.1.${k}.${i + 1}`);
        return { name, server, podCIDR };
      });
    });
    await registerAll(project, members);
    const options = {
      args: ['--cluster-cidr=10.128.0.0/9'],
      env: { HCLOUD_NETWORK: 'workers-1', HCLOUD_WORKER_NETWORK_PREFIX: 'workers-' },
    };
    const rows = { requests: 'take-over-networks', resources: 'take-over-networks-resources' } as const;
    return takeOverMany(project, rows, options);
  });

export const scale = async (bench: Bench): Promise<Result[]> => [
  ...(await joinMany(bench)),
  ...(await takeOverWithoutRoutes(bench, 1_000)),
  ...(await takeOverWithoutRoutes(bench, 5_000)),
  ...(await takeOverNetworks(bench)),
];

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext } from 'node:test';
import { createFakeHetzner, type FakeHetzner, type FakeHetznerOptions } from '../../lib/simulator/hetzner/fake.ts';
import { type Listening, listenHetzner } from '../../lib/simulator/hetzner/listen.ts';
import { type Cluster, eventually, waitFor } from './cluster.ts';
import {
  type CommandOptions,
  type CommandResult,
  type ControllerProcess,
  runCommand,
  startController,
} from './controller-process.ts';
import { startEmbeddedCluster } from './embedded-cluster.ts';
import { type KubeObject, MERGE_PATCH } from './kube-client.ts';
import { parseLogLines } from './log-lines.ts';
import { createNode, type NodeOptions, nodePath, UNINITIALIZED } from './nodes.ts';
import { type RealClusterOptions, startRealCluster } from './real-cluster.ts';
import { servicePath, servicesPath } from './services.ts';

export const clusterCIDR = '10.244.0.0/16';

export interface StartOptions {
  /** Added to the usual flags; a later flag wins. */
  readonly args?: readonly string[];
  /** Added to the usual variables; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly nodeArgs?: readonly string[];
  /** URL of the Kubernetes API when it is not the cluster's own, such as a proxy in front of it. */
  readonly kubernetesURL?: string;
}

export interface ServerOptions {
  /** Last two parts of the private address 10.0.x.y; default 1.<number>. false: not attached to the network. */
  readonly ip?: string | false;
  readonly ipv4?: string | null;
  readonly ipv6?: string | null;
  readonly name?: string;
}

/** One fake project at Hetzner, one cluster, and the controllers a spec starts between them. */
export interface Scenario {
  readonly cluster: Cluster;
  readonly hetzner: FakeHetzner;
  readonly hetznerURL: string;
  /** Base URL of the Robot web service, for ROBOT_ENDPOINT; its login is `hetzner.robot.settings.login`. */
  readonly robotURL: string;
  readonly metadataURL: string;
  readonly token: string;
  /** Network `k8s`, 10.0.0.0/8 with the subnet 10.0.0.0/16. */
  readonly networkID: number;
  /** A URL of the fake of its own for HCLOUD_ENDPOINT: requests through it are recorded under this name. */
  endpoint(name: string): Promise<string>;
  start(options?: StartOptions): ControllerProcess;
  /** Runs another command of the program with the same flags and variables to its end. */
  command(name: string, options?: StartOptions & Pick<CommandOptions, 'stdout'>): Promise<CommandResult>;
  /** Server w<i>, attached with 10.0.1.<i>; returns its id. */
  addServer(i: number, options?: ServerOptions): number;
  /** Node w<i> with the pod CIDR 10.244.<i>.0/24, as its kubelet registers it. */
  join(i: number, options?: Partial<NodeOptions>): Promise<KubeObject>;
  waitInitialised(name: string, timeout?: number): Promise<KubeObject>;
  /** Waits until the network has the route and the node says so. */
  waitRouted(i: number, timeout?: number): Promise<void>;
  waitForNode(
    name: string,
    predicate: (node: KubeObject | undefined) => boolean,
    timeout?: number,
  ): Promise<KubeObject | undefined>;
  /** `destination gateway` of each route, sorted. */
  routes(): string[];
  /** Events about a Node: type, reason, message, count. */
  eventsOf(name: string): Promise<readonly KubeObject[]>;
}

/** The cluster of this run: `CLUSTER=real` is the real kube-apiserver, else the embedded one. */
export const clusterKind: Cluster['kind'] = process.env.CLUSTER === 'real' ? 'real' : 'embedded';

/**
 * Sets up the cluster of a spec file: started before its first spec, emptied after each. `scenario(t)` gives one spec a
 * fresh project; when the spec ends its controllers are stopped, and whatever they wrote is checked line by line: JSON
 * with known keys, and nowhere the token.
 */
export function scenarios(
  options: { readonly real?: RealClusterOptions } = {},
): (t: TestContext, hetzner?: FakeHetznerOptions) => Promise<Scenario> {
  let cluster: Cluster;
  before(async () => {
    cluster = clusterKind === 'real' ? await startRealCluster(options.real) : await startEmbeddedCluster();
  });
  after(() => cluster.close());
  return (t, hetzner) => createScenario(t, cluster, hetzner);
}

/** Sets one scenario up; what must be done at its end is handed to `t`. */
export async function createScenario(
  t: { after(end: () => Promise<void>): void },
  cluster: Cluster,
  options: FakeHetznerOptions = {},
): Promise<Scenario> {
  const token = randomBytes(32).toString('hex');
  const hetzner = createFakeHetzner({ token, actionDuration: 100, ...options });
  const listening: Listening = await listenHetzner(hetzner);
  const doors = [listening];
  const { id: networkID } = hetzner.networks.create({ name: 'k8s', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/16'] });
  const directory = mkdtempSync(join(tmpdir(), 'scenario-'));
  const controllers: ControllerProcess[] = [];
  /** Of other commands. */
  const outputs: string[] = [];
  writeFileSync(join(directory, 'token'), cluster.tokens.controller);
  writeFileSync(join(directory, 'ca.crt'), cluster.ca ?? '');
  writeFileSync(join(directory, 'namespace'), 'kube-system');

  /** In a pod's way where the API speaks https, else through the kubeconfig. */
  const connect = (url: string): { args: string[]; env: Record<string, string> } => {
    const { protocol, hostname, port } = new URL(url);
    if (protocol === 'http:') return { args: [`--kubeconfig=${cluster.kubeconfig}`, `--master=${url}`], env: {} };
    const env = {
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
      KUBERNETES_SERVICE_ACCOUNT_DIR: directory,
    };
    return { args: [], env };
  };

  const configure = ({ args = [], env = {}, nodeArgs, kubernetesURL = cluster.url }: StartOptions) => {
    const connection = connect(kubernetesURL);
    const variables: Record<string, string | undefined> = {
      HCLOUD_TOKEN: token,
      HCLOUD_ENDPOINT: listening.url,
      HCLOUD_NETWORK: 'k8s',
      HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: 'true',
      HCLOUD_METRICS_ADDRESS: '127.0.0.1:0',
      ...connection.env,
      ...env,
    };
    return {
      args: [
        '--cloud-provider=hcloud',
        '--allow-untagged-cloud',
        `--cluster-cidr=${clusterCIDR}`,
        '--secure-port=0',
        ...connection.args,
        ...args,
      ],
      env: Object.fromEntries(
        Object.entries(variables).filter((entry): entry is [string, string] => entry[1] !== undefined),
      ),
      ...(nodeArgs === undefined ? {} : { nodeArgs }),
    };
  };
  const start = (options: StartOptions = {}): ControllerProcess => {
    const controller = startController(configure(options));
    controllers.push(controller);
    return controller;
  };

  t.after(async () => {
    // A controller that a spec has paused must be woken to hear the signal.
    for (const controller of controllers) controller.kill('SIGCONT');
    await Promise.all(controllers.map(controller => controller.stop()));
    await Promise.all(doors.map(door => door.close()));
    await empty(cluster);
    rmSync(directory, { recursive: true, force: true });
    const secrets = [token, hetzner.robot.settings.login.password, cluster.tokens.controller];
    for (const controller of controllers) parseLogLines(controller.rawLines(), secrets);
    for (const output of [...outputs, ...controllers.map(controller => controller.output())])
      for (const secret of secrets) assert.ok(!output.includes(secret), 'a secret is in the output');
  });

  /** What the controllers said last belongs to the message of a wait that failed. */
  const explain = (err: unknown): never => {
    const said = controllers.map((controller, i) => `--- controller ${i}\n${controller.output().slice(-6_000)}`);
    throw new Error(`${err instanceof Error ? err.message : err}\n${said.join('\n')}`);
  };
  const waitForNode: Scenario['waitForNode'] = (name, predicate, timeout = 20_000) =>
    waitFor(cluster, nodePath(name), predicate, timeout).catch(explain);

  return {
    cluster,
    hetzner,
    hetznerURL: listening.url,
    robotURL: listening.robotUrl,
    metadataURL: listening.metadataUrl,
    token,
    networkID,
    endpoint: async name => {
      const door = await listenHetzner(hetzner, 0, name);
      doors.push(door);
      return door.url;
    },
    start,
    command: async (name, { stdout, ...options } = {}) => {
      const { args, ...rest } = configure(options);
      const result = await runCommand({ args: [name, ...args], ...rest, ...(stdout && { stdout }) });
      outputs.push(result.stdout + result.stderr);
      return result;
    },
    addServer: (i, server) => addServer(hetzner, networkID, i, server),
    join: (i, more = {}) => createNode(cluster, { name: `w${i}`, podCIDRs: [`10.244.${i}.0/24`], ...more }),
    waitForNode,
    waitInitialised: async (name, timeout) =>
      (await waitForNode(name, node => node !== undefined && isInitialised(node), timeout)) as KubeObject,
    waitRouted: async (i, timeout = 20_000) => {
      const wanted = `10.244.${i}.0/24 10.0.1.${i}`;
      const find = async () => routesOf(hetzner, networkID).find(route => route === wanted);
      await eventually(`route ${wanted}`, find, timeout).catch(explain);
      await waitForNode(`w${i}`, node => networkUnavailable(node) === 'False', timeout);
    },
    routes: () => routesOf(hetzner, networkID),
    eventsOf: async name => {
      const list = await cluster.client.must('GET', '/api/v1/namespaces/default/events');
      return list.items.filter(event => (event.involvedObject as { name?: string } | undefined)?.name === name);
    },
  };
}

export const isInitialised = (node: KubeObject): boolean =>
  ((node.spec?.taints ?? []) as { key: string }[]).every(taint => taint.key !== UNINITIALIZED) &&
  typeof node.spec?.providerID === 'string';

/** Status of the NetworkUnavailable condition. */
export const networkUnavailable = (node: KubeObject | undefined): string | undefined =>
  ((node?.status?.conditions ?? []) as { type: string; status: string }[]).find(c => c.type === 'NetworkUnavailable')
    ?.status;

/** Server w<i> in the network with 10.0.1.<i>, unless the options say otherwise; returns its id. */
export const addServer = (
  hetzner: FakeHetzner,
  networkID: number,
  i: number,
  { ip = `1.${i}`, name = `w${i}`, ipv4 = `203.0.113.${i}`, ...more }: ServerOptions = {},
): number =>
  hetzner.servers.create({ name, ipv4, ...more, ...(ip === false ? {} : { network: networkID, ip: `10.0.${ip}` }) }).id;

/** `destination gateway` of each route of the network, sorted. */
export const routesOf = (hetzner: FakeHetzner, networkID: number): string[] =>
  (hetzner.networks.get(networkID)?.routes ?? []).map(({ destination, gateway }) => `${destination} ${gateway}`).sort();

/** Removes what a spec may have left, so that the next one starts on an empty cluster. */
async function empty(cluster: Cluster): Promise<void> {
  const services = await cluster.client.must('GET', servicesPath());
  for (const { metadata } of services.items) {
    if (metadata.name === 'kubernetes') continue;
    await cluster.client.send('PATCH', servicePath(metadata.name), { metadata: { finalizers: null } }, MERGE_PATCH);
    await cluster.client.send('DELETE', servicePath(metadata.name));
  }
  const collections = [
    '/api/v1/nodes',
    '/api/v1/namespaces/default/events',
    '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases',
  ];
  for (const collection of collections) {
    const list = await cluster.client.must('GET', collection);
    for (const { metadata } of list.items) await cluster.client.send('DELETE', `${collection}/${metadata.name}`);
  }
}

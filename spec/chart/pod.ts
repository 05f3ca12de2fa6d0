import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { type Cluster, eventually } from '../support/cluster.ts';
import { type ControllerProcess, startController } from '../support/controller-process.ts';
import { parseLogLines } from '../support/log-lines.ts';
import type { Container, EnvItem, PodSpec, Probe } from './render.ts';

/** A container of a pod that was started as its spec says, without a kubelet. */
export interface Pod extends ControllerProcess {
  readonly name: string;
  readonly address: string;
  readonly spec: PodSpec;
  /** User name of its service account. */
  readonly user: string;
  /** Status of one look with a probe of the spec; undefined when nobody answers. */
  probe(kind: 'livenessProbe' | 'readinessProbe'): Promise<number | undefined>;
  /** What it serves on its port for metrics. */
  metrics(): Promise<string>;
  /** Waits until the readiness probe succeeds. */
  ready(): Promise<void>;
  /** SIGTERM; @throws when it is not gone within the grace period */
  terminate(): Promise<number | NodeJS.Signals>;
}

interface Owner {
  after(end: () => Promise<void>): void;
}

let pods = 0;

/** Each pod has an address of its own on loopback, as it would have its own network. */
const nextAddress = (): string => {
  pods += 1;
  return `127.${100 + (process.pid % 100)}.${(process.pid >> 8) % 200}.${pods}`;
};

const secretData = async (
  cluster: Cluster,
  namespace: string,
  name: string,
): Promise<Record<string, string> | undefined> => {
  const { status, body } = await cluster.client.send('GET', `/api/v1/namespaces/${namespace}/secrets/${name}`);
  if (status === 404) return undefined;
  const { data = {} } = body as unknown as { data?: Record<string, string> };
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
  );
};

/** What a kubelet calls CreateContainerConfigError. */
const configError = (message: string): Error => new Error(`CreateContainerConfigError: ${message}`);

const resolveVariable = async (
  cluster: Cluster,
  namespace: string,
  { name, value, valueFrom }: EnvItem,
  fields: Readonly<Record<string, string>>,
): Promise<string | undefined> => {
  if (value !== undefined || valueFrom === undefined) return value ?? '';
  if (valueFrom.fieldRef !== undefined) return fields[valueFrom.fieldRef.fieldPath];
  const from = valueFrom.secretKeyRef;
  if (from === undefined) throw configError(`${name}: ${JSON.stringify(valueFrom)}`);
  const data = await secretData(cluster, namespace, from.name);
  const found = data?.[from.key];
  if (found === undefined && from.optional !== true) {
    throw configError(
      data === undefined ? `secret "${from.name}" not found` : `no key ${from.key} in secret ${from.name}`,
    );
  }
  return found;
};

/** Writes the volumes into folders of the machine; returns how paths of the container are found there. */
const mount = async (cluster: Cluster, namespace: string, directory: string, spec: PodSpec, container: Container) => {
  const places: (readonly [string, string])[] = [];
  for (const { name, mountPath } of container.volumeMounts ?? []) {
    const place = join(directory, name);
    mkdirSync(place);
    places.push([mountPath, place]);
    const secret = spec.volumes?.find(volume => volume.name === name)?.secret?.secretName;
    if (secret === undefined) continue;
    const data = await secretData(cluster, namespace, secret);
    if (data === undefined) throw configError(`secret "${secret}" not found`);
    for (const [key, value] of Object.entries(data)) writeFileSync(join(place, key), value, { mode: 0o600 });
  }
  return (text: string): string =>
    places.reduce((path, [inside, outside]) => path.replaceAll(`${inside}/`, `${outside}/`), text);
};

/** What a kubelet mounts at /var/run/secrets/kubernetes.io/serviceaccount. */
const mountToken = async (cluster: Cluster, namespace: string, account: string, directory: string): Promise<string> => {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const answer = await cluster.client.must('POST', path, { spec: { expirationSeconds: 3600 } });
  const { token } = answer.status as { token: string };
  writeFileSync(join(directory, 'token'), token, { mode: 0o600 });
  writeFileSync(join(directory, 'ca.crt'), cluster.ca ?? '');
  writeFileSync(join(directory, 'namespace'), namespace);
  return token;
};

/**
 * Starts the one container of the pods of a workload as a kubelet would: flags, variables with their secrets, volumes, the
 * token of the service account, the address of the API server. What cannot be as in a pod: paths of volumes are those of the
 * machine, and the listeners bind to the pod's address alone.
 */
export const startPod = async (t: Owner, cluster: Cluster, workloadPath: string): Promise<Pod> => {
  const { metadata, spec: workloadSpec } = await cluster.client.must('GET', workloadPath);
  const { spec } = workloadSpec.template as { readonly spec: PodSpec };
  const namespace = metadata.namespace ?? '';
  const container = spec.containers[0] as Container;
  const address = nextAddress();
  const name = `${metadata.name}-${pods}`;
  const fields = {
    'metadata.name': name,
    'metadata.namespace': namespace,
    'spec.nodeName': 'node',
    'status.podIP': address,
  };
  const directory = mkdtempSync(join(tmpdir(), 'pod-'));
  const locate = await mount(cluster, namespace, directory, spec, container);
  const { hostname, port } = new URL(cluster.url);
  const env: Record<string, string> = {
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
    HCLOUD_METRICS_ADDRESS: `${address}:8233`,
  };
  const secrets: string[] = [];
  for (const item of container.env) {
    const value = await resolveVariable(cluster, namespace, item, fields);
    if (value === undefined) continue;
    env[item.name] = locate(value);
    if (item.valueFrom?.secretKeyRef !== undefined && item.name !== 'HCLOUD_NETWORK') secrets.push(value);
  }
  if (spec.automountServiceAccountToken !== false) {
    secrets.push(await mountToken(cluster, namespace, spec.serviceAccountName, directory));
    env.KUBERNETES_SERVICE_ACCOUNT_DIR = directory;
  }
  const bind = container.args.some(arg => arg.startsWith('--bind-address=')) ? [] : [`--bind-address=${address}`];
  const controller = startController({ args: [...container.args.map(locate), ...bind], env });
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });

  t.after(async () => {
    controller.kill('SIGCONT');
    await controller.stop();
    await dispatcher.destroy();
    rmSync(directory, { recursive: true, force: true });
    parseLogLines(controller.rawLines(), secrets);
  });

  const probe: Pod['probe'] = async kind => {
    const { httpGet } = container[kind] as Probe;
    const url = `${httpGet.scheme.toLowerCase()}://${httpGet.host ?? address}:${httpGet.port}${httpGet.path}`;
    const answer = await request(url, { dispatcher }).catch(() => undefined);
    await answer?.body.dump();
    return answer?.statusCode;
  };
  return {
    ...controller,
    name,
    address,
    spec,
    user: `system:serviceaccount:${namespace}:${spec.serviceAccountName}`,
    probe,
    metrics: async () => {
      const port = container.ports?.find(({ name: port }) => port === 'metrics')?.containerPort;
      return (await request(`http://${address}:${port}/metrics`)).body.text();
    },
    ready: async () => {
      await eventually(
        `${name} is ready`,
        async () => ((await probe('readinessProbe')) === 200 ? true : undefined),
        30_000,
      ).catch(err => {
        throw new Error(`${(err as Error).message}\n${controller.output()}`);
      });
    },
    terminate: async () => {
      controller.kill('SIGTERM');
      const grace = spec.terminationGracePeriodSeconds * 1000;
      const timer = setTimeout(() => controller.kill('SIGKILL'), grace);
      const end = await controller.exited;
      clearTimeout(timer);
      if (end === 'SIGKILL') throw new Error(`${name} was not gone after ${grace} ms`);
      return end;
    },
  };
};

/** All pods of a Deployment. */
export const startPods = async (t: Owner, cluster: Cluster, workloadPath: string): Promise<readonly Pod[]> => {
  const { spec } = await cluster.client.must('GET', workloadPath);
  const started: Pod[] = [];
  for (let i = 0; i < Number(spec.replicas); i++) started.push(await startPod(t, cluster, workloadPath));
  return started;
};

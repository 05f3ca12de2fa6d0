import assert from 'node:assert/strict';
import { loadAll } from 'js-yaml';
import { chartDirectory } from '../support/chart-values.ts';
import { helm, resolveHelm } from '../support/helm.ts';

export interface EnvItem {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean };
    readonly fieldRef?: { readonly fieldPath: string };
  };
}

export interface Probe {
  readonly httpGet: {
    readonly path: string;
    readonly port: number;
    readonly scheme: 'HTTP' | 'HTTPS';
    readonly host?: string;
  };
  readonly periodSeconds?: number;
  readonly failureThreshold?: number;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly EnvItem[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface PodSpec {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken?: boolean;
  readonly hostNetwork?: boolean;
  readonly dnsPolicy: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations: readonly Readonly<Record<string, string>>[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly Container[];
  readonly volumes?: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
}

/** An object as the chart renders it: only the fields that specs look at are typed. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
  readonly rules?: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

export interface RenderOptions {
  readonly release?: string;
  readonly namespace?: string;
  readonly apiVersions?: readonly string[];
  readonly chart?: string;
}

/** For `skip`: false where Helm is there. */
export const skipWithoutHelm = async (): Promise<string | false> => {
  const found = await resolveHelm();
  return typeof found === 'string' ? found : false;
};

const template = (values: unknown, options: RenderOptions) => {
  const { release = 'hccm', namespace = 'kube-system', apiVersions = [], chart = chartDirectory } = options;
  const apis = apiVersions.flatMap(version => ['--api-versions', version]);
  return helm(['template', release, chart, '--namespace', namespace, ...apis], { values });
};

/** The text of `helm template`. */
export const renderText = async (values: unknown, options: RenderOptions = {}): Promise<string> => {
  const { code, stdout, stderr } = await template(values, options);
  assert.equal(code, 0, stderr);
  return stdout;
};

/** The objects of `helm template`. */
export const render = async (values: unknown, options: RenderOptions = {}): Promise<readonly Rendered[]> =>
  loadAll(await renderText(values, options)).filter(object => object !== null && object !== undefined) as Rendered[];

/** What Helm says to values it refuses. */
export const refusal = async (values: unknown): Promise<string> => {
  const { code, stderr } = await template(values, {});
  assert.notEqual(code, 0, 'the values were taken');
  return stderr;
};

export const only = (objects: readonly Rendered[], kind: string): Rendered => {
  const found = objects.filter(object => object.kind === kind);
  assert.equal(found.length, 1, `${kind}: ${found.length}`);
  return found[0] as Rendered;
};

export const workload = (objects: readonly Rendered[]): Rendered =>
  objects.find(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet') ?? assert.fail('no workload');

export const podSpec = (objects: readonly Rendered[]): PodSpec =>
  (workload(objects).spec.template as { readonly spec: PodSpec }).spec;

export const container = (objects: readonly Rendered[]): Container => {
  const [found, ...others] = podSpec(objects).containers;
  assert.deepEqual(others, []);
  return found as Container;
};

/** Variables by name; a value that comes from elsewhere as "secret/key" or as the path of the field. */
export const envOf = (objects: readonly Rendered[]): Readonly<Record<string, string>> => {
  const items = container(objects).env;
  assert.equal(new Set(items.map(({ name }) => name)).size, items.length, 'each variable once');
  return Object.fromEntries(
    items.map(({ name, value, valueFrom }) => {
      const secret = valueFrom?.secretKeyRef;
      return [name, value ?? (secret ? `${secret.name}/${secret.key}` : (valueFrom?.fieldRef?.fieldPath ?? '?'))];
    }),
  );
};

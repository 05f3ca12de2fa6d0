import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { resolveAssets } from '../support/assets.ts';
import { chartDirectory } from '../support/chart-values.ts';
import type { Cluster } from '../support/cluster.ts';
import { helm } from '../support/helm.ts';
import { writeKubeconfig } from '../support/kubeconfig.ts';
import { startRealCluster } from '../support/real-cluster.ts';
import type { Scenario } from '../support/scenario.ts';
import { skipWithoutHelm } from './render.ts';

/** For `skip`: false where both Helm and the real API server are there. */
export const skipWithoutCluster = async (): Promise<string | false> => {
  const found = await resolveAssets();
  return typeof found === 'string' ? found : skipWithoutHelm();
};

/** A real cluster, and Helm with the rights of an admin on it. */
export interface HelmCluster {
  cluster(): Cluster;
  /** `helm upgrade --install`. @throws what Helm says */
  install(release: string, values: unknown, chart?: string): Promise<void>;
  run(args: readonly string[]): Promise<string>;
}

/** Sets the cluster of a suite up. */
export const helmCluster = (): HelmCluster => {
  let cluster: Cluster | undefined;
  let kubeconfig = '';
  before(async () => {
    cluster = await startRealCluster({ controllerRules: [] });
    kubeconfig = join(mkdtempSync(join(tmpdir(), 'helm-')), 'kubeconfig');
    writeKubeconfig(kubeconfig, cluster.url, cluster.tokens.admin, cluster.ca);
  });
  after(async () => {
    await cluster?.close();
    rmSync(join(kubeconfig, '..'), { recursive: true, force: true });
  });
  const run = async (args: readonly string[], values?: unknown): Promise<string> => {
    const { code, stdout, stderr } = await helm([...args, '--namespace', 'kube-system'], { kubeconfig, values });
    assert.equal(code, 0, `helm ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  return {
    cluster: () => cluster ?? assert.fail('the cluster is not up'),
    install: async (release, values, chart = chartDirectory) =>
      void (await run(['upgrade', '--install', release, chart], values)),
    run: args => run(args),
  };
};

/** The Secret of the README. */
export const createSecret = async (
  s: Scenario,
  name = 'hcloud',
  more: Readonly<Record<string, string>> = {},
): Promise<void> => {
  const path = '/api/v1/namespaces/kube-system/secrets';
  await s.cluster.client.send('DELETE', `${path}/${name}`);
  await s.cluster.client.must('POST', path, {
    metadata: { name },
    stringData: { token: s.token, network: 'k8s', ...more },
  });
};

/** Values of an installation between the fakes: everything else is the chart's default. */
export const valuesFor = (
  s: Scenario,
  {
    args = {},
    env = {},
    ...more
  }: {
    readonly args?: Readonly<Record<string, unknown>>;
    readonly env?: Readonly<Record<string, unknown>>;
    readonly [key: string]: unknown;
  } = {},
): object => ({
  networking: { enabled: true },
  ...more,
  args: { ...args },
  env: {
    HCLOUD_ENDPOINT: { value: s.hetznerURL },
    HCLOUD_METADATA_ENDPOINT: { value: s.metadataURL },
    HCLOUD_LOAD_BALANCERS_LOCATION: 'fsn1',
    HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: { value: 'true' },
    ...env,
  },
});

export const deploymentPath = (name = 'hcloud-reactive-controller'): string =>
  `/apis/apps/v1/namespaces/kube-system/deployments/${name}`;

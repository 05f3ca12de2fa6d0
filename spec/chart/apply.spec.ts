import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { loadAll } from 'js-yaml';
import { eventually } from '../support/cluster.ts';
import { JSON_PATCH, STRATEGIC_PATCH } from '../support/kube-client.ts';
import { helmCluster, skipWithoutCluster } from './installation.ts';
import { manifestPath, plainManifests } from './plain-manifests.ts';
import { peerValues, type RealConfig, realValues } from './real-configs.ts';
import { type PodSpec, type Rendered, render } from './render.ts';

const RESOURCES: Readonly<Record<string, string>> = {
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  ConfigMap: 'configmaps',
  DaemonSet: 'daemonsets',
  Deployment: 'deployments',
  NetworkPolicy: 'networkpolicies',
  PodDisruptionBudget: 'poddisruptionbudgets',
  PodMonitor: 'podmonitors',
  PrometheusRule: 'prometheusrules',
  Role: 'roles',
  RoleBinding: 'rolebindings',
  Service: 'services',
  ServiceAccount: 'serviceaccounts',
  ServiceMonitor: 'servicemonitors',
};

/** The kinds of the Prometheus operator, as far as an API server must know them to take an object. */
const monitoringKind = (kind: string): object => {
  const plural = RESOURCES[kind];
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.monitoring.coreos.com` },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };
};

describe('the real API server', { skip: await skipWithoutCluster() }, () => {
  const { cluster, install, run } = helmCluster();

  before(async () => {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    for (const kind of ['PodMonitor', 'ServiceMonitor', 'PrometheusRule']) {
      await cluster().client.must('POST', path, monitoringKind(kind));
    }
    await eventually('the kinds are served', async () => {
      const { status } = await cluster().client.send('GET', '/apis/monitoring.coreos.com/v1/prometheusrules');
      return status === 200 ? true : undefined;
    });
  });

  /** Server-side apply as a dry run, in which unknown and repeated fields are errors. */
  const apply = async (object: Rendered): Promise<void> => {
    const { apiVersion, kind, metadata } = object;
    const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const namespace = kind.startsWith('Cluster') ? '' : `/namespaces/${metadata.namespace ?? 'kube-system'}`;
    const query = 'fieldManager=spec&force=true&dryRun=All&fieldValidation=Strict';
    const path = `${base}${namespace}/${RESOURCES[kind] ?? assert.fail(kind)}/${metadata.name}?${query}`;
    await cluster().client.must('PATCH', path, object, 'application/apply-patch+yaml');
  };

  const values = { ...realValues, peer: peerValues };
  for (const name of [...(Object.keys(realValues) as RealConfig[]), 'peer'] as const) {
    it(`takes every object of ${name}`, async () => {
      const objects = await render(values[name], { apiVersions: ['monitoring.coreos.com/v1'] });
      assert.ok(objects.length >= 2);
      for (const object of objects) await apply(object);
    });
  }

  for (const { path } of plainManifests) {
    it(`takes every object of ${path}`, async () => {
      for (const object of loadAll(readFileSync(manifestPath(path), 'utf8'))) await apply(object as Rendered);
    });
  }

  it('BUG-081, RC-03, RC-13: lets patches of other tools through: flags replaced, a variable added', async () => {
    const { client } = cluster();
    const text = readFileSync(manifestPath('deploy/ccm-networks.yaml'), 'utf8');
    const deployment = (loadAll(text) as Rendered[]).find(({ kind }) => kind === 'Deployment');
    const collection = '/apis/apps/v1/namespaces/kube-system/deployments';
    const path = `${collection}/hcloud-cloud-controller-manager`;
    await client.must('POST', collection, deployment);
    const name = 'hcloud-cloud-controller-manager';
    const args = ['--cloud-provider=hcloud', '--leader-elect=false', '--cluster-cidr=10.42.0.0/16'];
    const patch = { spec: { template: { spec: { containers: [{ name, args }] } } } };
    await client.must('PATCH', path, patch, STRATEGIC_PATCH);
    const item = { name: 'HCLOUD_NETWORK_ROUTES_ENABLED', value: 'false' };
    const op = { op: 'add', path: '/spec/template/spec/containers/0/env/-', value: item };
    const { spec } = await client.must('PATCH', path, [op], JSON_PATCH);
    const [container, ...others] = (spec.template as { spec: PodSpec }).spec.containers;
    assert.deepEqual(others, []);
    assert.deepEqual(container?.args, args);
    assert.deepEqual(container?.env.at(-1), item);
    assert.ok(container?.env.some(({ name: variable }) => variable === 'HCLOUD_TOKEN'));
    await client.must('DELETE', path);
  });

  it('is not asked in vain: an object with an unknown field is refused', async () => {
    const [object] = await render({});
    await assert.rejects(apply({ ...(object as Rendered), nonsense: true } as Rendered), /nonsense/);
  });

  it('lets Helm find the monitoring kinds, install everything and take it away again', async () => {
    await install('all', realValues.all);
    const { client } = cluster();
    const monitor = '/apis/monitoring.coreos.com/v1/namespaces/kube-system/podmonitors/hcloud-reactive-controller';
    assert.equal((await client.send('GET', monitor)).status, 200);
    await run(['uninstall', 'all']);
    const left = await client.must('GET', '/apis/apps/v1/namespaces/kube-system/deployments');
    assert.deepEqual(left.items, []);
    assert.equal((await client.send('GET', monitor)).status, 404);
  });

  it('lets Helm say what it leaves out and what it does not know', async () => {
    const { client } = cluster();
    const kinds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const notes = async (): Promise<string> => {
      await install('noted', {
        monitoring: { podMonitor: { enabled: true } },
        args: { 'leader-elect': 'false' },
        mine: 1,
      });
      const said = await run(['get', 'notes', 'noted']);
      await run(['uninstall', 'noted']);
      return said;
    };
    assert.ok(!(await notes()).includes('left out'));
    for (const kind of ['PodMonitor', 'ServiceMonitor', 'PrometheusRule']) {
      await client.must('DELETE', `${kinds}/${RESOURCES[kind]}.monitoring.coreos.com`);
    }
    await eventually('the kinds are gone', async () => {
      const { status } = await client.send('GET', '/apis/monitoring.coreos.com/v1');
      return status === 404 ? true : undefined;
    });
    const said = await notes();
    assert.match(said, /left out: podMonitor\./);
    assert.match(said, /--leader-elect=false was not passed on/);
    assert.match(said, /do nothing: mine\./);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { realValues } from './real-configs.ts';
import { container, envOf, only, podSpec, type Rendered, render, skipWithoutHelm, workload } from './render.ts';

const skip = await skipWithoutHelm();
const monitoring = { apiVersions: ['monitoring.coreos.com/v1'] };
const kinds = (objects: readonly Rendered[]): string[] => [...new Set(objects.map(({ kind }) => kind))].sort();

describe('the objects of the chart', { skip }, () => {
  it('BUG-079: need no network without networking, no Robot login, and the token by its key', async () => {
    const objects = await render({});
    const env = container(objects).env;
    assert.ok(!('HCLOUD_NETWORK' in envOf(objects)));
    const secrets = Object.fromEntries(env.map(({ name, valueFrom }) => [name, valueFrom?.secretKeyRef]));
    assert.deepEqual(secrets.HCLOUD_TOKEN, { name: 'hcloud', key: 'token' });
    assert.deepEqual([secrets.ROBOT_USER?.optional, secrets.ROBOT_PASSWORD?.optional], [true, true]);
  });

  it('BUG-080: lie in the namespace of the release, but for the right to the lease, and bear the name that was given', async () => {
    const options = { release: 'x', namespace: 'infra', ...monitoring };
    const objects = await render({ ...realValues.all, nameOverride: 'my-ccm' }, options);
    const extra = new Set(['x-extra', 'text']);
    for (const { kind, metadata } of objects.filter(object => !extra.has(object.metadata.name))) {
      const lease = kind === 'Role' || kind === 'RoleBinding';
      const cluster = kind.startsWith('Cluster');
      assert.equal(metadata.namespace, cluster ? undefined : lease ? 'kube-system' : 'infra', kind);
      assert.match(metadata.name, /^(system:)?my-ccm/);
    }
    for (const kind of ['ClusterRoleBinding', 'RoleBinding']) {
      const { subjects } = only(objects, kind) as unknown as { subjects: unknown };
      assert.deepEqual(subjects, [{ kind: 'ServiceAccount', name: 'my-ccm', namespace: 'infra' }]);
    }
  });

  it('BUG-080: of two releases with different names have no name in common', async () => {
    const names = async (nameOverride: string, namespace: string) =>
      (await render({ nameOverride }, { release: nameOverride, namespace })).map(
        ({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`,
      );
    const first = new Set(await names('a', 'infra'));
    assert.deepEqual(
      (await names('b', 'infra')).filter(name => first.has(name)),
      [],
    );
  });

  it('BUG-081: have their flags in args of the container of the peer, the cluster CIDR once and in one string', async () => {
    const { name, args, ...others } = container(await render({ networking: { enabled: true } }));
    assert.equal(name, 'hcloud-cloud-controller-manager');
    assert.ok(!('command' in others), 'what it runs is the entry point of the image');
    assert.deepEqual(
      args.filter(arg => arg.startsWith('--cluster-cidr')),
      ['--cluster-cidr=10.244.0.0/16'],
    );
  });

  const elections = {
    one: {},
    three: { replicaCount: 3 },
    text: { replicaCount: '3' },
    set: { kind: 'DaemonSet' },
    off: { args: { 'leader-elect': false } },
    list: { args: ['--leader-elect=false'] },
  };
  for (const [what, values] of Object.entries(elections)) {
    it(`BUG-082: elect a leader (${what})`, async () => {
      const { args } = container(await render(values));
      assert.deepEqual(
        args.filter(arg => arg.startsWith('--leader-elect')),
        ['--leader-elect=true'],
      );
    });
  }

  it('BUG-082: have as many replicas as was said, also as text, and a disruption budget for more than one', async () => {
    assert.equal(workload(await render({ replicaCount: '3' })).spec.replicas, 3);
    const budget = only(await render({ replicaCount: '3' }), 'PodDisruptionBudget');
    assert.equal(budget.spec.maxUnavailable, 1);
    for (const values of [
      {},
      { kind: 'DaemonSet', replicaCount: 3 },
      { replicaCount: 3, podDisruptionBudget: { enabled: false } },
    ])
      assert.ok(!kinds(await render(values)).includes('PodDisruptionBudget'));
  });

  it('BUG-083: use no port for webhooks, and any other one that is wished', async () => {
    const objects = await render({
      networking: { enabled: true },
      args: { 'secure-port': '10288', 'bind-address': '127.0.0.1' },
      env: { HCLOUD_METRICS_ADDRESS: { value: '127.0.0.1:9233' } },
    });
    const { args, ports, livenessProbe, readinessProbe } = container(objects);
    assert.ok(args.includes('--webhook-secure-port=0'));
    assert.deepEqual(ports, [
      { name: 'health', containerPort: 10288 },
      { name: 'metrics', containerPort: 9233 },
    ]);
    for (const probe of [livenessProbe, readinessProbe])
      assert.deepEqual([probe?.httpGet.port, probe?.httpGet.host], [10288, '127.0.0.1']);
    const { strategy } = workload(objects).spec as { strategy: unknown };
    assert.deepEqual(strategy, { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } });
  });

  it('have no probe and no port for a health server that is switched off', async () => {
    const { livenessProbe, readinessProbe, ports } = container(
      await render({ healthPort: 0, monitoring: { enabled: false } }),
    );
    assert.deepEqual([livenessProbe, readinessProbe, ports], [undefined, undefined, undefined]);
  });

  it('BUG-084: start on a fresh node: before the network, before DNS, on a control plane', async () => {
    const pod = podSpec(
      await render({
        networking: { enabled: true },
        additionalTolerations: [{ key: 'node.cluster.x-k8s.io/uninitialized', operator: 'Exists' }],
      }),
    );
    const taints = [
      { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
      { key: 'node-role.kubernetes.io/control-plane', value: '', effect: 'NoSchedule' },
      { key: 'node-role.kubernetes.io/master', value: '', effect: 'NoSchedule' },
      { key: 'node.kubernetes.io/not-ready', value: '', effect: 'NoSchedule' },
      { key: 'node.kubernetes.io/not-ready', value: '', effect: 'NoExecute' },
      { key: 'node.kubernetes.io/network-unavailable', value: '', effect: 'NoSchedule' },
      { key: 'node.cluster.x-k8s.io/uninitialized', value: '', effect: 'NoSchedule' },
    ];
    for (const taint of taints) {
      const tolerated = pod.tolerations.some(
        ({ key, operator = 'Equal', value = '', effect }) =>
          key === taint.key &&
          (effect === undefined || effect === taint.effect) &&
          (operator === 'Exists' || value === taint.value),
      );
      assert.ok(tolerated, `${taint.key}:${taint.effect}`);
    }
    assert.deepEqual([pod.hostNetwork, pod.dnsPolicy], [true, 'Default']);
  });

  it('BUG-085: ask for no secrets, no wildcards and none of the verbs nobody uses', async () => {
    const objects = await render({});
    const rules = objects.flatMap(({ rules: own = [] }) => own);
    assert.ok(rules.length > 0);
    for (const { apiGroups, resources, verbs } of rules) {
      for (const name of [...apiGroups, ...resources, ...verbs]) assert.notEqual(name, '*');
      assert.ok(!resources.includes('secrets') && !resources.includes('configmaps'));
    }
    assert.ok(!JSON.stringify(objects).includes('cluster-admin'));
    assert.deepEqual(kinds(await render({ rbac: { create: false } })), ['Deployment', 'ServiceAccount']);
  });

  it('put the right to the lease where the flags put the lease', async () => {
    const args = { 'leader-elect-resource-namespace': 'infra', 'leader-elect-resource-name': 'mine' };
    const role = only(await render({ args }), 'Role');
    assert.equal(role.metadata.namespace, 'infra');
    assert.deepEqual(role.rules?.find(rule => rule.resourceNames !== undefined)?.resourceNames, ['mine']);
  });

  it('let an instance with a node selector read the leases of others, and know its own by any name', async () => {
    const leases = async (values: object) => {
      const rules = only(await render(values), 'Role').rules ?? [];
      return rules.map(({ verbs, resourceNames }) => `${verbs.join()} ${resourceNames?.join() ?? 'any'}`);
    };
    const selected = ['create any', 'get,list,watch,update any'];
    assert.deepEqual(await leases({}), ['create any', 'get,list,watch,update cloud-controller-manager']);
    assert.deepEqual(await leases({ nodeLabelSelector: 'group=a' }), selected);
    assert.deepEqual(await leases({ env: { HCLOUD_SERVER_LABEL_SELECTOR: 'group=a' } }), selected);
    assert.deepEqual(await leases({ env: { HCLOUD_NODE_SELECTOR: { value: 'group=a' } } }), selected);
  });

  it('are monitored only where the cluster has the kinds', async () => {
    const without = kinds(await render(realValues.all));
    assert.ok(!without.some(kind => ['PodMonitor', 'ServiceMonitor', 'PrometheusRule'].includes(kind)));
    assert.ok(without.includes('ConfigMap'));
    const objects = await render(realValues.all, monitoring);
    for (const kind of ['PodMonitor', 'ServiceMonitor'])
      assert.deepEqual(
        (only(objects, kind).spec.selector as { matchLabels: unknown }).matchLabels,
        (workload(objects).spec.selector as { matchLabels: unknown }).matchLabels,
      );
    assert.equal(only(objects, 'PodMonitor').metadata.labels.release, 'prometheus');
    const none = kinds(
      await render({ ...realValues.all, monitoring: { ...realValues.all.monitoring, enabled: 'false' } }, monitoring),
    );
    assert.ok(!none.some(kind => ['PodMonitor', 'ServiceMonitor', 'PrometheusRule'].includes(kind)));
  });

  it('carry the common labels, which never replace those that select', async () => {
    const objects = await render(realValues.all, monitoring);
    const own = objects.filter(({ metadata }) => metadata.labels !== undefined && metadata.name !== 'hccm-extra');
    assert.ok(own.length > 8);
    for (const { kind, metadata } of own) {
      assert.equal(metadata.labels.team, 'infra', kind);
      assert.equal(metadata.labels['app.kubernetes.io/name'], 'hcloud-reactive-controller', kind);
    }
    const { template, selector } = workload(objects).spec as {
      template: { metadata: { labels: Record<string, string>; annotations: Record<string, string> } };
      selector: { matchLabels: Record<string, string> };
    };
    for (const [key, value] of Object.entries(selector.matchLabels)) assert.equal(template.metadata.labels[key], value);
    assert.equal(template.metadata.labels.tier, 'control');
    assert.equal(template.metadata.annotations['example.org/release'], 'hccm');
  });

  it('include further ones, given as objects or as text, evaluated as templates', async () => {
    const maps = (await render(realValues.all)).filter(({ kind }) => kind === 'ConfigMap');
    assert.deepEqual(maps.map(({ metadata }) => metadata.name).sort(), [
      'hccm-extra',
      'hcloud-reactive-controller-dashboard',
      'text',
    ]);
    assert.equal(maps.find(({ metadata }) => metadata.name === 'text')?.data?.cidr, '10.244.0.0/16');
  });

  it('run as 65532 on a read-only root without rights', async () => {
    const objects = await render({});
    assert.deepEqual(podSpec(objects).securityContext, {
      runAsNonRoot: true,
      runAsUser: 65532,
      runAsGroup: 65532,
      fsGroup: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    assert.deepEqual(container(objects).securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('take a digest instead of the tag', async () => {
    const { image } = container(await render(realValues.all));
    assert.match(image, /controller@sha256:a{64}$/);
  });

  it('let health, metrics, DNS, the APIs and the metadata service through a network policy', async () => {
    const { spec } = only(await render(realValues.all), 'NetworkPolicy') as unknown as {
      spec: { ingress: { ports: { port: number }[] }[]; egress: { ports: { port: number }[] }[] };
    };
    const ports = (rules: { ports: { port: number }[] }[]) => rules.flatMap(rule => rule.ports.map(({ port }) => port));
    assert.deepEqual(ports(spec.ingress), [10258, 8233]);
    assert.deepEqual(ports(spec.egress), [53, 53, 443, 6443, 80, 3128]);
  });
});

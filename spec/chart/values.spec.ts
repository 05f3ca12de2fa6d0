import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { load } from 'js-yaml';
import { chartDirectory, chartValuesText, readChartValues, undocumented } from '../support/chart-values.ts';
import { helm } from '../support/helm.ts';
import { peerValues, type RealConfig, realValues } from './real-configs.ts';
import { container, envOf, only, podSpec, refusal, render, renderText, skipWithoutHelm, workload } from './render.ts';

const skip = await skipWithoutHelm();

describe('the values', () => {
  it('each have a comment, themselves or above', () => {
    assert.deepEqual(undocumented(chartValuesText()), []);
    assert.deepEqual(undocumented('# -- Known.\na: 1\nb:\n  # plain\n  c: 2\n'), ['b.c']);
  });

  it('are all read from the file', () => {
    const paths = readChartValues(chartValuesText()).map(({ path }) => path.join('.'));
    for (const path of ['args', 'networking.clusterCIDR', 'monitoring.podMonitor.spec', 'extraObjects'])
      assert.ok(paths.includes(path), path);
  });

  it('are all known to the notes, which warn of others', () => {
    const notes = readFileSync(join(chartDirectory, 'templates', 'NOTES.txt'), 'utf8');
    const known = [...(/\$unknown := without([\s\S]*?)}}/.exec(notes)?.[1] ?? '').matchAll(/"(\w+)"/g)].map(m => m[1]);
    assert.deepEqual(known.sort(), [...Object.keys(load(chartValuesText()) as object), 'global'].sort());
  });
});

describe('the version of the chart', () => {
  it('is that of the program', () => {
    const { version, appVersion } = load(readFileSync(join(chartDirectory, 'Chart.yaml'), 'utf8')) as Record<
      string,
      string
    >;
    const { version: program } = JSON.parse(readFileSync(join(chartDirectory, '..', '..', 'package.json'), 'utf8'));
    assert.deepEqual([version, appVersion], [program, program]);
  });
});

describe('the chart', { skip }, () => {
  it('passes helm lint --strict', async () => {
    const { code, stdout, stderr } = await helm(['lint', '--strict', chartDirectory]);
    assert.equal(code, 0, stdout + stderr);
  });

  it('renders the values of the peer unchanged, all keys of its chart', async () => {
    const objects = await render(peerValues);
    const { metadata, spec } = workload(objects);
    assert.equal(metadata.name, 'hcloud-reactive-controller');
    assert.deepEqual(spec.strategy, { type: 'RollingUpdate' });
    const pod = podSpec(objects);
    assert.deepEqual(pod.nodeSelector, peerValues.nodeSelector);
    assert.equal(pod.hostNetwork, undefined);
    const main = container(objects);
    assert.equal(main.image, 'registry.example/ccm:v0.1.0');
    assert.deepEqual(main.securityContext, peerValues.securityContext);
    assert.deepEqual(main.volumeMounts, peerValues.extraVolumeMounts);
    assert.deepEqual(main.args, [
      '--allow-untagged-cloud',
      '--cloud-provider=hcloud',
      '--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true',
      '--leader-elect=true',
      '--route-reconciliation-period=30s',
      '--secure-port=10258',
      '--webhook-secure-port=0',
    ]);
    assert.deepEqual(only(objects, 'ServiceAccount').metadata.annotations, peerValues.serviceAccount.annotations);
  });

  it('renders the same text twice, without asking a cluster (RC-05)', async () => {
    assert.equal(await renderText(realValues['RC-05']), await renderText(realValues['RC-05']));
  });

  for (const name of Object.keys(realValues) as RealConfig[]) {
    it(`renders ${name}`, async () => {
      const objects = await render(realValues[name], { apiVersions: ['monitoring.coreos.com/v1'] });
      const main = container(objects);
      assert.equal(main.name, 'hcloud-cloud-controller-manager');
      for (const { name: variable, value, valueFrom } of main.env) {
        assert.ok(valueFrom !== undefined || typeof value === 'string', `${variable} is text`);
      }
      assert.ok(main.args.includes('--leader-elect=true'), 'election is on');
      assert.equal(new Set(main.args.map(arg => arg.split('=')[0])).size, main.args.length, 'each flag once');
    });
  }

  it('RC-01: takes the port from the flag, honours hostNetwork and keeps flags without a value', async () => {
    const objects = await render(realValues['RC-01']);
    const { args, ports, livenessProbe } = container(objects);
    assert.equal(podSpec(objects).hostNetwork, true);
    assert.equal(podSpec(objects).dnsPolicy, 'Default');
    for (const arg of ['--secure-port=10288', '--allow-untagged-cloud', '--cluster-cidr=10.42.0.0/16'])
      assert.ok(args.includes(arg), arg);
    assert.equal(ports?.find(port => port.name === 'health')?.containerPort, 10288);
    assert.equal(livenessProbe?.httpGet.port, 10288);
  });

  it('RC-02: takes "true" and "false" as they are meant, and the CIDR of the user', async () => {
    const objects = await render(realValues['RC-02']);
    assert.equal(podSpec(objects).hostNetwork, true);
    assert.ok(container(objects).args.includes('--cluster-cidr=10.42.0.0/16'));
    assert.equal(envOf(objects).ROBOT_ENABLED, 'true');
    const off = await render({ networking: { enabled: 'false' }, robot: { enabled: 'False' } });
    assert.equal(podSpec(off).hostNetwork, undefined);
    assert.equal(envOf(off).ROBOT_ENABLED, undefined);
  });

  it('RC-06: a DaemonSet on the control planes, with null left out and the API server overridden', async () => {
    const objects = await render(realValues['RC-06']);
    const env = envOf(objects);
    assert.equal(workload(objects).kind, 'DaemonSet');
    assert.deepEqual(podSpec(objects).nodeSelector, realValues['RC-06'].nodeSelector);
    assert.ok(!('HCLOUD_LOAD_BALANCERS_LOCATION' in env));
    assert.deepEqual([env.KUBERNETES_SERVICE_HOST, env.KUBERNETES_SERVICE_PORT], ['127.0.0.1', '7445']);
    assert.equal(env.HCLOUD_NETWORK, 'hcloud/network');
  });

  it('RC-08: null takes a default out, so that files can hold the secrets', async () => {
    const env = envOf(await render(realValues['RC-08']));
    for (const name of ['HCLOUD_TOKEN', 'ROBOT_USER', 'ROBOT_PASSWORD']) assert.ok(!(name in env), name);
    assert.equal(env.HCLOUD_TOKEN_FILE, '/etc/hetzner-secret/hcloud');
  });

  it('RC-10: writes false as false, and keeps election on', async () => {
    const objects = await render(realValues['RC-10']);
    const { args } = container(objects);
    for (const arg of ['--configure-cloud-routes=false', '--concurrent-service-syncs=5', '--leader-elect=true'])
      assert.ok(args.includes(arg), arg);
    assert.deepEqual(
      [envOf(objects).HCLOUD_TOKEN, envOf(objects).HCLOUD_NETWORK],
      ['kubeone-ccm-credentials/HZ_TOKEN', '4711'],
    );
  });

  it('RC-11: without roles and without a token of the cluster it runs in', async () => {
    const objects = await render(realValues['RC-11']);
    assert.deepEqual(objects.map(({ kind }) => kind).sort(), ['Deployment', 'ServiceAccount']);
    assert.equal(podSpec(objects).automountServiceAccountToken, false);
  });

  it('RC-15: scalars as variables and a list of flags mean what they look like', async () => {
    const scalars = envOf(await render(realValues['RC-15a']));
    assert.deepEqual([scalars.HCLOUD_LOAD_BALANCERS_ENABLED, scalars.HCLOUD_LOAD_BALANCERS_LOCATION], ['true', 'fsn1']);
    const { args } = container(await render(realValues['RC-15f']));
    assert.deepEqual(args, [
      '--allow-untagged-cloud',
      '--cloud-provider=hcloud',
      '--controllers=*,-cloud-node',
      '--leader-elect=true',
      '--secure-port=10258',
    ]);
  });

  it('writes numbers in full, whether they are flags, variables or the id of the network', async () => {
    const objects = await render({
      args: { v: 4, 'kube-api-qps': 2000000 },
      env: { HCLOUD_A: { value: 12345678 }, HCLOUD_B: true },
      networking: { enabled: true, network: 4711001 },
    });
    const env = envOf(objects);
    assert.deepEqual([env.HCLOUD_A, env.HCLOUD_B, env.HCLOUD_NETWORK], ['12345678', 'true', '4711001']);
    assert.ok(container(objects).args.includes('--kube-api-qps=2000000'));
  });

  it('takes a value where the default has a secret, and the variable of the user where the chart has one', async () => {
    const network = await render({ networking: { enabled: true, network: { value: 'mine' } } });
    assert.equal(envOf(network).HCLOUD_NETWORK, 'mine');
    const env = { HCLOUD_NETWORK: 'other', HCLOUD_LOG_LEVEL: { value: 'warn' }, HCLOUD_METRICS_ENABLED: 'false' };
    const own = await render({ networking: { enabled: true }, monitoring: { enabled: false }, env });
    assert.deepEqual(envOf(own).HCLOUD_NETWORK, 'other');
    assert.deepEqual(envOf(own).HCLOUD_LOG_LEVEL, 'warn');
    const empty = await render({ networking: { enabled: true }, env: { HCLOUD_NETWORK: { value: null } } });
    assert.equal(envOf(empty).HCLOUD_NETWORK, 'hcloud/network');
  });

  it('takes what looks odd and is right: two families, no range, text for numbers', async () => {
    const values = {
      replicaCount: '2',
      healthPort: '10259',
      hostNetwork: '',
      networking: { enabled: true, clusterCIDR: '10.244.0.0/16, fd00:10:244::/48', nodeIPAM: { maskSize: '25' } },
      networkPolicy: { enabled: true, apiServerPorts: ['6443', 8443] },
    };
    const objects = await render(values);
    assert.ok(container(objects).args.includes('--cluster-cidr=10.244.0.0/16, fd00:10:244::/48'));
    assert.equal(envOf(objects).HCLOUD_NODE_CIDR_MASK_SIZE, '25');
    await render({ networking: { enabled: false, clusterCIDR: '' } });
  });

  const mistakes: readonly (readonly [string, unknown, RegExp])[] = [
    ['tolerations (RC-15d)', { tolerations: [] }, /tolerations.*additionalTolerations/],
    ['replicas', { replicas: 2 }, /replicas.*replicaCount/],
    ['another kind', { kind: 'StatefulSet' }, /kind.*Deployment.*DaemonSet/s],
    ['a boolean that is none', { networking: { enabled: 'yes' } }, /networking.*enabled/s],
    ['a key with another spelling', { networking: { clusterCidr: '10.0.0.0/8' } }, /clusterCidr/],
    ['an unknown key of monitoring', { monitoring: { podMonitor: { enable: true } } }, /podMonitor.*enable/s],
    ['half a replica', { replicaCount: 1.5 }, /replicaCount/],
    ['flags as one text', { args: '--v=4' }, /args/],
    ['a flag without dashes in a list', { args: ['v=4'] }, /args/],
    ['a flag with a list', { args: { controllers: ['*'] } }, /controllers/],
    ['a list of variables', { env: [{ name: 'A', value: 'b' }] }, /env/],
    ['a variable with a typing error inside', { env: { A: { vale: 'b' } } }, /vale/],
    ['a digest that is none', { image: { digest: 'latest' } }, /digest/],
    ['a host network that is neither', { hostNetwork: 'maybe' }, /hostNetwork/],
    ['pods without a prefix length', { networking: { clusterCIDR: '10.244.0.0' } }, /clusterCIDR/],
    ['a range that is none', { networking: { podCIDRs: { core: 'pods' } } }, /podCIDRs\/core/],
    ['a gateway by name', { networking: { gateways: { core: { '*': 'gateway-1' } } } }, /gateways\/core/],
    ['a size of pod CIDRs that is none', { networking: { nodeIPAM: { maskSize: 33 } } }, /maskSize/],
    ['fewer than no replicas', { replicaCount: -1 }, /replicaCount/],
    ['a port above all', { healthPort: 70000 }, /healthPort/],
    ['a port by name', { networkPolicy: { apiServerPorts: ['https'] } }, /apiServerPorts/],
    ['an unknown log level', { logLevel: 'trace' }, /logLevel/],
  ];
  for (const [what, values, message] of mistakes) {
    it(`refuses ${what}, and names the key`, async () => {
      assert.match(await refusal(values), message);
    });
  }

  it('refuses a list of variables as one of the keys it does not know, which --set makes of it', async () => {
    const { code, stderr } = await helm(['template', 'x', chartDirectory, '--set', 'env[0].name=A']);
    assert.notEqual(code, 0);
    assert.match(stderr, /env/);
  });
});

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { overlappingWrites } from '../../lib/simulator/hetzner/writers.ts';
import { eventually } from '../support/cluster.ts';
import { deleteNode } from '../support/nodes.ts';
import { createScenario, type Scenario } from '../support/scenario.ts';
import { createService, deleteService, servicePath } from '../support/services.ts';
import { createSecret, deploymentPath, helmCluster, skipWithoutCluster, valuesFor } from './installation.ts';
import { type Pod, startPod, startPods } from './pod.ts';

const RELEASE = 'ccm';
const quick = {
  'leader-elect-lease-duration': '6s',
  'leader-elect-renew-deadline': '4s',
  'leader-elect-retry-period': '1s',
};

describe('the controller as the chart installs it', { skip: await skipWithoutCluster() }, () => {
  const { cluster, install } = helmCluster();

  const scenario = async (t: TestContext, values: Parameters<typeof valuesFor>[1] = {}): Promise<Scenario> => {
    const s = await createScenario(t, cluster());
    s.hetzner.metadataFor(s.addServer(100));
    await createSecret(s);
    await install(RELEASE, valuesFor(s, values));
    return s;
  };
  const converged = async (s: Scenario, numbers: readonly number[]): Promise<void> => {
    for (const i of numbers) {
      await s.waitInitialised(`w${i}`);
      await s.waitRouted(i);
    }
  };
  const calm = (pod: Pod): void =>
    assert.deepEqual(
      pod
        .lines()
        .filter(line => line.level !== 'info')
        .map(line => line.msg),
      [],
    );
  /** Everything the API server refused to the pods' service account. */
  const refused = async (pod: Pod): Promise<string[]> =>
    (await cluster().requests())
      .filter(({ user, code = 0 }) => user === pod.user && (code === 401 || code === 403))
      .map(({ verb, path }) => `${verb} ${path}`);

  it('gives nodes their ids, addresses and routes, makes and deletes a load balancer, with no right but its own', async t => {
    const s = await scenario(t);
    const pod = await startPod(t, s.cluster, deploymentPath());
    await pod.ready();
    assert.equal(await pod.probe('livenessProbe'), 200);
    for (const i of [1, 2]) {
      s.addServer(i);
      await s.join(i);
    }
    await converged(s, [1, 2]);
    await createService(s.cluster, { name: 'web' });
    const made = await eventually(
      'load balancer with both targets',
      async () => s.hetzner.loadBalancers.list().find(l => l.targets.length === 2),
      20_000,
    );
    await eventually('status of the Service', async () => {
      const { status } = await s.cluster.client.must('GET', servicePath('web'));
      return (status.loadBalancer as { ingress?: unknown[] }).ingress;
    });
    await deleteNode(s.cluster, 'w2');
    await eventually(
      'w2 has gone from load balancer and routes',
      async () =>
        s.routes().length === 1 && s.hetzner.loadBalancers.get(made.id)?.targets.length === 1 ? true : undefined,
      20_000,
    );
    await deleteService(s.cluster, 'web');
    await eventually(
      'the load balancer has gone',
      async () => s.hetzner.loadBalancers.list().length === 0 || undefined,
    );
    assert.deepEqual(await refused(pod), []);
    assert.equal(await pod.probe('livenessProbe'), 200);
    assert.equal(await pod.terminate(), 0);
    calm(pod);
  });

  it('serves metrics on the port of the container', async t => {
    const s = await scenario(t);
    const pod = await startPod(t, s.cluster, deploymentPath());
    await pod.ready();
    assert.match(await pod.metrics(), /^hcloud_reactive_build_info/m);
  });

  it('is taken over within the lease by the other replica when one is killed, and at once when it ends (BUG-082)', async t => {
    const s = await scenario(t, { replicaCount: 3, args: quick });
    const pods = await startPods(t, s.cluster, deploymentPath());
    assert.equal(pods.length, 3);
    for (const pod of pods) await pod.ready();
    const leader = async (among: readonly Pod[]): Promise<Pod> =>
      eventually(
        'one leads',
        async () => among.find(pod => pod.lines().some(line => line.msg === 'Became the leader')),
        30_000,
      );
    for (const i of [1, 2, 3]) s.addServer(i);
    const first = await leader(pods);
    await s.join(1);
    await converged(s, [1]);
    first.kill('SIGKILL');
    const left = pods.filter(pod => pod !== first);
    const second = await leader(left);
    await s.join(2);
    await converged(s, [2]);
    assert.equal(await second.terminate(), 0);
    const third = await leader(left.filter(pod => pod !== second));
    await s.join(3);
    await converged(s, [1, 2, 3]);
    assert.equal(await third.probe('livenessProbe'), 200);
    assert.deepEqual(overlappingWrites(s.hetzner.requests), []);
    assert.equal(s.hetzner.count({ method: 'POST', route: '/networks/{id}/actions/add_route' }), 3, 'each route once');
  });

  it('BUG-079: does not start without its secret or the key, and says which; without networks it needs no other key', async t => {
    const env = { HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: null };
    const s = await scenario(t, { networking: { enabled: false }, env });
    const secret = '/api/v1/namespaces/kube-system/secrets';
    await s.cluster.client.must('DELETE', `${secret}/hcloud`);
    await assert.rejects(startPod(t, s.cluster, deploymentPath()), /secret "hcloud" not found/);
    await s.cluster.client.must('POST', secret, { metadata: { name: 'hcloud' }, stringData: { token: s.token } });
    const pod = await startPod(t, s.cluster, deploymentPath());
    await pod.ready();
    s.addServer(1);
    await s.join(1);
    await s.waitInitialised('w1');
    assert.deepEqual(s.routes(), []);
    await pod.terminate();
    calm(pod);
    await install(RELEASE, valuesFor(s));
    await assert.rejects(startPod(t, s.cluster, deploymentPath()), /no key network in secret hcloud/);
  });

  it('BUG-079: says that the token is missing where the variable was taken out', async t => {
    const s = await scenario(t, { env: { HCLOUD_TOKEN: null } });
    const pod = await startPod(t, s.cluster, deploymentPath());
    assert.notEqual(await pod.exited, 0);
    assert.match(pod.output(), /HCLOUD_TOKEN/);
  });

  it('RC-08: reads the secrets from files of a volume', async t => {
    const s = await scenario(t, {
      env: { HCLOUD_TOKEN: null, HCLOUD_TOKEN_FILE: { value: '/etc/hetzner/token' }, HCLOUD_NETWORK: 'k8s' },
      extraVolumes: [{ name: 'hetzner', secret: { secretName: 'hcloud' } }],
      extraVolumeMounts: [{ name: 'hetzner', mountPath: '/etc/hetzner', readOnly: true }],
    });
    const pod = await startPod(t, s.cluster, deploymentPath());
    await pod.ready();
    s.addServer(1);
    await s.join(1);
    await converged(s, [1]);
    await pod.terminate();
    calm(pod);
  });

  it('BUG-083: says which port is taken when another one has it', async t => {
    const s = await scenario(t, { args: quick });
    const first = await startPod(t, s.cluster, deploymentPath());
    await first.ready();
    await install(RELEASE, valuesFor(s, { args: { ...quick, 'bind-address': first.address } }));
    const second = await startPod(t, s.cluster, deploymentPath());
    assert.notEqual(await second.exited, 0);
    assert.match(second.output(), /10258/);
    assert.equal(await first.probe('livenessProbe'), 200);
  });
});

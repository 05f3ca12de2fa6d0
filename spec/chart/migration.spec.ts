import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { eventually } from '../support/cluster.ts';
import { createScenario, type Scenario } from '../support/scenario.ts';
import { createSecret, deploymentPath, helmCluster, skipWithoutCluster, valuesFor } from './installation.ts';
import { setUpAsPeer } from './peer-state.ts';
import { startPod } from './pod.ts';
import type { PodSpec } from './render.ts';

const NAME = 'hcloud-cloud-controller-manager';
const RELEASE = 'hccm';
const peerChart = join(import.meta.dirname, 'peer-chart');
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const SHARED = [
  `/api/v1/namespaces/kube-system/serviceaccounts/${NAME}`,
  `${rbac}/clusterroles/system:${NAME}`,
  `${rbac}/clusterrolebindings/system:${NAME}:restricted`,
  deploymentPath(NAME),
];
const LEASE_RIGHT = `${rbac}/namespaces/kube-system/roles/system:${NAME}`;

describe('the switch from the peer and back', { skip: await skipWithoutCluster() }, () => {
  const { cluster, install, run } = helmCluster();

  const scenario = async (t: TestContext): Promise<Scenario> => {
    const s = await createScenario(t, cluster());
    t.after(async () => void (await run(['uninstall', RELEASE])));
    s.hetzner.metadataFor(s.addServer(100));
    await createSecret(s);
    return s;
  };
  const ours = (s: Scenario, more: object = {}) => valuesFor(s, { nameOverride: NAME, ...more });
  const uids = async (paths = SHARED): Promise<string[]> =>
    Promise.all(paths.map(async path => (await cluster().client.must('GET', path)).metadata.uid));
  const podOf = async (): Promise<PodSpec> => {
    const { spec } = await cluster().client.must('GET', deploymentPath(NAME));
    return (spec.template as { spec: PodSpec }).spec;
  };
  const exists = async (path: string): Promise<boolean> => (await cluster().client.send('GET', path)).status === 200;

  it('BUG-085: upgrades in place: the same objects with the same selector and roleRef, and back', async t => {
    const s = await scenario(t);
    await install(RELEASE, {}, peerChart);
    const before = await uids();
    const peers = await podOf();
    await install(RELEASE, ours(s));
    assert.deepEqual(await uids(), before);
    const pod = await podOf();
    assert.match(pod.containers[0]?.image ?? '', /hcloud-reactive-controller/);
    assert.ok(pod.containers[0]?.args.includes('--leader-elect=true'));
    assert.ok(!pod.containers[0]?.args.includes('--leader-elect=false'), 'nothing of the flags of before is left');
    assert.ok(await exists(LEASE_RIGHT));
    await install(RELEASE, {}, peerChart);
    assert.deepEqual(await uids(), before);
    assert.deepEqual(await podOf(), peers);
    assert.ok(!(await exists(LEASE_RIGHT)), 'what only we have is gone');
  });

  it('BUG-082: lets the pod of the peer go first, which has no lease: by itself with the host network, else when told so', async t => {
    const s = await scenario(t);
    await install(RELEASE, {}, peerChart);
    const first = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } };
    const strategy = async () => (await cluster().client.must('GET', deploymentPath(NAME))).spec.strategy;
    await install(RELEASE, ours(s));
    assert.deepEqual(await strategy(), first);
    await install(RELEASE, {}, peerChart);
    assert.notDeepEqual(await strategy(), first);
    await install(RELEASE, ours(s, { networking: { enabled: false }, strategy: first }));
    assert.deepEqual(await strategy(), first);
  });

  it('BUG-085: upgrades from a release that was bound to cluster-admin, whose roleRef could not be changed', async t => {
    const s = await scenario(t);
    await install(RELEASE, { admin: true }, peerChart);
    const admin = `${rbac}/clusterrolebindings/system:${NAME}`;
    assert.ok(await exists(admin));
    await install(RELEASE, ours(s));
    assert.ok(!(await exists(admin)), 'cluster-admin is gone');
    assert.ok(await exists(`${admin}:restricted`));
  });

  it('upgrades a DaemonSet in place', async t => {
    const s = await scenario(t);
    const path = `/apis/apps/v1/namespaces/kube-system/daemonsets/${NAME}`;
    await install(RELEASE, { kind: 'DaemonSet' }, peerChart);
    const before = await uids([path]);
    await install(RELEASE, ours(s, { kind: 'DaemonSet' }));
    assert.deepEqual(await uids([path]), before);
    const { spec } = await cluster().client.must('GET', path);
    const [container] = (spec.template as { spec: PodSpec }).spec.containers;
    assert.ok(!('command' in (container ?? {})), 'the command of the peer is gone');
  });

  it('writes nothing to Hetzner and nothing to nodes and Services where the peer had everything done', async t => {
    const s = await scenario(t);
    await install(RELEASE, {}, peerChart);
    await setUpAsPeer(s);
    await install(RELEASE, ours(s, { args: { 'node-status-update-frequency': '2s' } }));
    const since = (await cluster().requests()).length;
    for (let start = 1; start <= 2; start++) {
      const pod = await startPod(t, s.cluster, deploymentPath(NAME));
      await pod.ready();
      await pod.waitForLine(({ msg }) => msg === 'Became the leader', 'it leads');
      await eventually(
        'routes and load balancers have had their runs, and nodes their refresh',
        async () => {
          const metrics = await pod.metrics();
          const ran = ['route', 'loadBalancer'].every(name =>
            new RegExp(
              `^hcloud_reactive_outcomes_total\\{controller="${name}",outcome="(?:done|again)"\\} [1-9]`,
              'm',
            ).test(metrics),
          );
          const refreshed = s.hetzner.count({ method: 'GET', route: '/servers' }) >= 2 * start;
          return ran && refreshed && !/^workqueue_depth\{.*\} [1-9]/m.test(metrics) ? true : undefined;
        },
        20_000,
      );
      assert.equal(await pod.terminate(), 0);
      const seen = (await cluster().requests()).slice(since).filter(({ user }) => user === pod.user);
      const writes = seen.filter(
        ({ verb, resource }) => !['get', 'list', 'watch'].includes(verb) && resource !== 'leases',
      );
      assert.deepEqual(
        writes.map(({ verb, path }) => `${verb} ${path}`),
        [],
      );
      assert.ok(seen.length > 5, 'it was at work');
    }
    assert.deepEqual(
      s.hetzner.requests.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`),
      [],
    );
    assert.ok(s.hetzner.count({ method: 'GET', route: '/load_balancers' }) > 0);
    assert.ok(s.hetzner.count({ method: 'GET', route: '/servers' }) > 0);
    await install(RELEASE, {}, peerChart);
  });
});

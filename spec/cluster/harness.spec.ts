import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { resolveAssets } from '../support/assets.ts';
import { type Cluster, eventually, waitFor } from '../support/cluster.ts';
import { startEmbeddedCluster } from '../support/embedded-cluster.ts';
import { createKubeClient } from '../support/kube-client.ts';
import { createNode, deleteNode, getNode, heartbeat, nodePath, setReady, UNINITIALIZED } from '../support/nodes.ts';
import { startRealCluster } from '../support/real-cluster.ts';
import { createService, deleteService, eventsAbout, servicePath } from '../support/services.ts';

type Condition = { type: string; status: string; lastHeartbeatTime: string; lastTransitionTime: string };

const readyOf = (node: { status: Readonly<Record<string, unknown>> } | undefined): Condition | undefined =>
  (node?.status.conditions as Condition[] | undefined)?.find(condition => condition.type === 'Ready');

const taintsOf = (node: { spec: Readonly<Record<string, unknown>> }): string[] =>
  ((node.spec.taints ?? []) as { key: string }[]).map(taint => taint.key);

const harness = (title: string, skip: string | false, start: () => Promise<Cluster>): void => {
  describe(title, { skip }, () => {
    let cluster: Cluster;
    before(async () => {
      cluster = await start();
    });
    after(() => cluster?.close());

    it('registers nodes as a kubelet with an external cloud provider does', async () => {
      const node = await createNode(cluster, { name: 'w1', nodeIPs: ['10.0.0.2'], podCIDRs: ['10.244.1.0/24'] });
      assert.deepEqual(taintsOf(node), [UNINITIALIZED], 'the not-ready taint is gone once it is ready');
      assert.deepEqual(node.status.addresses, [
        { type: 'InternalIP', address: '10.0.0.2' },
        { type: 'Hostname', address: 'w1' },
      ]);
      assert.equal(node.metadata.annotations?.['alpha.kubernetes.io/provided-node-ip'], '10.0.0.2');
      assert.equal(node.spec.podCIDR, '10.244.1.0/24');
      assert.equal(readyOf(node)?.status, 'True');
    });

    it('moves a node through its conditions, with the taints that go with them', async () => {
      await createNode(cluster, { name: 'w2', taint: false, ready: false });
      assert.deepEqual(taintsOf(await getNode(cluster, 'w2')), ['node.kubernetes.io/not-ready']);
      assert.deepEqual(taintsOf(await setReady(cluster, 'w2', 'True', 1_700_000_000_000)), []);
      const beaten = await heartbeat(cluster, 'w2', 1_800_000_000_000);
      assert.deepEqual(
        [readyOf(beaten)?.status, readyOf(beaten)?.lastHeartbeatTime, readyOf(beaten)?.lastTransitionTime],
        ['True', '2027-01-15T08:00:00Z', '2023-11-14T22:13:20Z'],
      );
      assert.deepEqual(taintsOf(await setReady(cluster, 'w2', 'Unknown')), ['node.kubernetes.io/unreachable']);
      await deleteNode(cluster, 'w2');
    });

    it('waits for a change on a watch, and for a disappearance', async () => {
      await createNode(cluster, { name: 'w3' });
      const changed = waitFor(cluster, nodePath('w3'), node => readyOf(node)?.status === 'False');
      await setReady(cluster, 'w3', 'False');
      assert.equal(readyOf(await changed)?.status, 'False');
      const gone = waitFor(cluster, nodePath('w3'), node => node === undefined);
      await deleteNode(cluster, 'w3');
      assert.equal(await gone, undefined);
      await assert.rejects(
        waitFor(cluster, nodePath('w3'), node => node !== undefined, 200),
        /did not get there within 200 ms/,
      );
    });

    it('creates and deletes load balancer Services, and finds events', async () => {
      const service = await createService(cluster, {
        name: 'web',
        annotations: { 'load-balancer.hetzner.cloud/location': 'fsn1' },
      });
      assert.equal(service.spec.type, 'LoadBalancer');
      const involvedObject = { kind: 'Service', namespace: 'default', name: 'web' };
      await cluster.client.must('POST', '/api/v1/namespaces/default/events', {
        metadata: { name: 'web.1' },
        involvedObject,
      });
      assert.deepEqual(
        (await eventsAbout(cluster, 'web')).map(event => event.metadata.name),
        ['web.1'],
      );
      await deleteService(cluster, 'web');
      assert.equal((await cluster.client.send('GET', servicePath('web'))).status, 404);
    });

    it('lets the controller in by token and kubeconfig, and tells who asked for what', async () => {
      const config = JSON.parse(readFileSync(cluster.kubeconfig, 'utf8'));
      assert.equal(config.clusters[0].cluster.server, cluster.url);
      assert.equal(config.users[0].user.token, cluster.tokens.controller);
      const controller = createKubeClient(cluster.url, cluster.tokens.controller, cluster.ca);
      await controller.must('GET', '/api/v1/nodes?limit=7');
      const watch = await controller.watch('/api/v1/nodes?watch=true&timeoutSeconds=1');
      while ((await watch.next()) !== undefined);
      await controller.close();
      const seen = await eventually('the requests are recorded', async () => {
        const own = (await cluster.requests()).filter(request => request.user === 'controller');
        return own.length >= 2 ? own : undefined;
      });
      assert.deepEqual(
        seen.map(({ verb, path, userAgent }) => [verb, path, userAgent]),
        [
          ['list', '/api/v1/nodes?limit=7', 'spec'],
          ['watch', '/api/v1/nodes?watch=true&timeoutSeconds=1', 'spec'],
        ],
      );
    });

    it('answers nothing while it is paused, and what was asked meanwhile when it goes on', async () => {
      cluster.pauseAPIServer();
      let answered = false;
      const answer = cluster.client.send('GET', '/api/v1/nodes').then(result => {
        answered = true;
        return result;
      });
      await new Promise(resolve => setTimeout(resolve, 200));
      assert.equal(answered, false);
      cluster.resumeAPIServer();
      assert.equal((await answer).status, 200);
    });

    it('refuses connections while it is killed, and keeps its objects', async () => {
      const watch = await cluster.client.watch('/api/v1/nodes?watch=true&resourceVersion=0');
      await watch.next();
      await cluster.killAPIServer();
      while ((await watch.next()) !== undefined);
      const other = createKubeClient(cluster.url, cluster.tokens.admin, cluster.ca);
      await assert.rejects(other.send('GET', '/readyz'), { code: 'ECONNREFUSED' });
      await other.close();
      await cluster.startAPIServer();
      assert.equal((await getNode(cluster, 'w1')).metadata.name, 'w1');
    });

    it('loses everything with etcd, but not its users', async () => {
      await cluster.wipeEtcd();
      assert.equal((await cluster.client.send('GET', nodePath('w1'))).status, 404);
      const controller = createKubeClient(cluster.url, cluster.tokens.controller, cluster.ca);
      assert.deepEqual((await controller.must('GET', '/api/v1/nodes')).items, []);
      await controller.close();
    });
  });
};

const assets = await resolveAssets();
const missing = typeof assets === 'string' ? assets : false;

harness('the embedded cluster', false, () => startEmbeddedCluster());
harness('the real cluster', missing, () => startRealCluster(typeof assets === 'string' ? {} : { assets }));

describe('a real cluster with roles', { skip: missing }, () => {
  it('refuses the controller what its rules do not name', async () => {
    const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }];
    const cluster = await startRealCluster({ controllerRules: rules });
    try {
      const controller = createKubeClient(cluster.url, cluster.tokens.controller, cluster.ca);
      assert.equal((await controller.send('GET', '/api/v1/nodes')).status, 200);
      assert.equal((await controller.send('DELETE', '/api/v1/nodes/x')).status, 403);
      await controller.close();
    } finally {
      await cluster.close();
    }
  });
});

describe('a child of a spec', () => {
  it('ends with its parent, even when that is killed', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'child-'));
    const module = join(import.meta.dirname, '..', 'support', 'child.ts');
    const script = `
      import { startChild } from ${JSON.stringify(module)};
      process.stdout.write(String(startChild('/bin/sleep', ['60'], ${JSON.stringify(join(directory, 'log'))}).pid));
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [text] = (await once(parent.stdout, 'data')) as [Buffer];
      const pid = Number(text.toString());
      const running = (): boolean => {
        try {
          return process.kill(pid, 0);
        } catch {
          return false;
        }
      };
      assert.equal(running(), true);
      parent.kill('SIGKILL');
      await eventually('the child is gone', async () => (running() ? undefined : true), 5000);
    } finally {
      parent.kill('SIGKILL');
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

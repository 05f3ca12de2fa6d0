import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFakeKubernetes, type FakeKubernetes } from '../../lib/simulator/kubernetes/fake.ts';
import { listenKubernetes } from '../../lib/simulator/kubernetes/listen.ts';
import { type Cluster, eventually } from './cluster.ts';
import { createKubeClient } from './kube-client.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { startProxy, type TCPProxy } from './proxy.ts';

/** The embedded API behind the same interface as the real one, and with its scripting API. */
export interface EmbeddedCluster extends Cluster {
  readonly kind: 'embedded';
  readonly fake: FakeKubernetes;
  /** The connection between clients and the API. */
  readonly proxy: TCPProxy;
}

export interface EmbeddedClusterOptions {
  /** ms between bookmarks, default a minute as the real server. */
  readonly bookmarkInterval?: number;
}

/** Starts an embedded API on loopback; takes milliseconds. */
export const startEmbeddedCluster = async (options: EmbeddedClusterOptions = {}): Promise<EmbeddedCluster> => {
  const tokens = { admin: 'admin-token', controller: 'controller-token' };
  const fake = createFakeKubernetes({
    tokens: { [tokens.admin]: 'admin', [tokens.controller]: 'controller' },
    ...options,
  });
  const listening = await listenKubernetes(fake);
  const proxy = await startProxy(listening.port);
  const url = `http://127.0.0.1:${proxy.port}`;
  const directory = mkdtempSync(join(tmpdir(), 'embedded-cluster-'));
  const kubeconfig = join(directory, 'kubeconfig');
  writeKubeconfig(kubeconfig, url, tokens.controller, undefined);
  const client = createKubeClient(url, tokens.admin);

  const killAPIServer = async (): Promise<void> => {
    await proxy.refuse();
    proxy.cut();
  };
  const startAPIServer = async (): Promise<void> => {
    // A restarted API server has an empty watch cache.
    fake.compact();
    await proxy.accept();
    // The first request on a connection that the restart cut fails; the next one opens a new one.
    await eventually(
      'the embedded API answers',
      async () => (await client.send('GET', '/readyz').catch(() => undefined))?.status,
    );
  };
  return {
    kind: 'embedded',
    url,
    ca: undefined,
    tokens,
    kubeconfig,
    client,
    fake,
    proxy,
    killAPIServer,
    startAPIServer,
    pauseAPIServer: () => proxy.freeze(),
    resumeAPIServer: () => proxy.thaw(),
    wipeEtcd: async () => {
      await killAPIServer();
      fake.resetStore();
      await startAPIServer();
    },
    expireHistory: async () => {
      await killAPIServer();
      await startAPIServer();
    },
    requests: () =>
      Promise.resolve(
        fake.journal.all().map(({ user, userAgent, verb = 'get', path }) => ({ user, userAgent, verb, path })),
      ),
    close: async () => {
      await client.close();
      await proxy.close();
      await listening.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};

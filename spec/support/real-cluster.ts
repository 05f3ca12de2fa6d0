import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { type Assets, resolveAssets } from './assets.ts';
import { type Child, startChild } from './child.ts';
import { type Cluster, eventually, type SeenRequest } from './cluster.ts';
import { freePorts } from './free-ports.ts';
import { createKubeClient } from './kube-client.ts';
import { writeKubeconfig } from './kubeconfig.ts';

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface RealClusterOptions {
  readonly assets?: Assets;
  /** What the user `controller` may do in the whole cluster; without it, everything. */
  readonly controllerRules?: readonly PolicyRule[];
}

const READY_TIMEOUT = 60_000;

const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
};

/** Files that both programs need and that stay over restarts. */
const prepareFiles = (directory: string, tokens: Cluster['tokens']): void => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(join(directory, 'service-account.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), {
    mode: 0o600,
  });
  writeFileSync(
    join(directory, 'tokens.csv'),
    `${tokens.admin},admin,1,"system:masters"\n${tokens.controller},controller,2\n`,
    { mode: 0o600 },
  );
  writeFileSync(join(directory, 'audit-policy.yaml'), JSON.stringify(AUDIT_POLICY));
};

const etcdArgs = (directory: string, client: number, peer: number): string[] => [
  ...['--data-dir', join(directory, 'etcd')],
  ...['--listen-client-urls', `http://127.0.0.1:${client}`, '--advertise-client-urls', `http://127.0.0.1:${client}`],
  ...['--listen-peer-urls', `http://127.0.0.1:${peer}`, '--unsafe-no-fsync', '--log-level', 'warn'],
];

const apiServerArgs = (directory: string, etcd: number, port: number): string[] => [
  ...['--etcd-servers', `http://127.0.0.1:${etcd}`, '--bind-address', '127.0.0.1', '--secure-port', String(port)],
  ...['--endpoint-reconciler-type', 'none', '--cert-dir', join(directory, 'certs')],
  ...['--service-account-key-file', join(directory, 'service-account.key')],
  ...['--service-account-signing-key-file', join(directory, 'service-account.key')],
  ...['--service-account-issuer', 'https://kubernetes.default.svc', '--token-auth-file', join(directory, 'tokens.csv')],
  ...[
    '--authorization-mode',
    'RBAC',
    '--service-cluster-ip-range',
    '10.96.0.0/16',
    '--disable-admission-plugins',
    'ServiceAccount',
  ],
  ...['--audit-policy-file', join(directory, 'audit-policy.yaml'), '--audit-log-path', join(directory, 'audit.log')],
];

interface AuditLine {
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code: number };
}

/** A watch is written twice, at its start and at its end, and is counted at its start; one that is refused only once. */
const readAudit = (path: string): SeenRequest[] => {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.flatMap(line => {
    const entry = JSON.parse(line) as AuditLine & { readonly stage: string };
    const { user, userAgent = '', verb, requestURI: path, objectRef, responseStatus } = entry;
    const code = responseStatus?.code ?? 0;
    if (verb === 'watch' && entry.stage !== 'ResponseStarted' && code < 400) return [];
    const resource = [objectRef?.resource, objectRef?.subresource].filter(part => part !== undefined).join('/');
    return [{ user: user.username, userAgent, verb, path, code, resource }];
  });
};

const post = async (url: string, body: unknown): Promise<unknown> => {
  const answer = await request(url, { method: 'POST', body: JSON.stringify(body) });
  return answer.body.json();
};

/** Compacts etcd at its present revision through its JSON gateway. */
const compactEtcd = async (port: number): Promise<void> => {
  const range = (await post(`http://127.0.0.1:${port}/v3/kv/range`, { key: Buffer.from('x').toString('base64') })) as {
    header: { revision: string };
  };
  await post(`http://127.0.0.1:${port}/v3/kv/compaction`, { revision: range.header.revision, physical: true });
};

/** Starts etcd and kube-apiserver on loopback, with data in a temporary directory. Takes 3 to 8 seconds. */
export const startRealCluster = async (options: RealClusterOptions = {}): Promise<Cluster> => {
  const assets = options.assets ?? (await resolveAssets());
  if (typeof assets === 'string') throw new Error(assets);
  const directory = mkdtempSync(join(tmpdir(), 'real-cluster-'));
  const tokens = { admin: randomBytes(16).toString('hex'), controller: randomBytes(16).toString('hex') };
  prepareFiles(directory, tokens);
  const [etcdPort = 0, peerPort = 0, port = 0] = await freePorts(3);
  const url = `https://127.0.0.1:${port}`;
  let etcd: Child | undefined;
  let apiServer: Child | undefined;

  const startEtcd = async (): Promise<void> => {
    const child = startChild(assets.etcd, etcdArgs(directory, etcdPort, peerPort), join(directory, 'etcd.log'));
    etcd = child;
    await eventually(
      'etcd is healthy',
      async () => {
        if (!child.running()) throw new Error(`etcd ended:\n${child.tail()}`);
        const answer = await request(`http://127.0.0.1:${etcdPort}/health`).catch(() => undefined);
        await answer?.body.dump();
        return answer?.statusCode === 200 ? true : undefined;
      },
      READY_TIMEOUT,
    );
  };

  const launchAPIServer = (): Child => {
    apiServer = startChild(
      assets.kubeAPIServer,
      apiServerArgs(directory, etcdPort, port),
      join(directory, 'kube-apiserver.log'),
    );
    return apiServer;
  };

  const certificate = join(directory, 'certs', 'apiserver.crt');
  const started = launchAPIServer;
  const abort = async (): Promise<void> => {
    await apiServer?.kill();
    await etcd?.kill();
    rmSync(directory, { recursive: true, force: true });
  };

  try {
    await startEtcd();
    const child = started();
    await eventually(
      'kube-apiserver wrote its certificate',
      async () => {
        if (!child.running()) throw new Error(`kube-apiserver ended:\n${child.tail()}`);
        return existsSync(certificate) && readFileSync(certificate, 'utf8').includes('END CERTIFICATE')
          ? true
          : undefined;
      },
      READY_TIMEOUT,
    );
    // The self-made certificate comes with its CA in the same file.
    const ca = readFileSync(certificate, 'utf8');
    const client = createKubeClient(url, tokens.admin, ca);

    const ready = async (): Promise<void> => {
      await eventually(
        'kube-apiserver is ready',
        async () => {
          if (apiServer?.running() !== true) throw new Error(`kube-apiserver ended:\n${apiServer?.tail()}`);
          for (const path of ['/readyz', '/api/v1/namespaces/default', '/api/v1/namespaces/kube-system']) {
            const answer = await client.send('GET', path).catch(() => undefined);
            if (answer?.status !== 200) return undefined;
          }
          return true;
        },
        READY_TIMEOUT,
      );
    };
    const grant = async (): Promise<void> => {
      const base = '/apis/rbac.authorization.k8s.io/v1';
      const rules = options.controllerRules;
      const role = rules === undefined ? 'cluster-admin' : 'spec-controller';
      if (rules !== undefined) await client.must('POST', `${base}/clusterroles`, { metadata: { name: role }, rules });
      await client.must('POST', `${base}/clusterrolebindings`, {
        metadata: { name: 'spec-controller' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'controller' }],
      });
    };
    await ready();
    await grant();
    const kubeconfig = join(directory, 'kubeconfig');
    writeKubeconfig(kubeconfig, url, tokens.controller, ca);
    const skipped = readAudit(join(directory, 'audit.log')).length;

    const killAPIServer = async (): Promise<void> => apiServer?.kill();
    const startAPIServer = async (): Promise<void> => {
      launchAPIServer();
      await ready();
    };
    return {
      kind: 'real',
      url,
      ca,
      tokens,
      kubeconfig,
      client,
      killAPIServer,
      startAPIServer,
      pauseAPIServer: () => apiServer?.signal('SIGSTOP'),
      resumeAPIServer: () => apiServer?.signal('SIGCONT'),
      wipeEtcd: async () => {
        await killAPIServer();
        await etcd?.kill();
        rmSync(join(directory, 'etcd'), { recursive: true, force: true });
        await startEtcd();
        await startAPIServer();
        await grant();
      },
      expireHistory: async () => {
        await compactEtcd(etcdPort);
        await killAPIServer();
        await startAPIServer();
      },
      requests: async () => readAudit(join(directory, 'audit.log')).slice(skipped),
      close: async () => {
        await client.close();
        await abort();
      },
    };
  } catch (error) {
    await abort();
    throw error;
  }
};

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '../streams/clock.ts';
import { cachedFile } from './cached-file.ts';

/** What undici's connector takes. */
export interface TLSMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Where the API server is and how to prove who we are. Files behind it are read again when they change. */
export interface KubeConnection {
  /** Base URL without a trailing slash. */
  readonly server: string;
  /** Namespace this process runs in, where known. */
  readonly namespace: string | undefined;
  /** Value of the Authorization header for a request sent now. */
  authorization(): Promise<string | undefined>;
  /** The same object until a certificate changes: a new one asks for new connections. */
  tls(): TLSMaterial;
}

export interface LoadOptions {
  /** Path of a kubeconfig file. */
  readonly kubeconfig?: string | undefined;
  /** URL that replaces the server of whatever was found. */
  readonly master?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  /** Directory of token, ca.crt and namespace in a pod. */
  readonly serviceAccountDir?: string;
  /** ms between two looks at a credential file. */
  readonly checkEvery?: number;
}

const defaultServiceAccountDir = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Checks and normalises an API server URL. */
export const serverURL = (source: string, value: string): string => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new Error(`${source} is ${JSON.stringify(value)}, expected a URL with http or https`);
  }
  if (url.username !== '' || url.password !== '') throw new Error(`${source} must not carry a user or password`);
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
};

const inClusterServer = (env: LoadOptions['env']): string | undefined => {
  const host = env.KUBERNETES_SERVICE_HOST;
  const port = env.KUBERNETES_SERVICE_PORT;
  if (host === undefined || host === '' || port === undefined || port === '') return undefined;
  const bracketed = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return serverURL('KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT', `https://${bracketed}:${port}`);
};

/** The service account of a pod: token and CA are replaced by the kubelet while we run. */
const inCluster = (server: string, options: LoadOptions): KubeConnection => {
  const clock = options.clock ?? systemClock;
  const dir = options.serviceAccountDir ?? defaultServiceAccountDir;
  const token = cachedFile(join(dir, 'token'), clock, options.checkEvery);
  const ca = cachedFile(join(dir, 'ca.crt'), clock, options.checkEvery);
  const namespaceFile = join(dir, 'namespace');
  let material: { readonly ca: Buffer } = { ca: ca.read() };
  token.read();
  return {
    server,
    namespace: existsSync(namespaceFile) ? readFileSync(namespaceFile, 'utf8').trim() || undefined : undefined,
    authorization: async () => `Bearer ${token.read().toString('utf8').trim()}`,
    tls: () => {
      const latest = ca.read();
      // The content decides: the kubelet also swaps the files when nothing in them is new.
      if (!latest.equals(material.ca)) material = { ca: latest };
      return material;
    },
  };
};

const anonymous = (server: string): KubeConnection => {
  const material: TLSMaterial = {};
  return { server, namespace: undefined, authorization: async () => undefined, tls: () => material };
};

/**
 * Finds the API server: the kubeconfig given, else the one(s) of `KUBECONFIG`, else the pod's service account, else
 * `master` alone without credentials. Fails with a message that says what was looked for.
 */
export const loadKubeConnection = async (options: LoadOptions): Promise<KubeConnection> => {
  const master = options.master ? serverURL('--master', options.master) : undefined;
  const kubeconfig = options.kubeconfig || options.env.KUBECONFIG;
  if (kubeconfig) {
    // Loaded only here: the package behind it costs 26 MiB and more, and a pod needs none of it.
    const { kubeconfigConnection } = await import('./kubeconfig.ts');
    return kubeconfigConnection({ ...options, kubeconfig, master });
  }
  const server = inClusterServer(options.env);
  if (server !== undefined) return inCluster(master ?? server, options);
  if (master !== undefined) return anonymous(master);
  throw new Error(
    'no Kubernetes API server: set --kubeconfig, KUBECONFIG or --master, or run in a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT)',
  );
};

import { readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { load } from 'js-yaml';
import { systemClock } from '../streams/clock.ts';
import { type CachedFile, cachedFile } from './cached-file.ts';
import { type KubeConnection, type LoadOptions, serverURL, type TLSMaterial } from './credentials.ts';

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** `tokenFile` of a user, which KubeConfig drops while parsing. Relative paths are relative to the kubeconfig. */
const tokenFileOf = (paths: readonly string[], user: string): string | undefined => {
  for (const path of paths) {
    const root = load(readFileSync(path, 'utf8'));
    const users = isRecord(root) && Array.isArray(root.users) ? root.users.filter(isRecord) : [];
    const entry = users.find(u => u.name === user)?.user;
    const file = isRecord(entry) ? entry.tokenFile : undefined;
    if (typeof file === 'string' && file !== '') return isAbsolute(file) ? file : join(dirname(path), file);
  }
  return undefined;
};

const loadFiles = (paths: readonly string[]): KubeConfig => {
  const config = new KubeConfig();
  paths.forEach((path, i) => {
    try {
      const one = i === 0 ? config : new KubeConfig();
      one.loadFromFile(path);
      if (one !== config) config.mergeConfig(one, true);
    } catch (err) {
      // The parser's message may quote the file; its kind is enough.
      const code = isRecord(err) && typeof err.code === 'string' ? err.code : 'not a kubeconfig';
      throw new Error(`kubeconfig ${path} cannot be read: ${code}`);
    }
  });
  return config;
};

const bufferOf = (value: unknown): Buffer | undefined =>
  Buffer.isBuffer(value) ? value : typeof value === 'string' && value !== '' ? Buffer.from(value) : undefined;

const same = (a: TLSMaterial, b: TLSMaterial): boolean =>
  (['ca', 'cert', 'key'] as const).every(k => String(a[k] ?? '') === String(b[k] ?? '')) &&
  a.servername === b.servername &&
  a.rejectUnauthorized === b.rejectUnauthorized;

/** The current context of a kubeconfig: static credentials, files (read again when they change) and exec plug-ins. */
export const kubeconfigConnection = async (
  options: LoadOptions & { readonly kubeconfig: string; readonly master: string | undefined },
): Promise<KubeConnection> => {
  const clock = options.clock ?? systemClock;
  const checkEvery = options.checkEvery ?? 1000;
  const paths = options.kubeconfig.split(delimiter).filter(path => path !== '');
  const where = `kubeconfig ${paths.join(', ')}`;
  const config = loadFiles(paths);
  const cluster = config.getCurrentCluster();
  const user = config.getCurrentUser();
  if (cluster === null) throw new Error(`${where} has no cluster for its current context`);
  if (cluster.proxyUrl) throw new Error(`${where} sets proxy-url, which is not supported`);
  if (user?.impersonateUser) throw new Error(`${where} asks to impersonate a user, which is not supported`);
  const server = options.master ?? serverURL(`server in ${where}`, cluster.server);
  // The package refuses these with words that name neither the file nor a way out.
  if (cluster.server.startsWith('http:') && !cluster.skipTLSVerify)
    throw new Error(
      `server in ${where} is ${JSON.stringify(cluster.server)}, which is not encrypted: use https, or set insecure-skip-tls-verify: true for the cluster`,
    );
  const tokenPath = user === null ? undefined : tokenFileOf(paths, user.name);
  const token: CachedFile | undefined = tokenPath === undefined ? undefined : cachedFile(tokenPath, clock, checkEvery);
  const ca: CachedFile | undefined = cluster.caFile ? cachedFile(cluster.caFile, clock, checkEvery) : undefined;
  const caData = cluster.caData ? Buffer.from(cluster.caData, 'base64') : undefined;

  let material: TLSMaterial = {};
  let authorization: string | undefined;
  let resolvedAt: number | undefined;

  /** Asks KubeConfig (files, exec plug-ins, each with its own cache) no more than once per `checkEvery`. */
  const resolve = async (): Promise<void> => {
    if (resolvedAt !== undefined && clock.monotonic() - resolvedAt < checkEvery) return;
    const https: RequestOptions = {};
    await config.applyToHTTPSOptions(https);
    const headers: Readonly<Record<string, unknown>> = isRecord(https.headers) ? https.headers : {};
    const bearer = headers.Authorization;
    const basic = https.auth ? `Basic ${Buffer.from(https.auth).toString('base64')}` : undefined;
    authorization = typeof bearer === 'string' ? bearer.trim() : basic;
    const root = ca?.read() ?? caData;
    const cert = bufferOf(https.cert);
    const key = bufferOf(https.key);
    const latest: TLSMaterial = {
      ...(root === undefined ? {} : { ca: root }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(cluster.tlsServerName ? { servername: cluster.tlsServerName } : {}),
      ...(cluster.skipTLSVerify ? { rejectUnauthorized: false } : {}),
    };
    if (!same(latest, material)) material = latest;
    resolvedAt = clock.monotonic();
  };

  await resolve();
  return {
    server,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    authorization: async () => {
      await resolve();
      return token === undefined ? authorization : `Bearer ${token.read().toString('utf8').trim()}`;
    },
    tls: () => material,
  };
};

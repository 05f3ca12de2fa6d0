import type { Agent as AgentType, Dispatcher } from 'undici';
import Agent from 'undici/lib/dispatcher/agent.js';

/** Proxies for outgoing requests; a missing one means a direct connection. */
export interface Proxies {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  /** Comma-separated hosts that are reached directly. */
  readonly noProxy?: string;
}

export interface DispatcherOptions {
  /** ms for TCP and TLS. */
  readonly connectTimeout?: number;
  /** Connections per origin. */
  readonly connections?: number;
}

/** Proxies named by the environment, in either case of letters; undefined when none is. */
export const proxiesOf = (env: Readonly<Record<string, string | undefined>>): Proxies | undefined => {
  const read = (name: string): string => env[name.toLowerCase()] || env[name] || '';
  const [httpProxy, httpsProxy, noProxy] = [read('HTTP_PROXY'), read('HTTPS_PROXY'), read('NO_PROXY')];
  if (httpProxy === '' && httpsProxy === '') return undefined;
  // undici reads its own environment for what is undefined, so absent ones are passed as empty.
  return { httpProxy, httpsProxy, noProxy };
};

const agentOptions = ({ connectTimeout = 10_000, connections = 8 }: DispatcherOptions): AgentType.Options => ({
  allowH2: false,
  connections,
  // Said here, NODE_TLS_REJECT_UNAUTHORIZED in the environment does not count.
  connect: { timeout: connectTimeout, rejectUnauthorized: true },
});

/** Pool of direct connections, one for the whole process. */
export const directDispatcher = (options: DispatcherOptions = {}): Dispatcher => new Agent(agentOptions(options));

/**
 * Pool of connections, through the given proxies if there are any. Only then undici is loaded as a whole (14 MB more):
 * its proxy code calls `connect`, which is added to dispatchers by the main module.
 */
export const createDispatcher = async (
  proxies: Proxies | undefined,
  options: DispatcherOptions = {},
): Promise<Dispatcher> => {
  if (proxies === undefined) return directDispatcher(options);
  const { EnvHttpProxyAgent } = await import('undici');
  const verified = { requestTls: { rejectUnauthorized: true }, proxyTls: { rejectUnauthorized: true } };
  return new EnvHttpProxyAgent({ ...agentOptions(options), ...verified, ...proxies });
};

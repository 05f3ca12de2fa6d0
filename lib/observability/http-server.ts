import type { Settings } from '../settings/settings.ts';
import { systemClock } from '../streams/clock.ts';
import type { Health } from './health.ts';
import { healthHandler, metricsHandler } from './http-handlers.ts';
import { type Listener, listen, listenAddress, parseListenAddress } from './listen.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { createCredentials } from './tls-credentials.ts';

export interface ServersOptions {
  readonly settings: Pick<Settings, 'metrics' | 'secure'>;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly logger: Logger;
  /** ms between looks at the certificate files; default a minute. */
  readonly certificateCheckPeriod?: number;
}

export interface Servers {
  /** Undefined when metrics are off. */
  readonly metricsPort: number | undefined;
  /** Undefined when --secure-port is 0. */
  readonly securePort: number | undefined;
  /** Ends both at once, connections included. */
  close(): Promise<void>;
}

/** ms and bytes: requests here are tiny, and nobody may hold a connection without asking something. */
const limits = {
  keepAliveTimeout: 5_000,
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 8_192,
};
const idleTimeout = 20_000;
const maxConnections = 100;

/**
 * Without the ES module facade of these two, which reads every export and so loads the WebSocket client of Node.js
 * (8 MiB), and only when a server is wanted.
 */
const { getBuiltinModule } = process;

const startMetrics = async ({ settings, metrics, logger }: ServersOptions): Promise<Listener | undefined> => {
  const { enabled, address } = settings.metrics;
  if (!enabled) return undefined;
  const server = getBuiltinModule('node:http').createServer(limits, metricsHandler(metrics));
  server.setTimeout(idleTimeout);
  server.maxConnections = maxConnections;
  const setting = 'HCLOUD_METRICS_ADDRESS';
  const listener = await listen(
    server,
    parseListenAddress(setting, address),
    setting,
    'set another address, or HCLOUD_METRICS_ENABLED=false',
  );
  server.on('error', err => logger.warn('Failed to accept a connection', { address, err }));
  logger.info('Started metrics server', { address });
  return listener;
};

const startSecure = async (options: ServersOptions): Promise<Listener | undefined> => {
  const { health, logger, certificateCheckPeriod = 60_000 } = options;
  const { secure } = options.settings;
  if (secure.port === 0) return undefined;
  const credentials = createCredentials(secure, systemClock);
  const { cert, key } = credentials.current;
  const server = getBuiltinModule('node:https').createServer(
    { ...limits, cert, key, minVersion: 'TLSv1.2', handshakeTimeout: 5_000 },
    healthHandler(health, logger),
  );
  server.setTimeout(idleTimeout);
  server.maxConnections = maxConnections;
  const listener = await listen(
    server,
    listenAddress(secure.bindAddress, secure.port),
    '--secure-port',
    'set another port, or 0 for none',
  );
  const address = `${secure.bindAddress}:${secure.port}`;
  server.on('error', err => logger.warn('Failed to accept a connection', { address, err }));
  logger.info('Started health server', { address });
  let failed = false;
  const timer = setInterval(() => {
    try {
      const next = credentials.refresh();
      if (next !== undefined) {
        server.setSecureContext(next);
        logger.info('Loaded new TLS certificate', { setting: '--tls-cert-file' });
      }
      failed = false;
    } catch (err) {
      // Once, not each minute: the old certificate goes on working.
      if (!failed) logger.warn('Failed to load new TLS certificate, keeping the old one', { err });
      failed = true;
    }
  }, certificateCheckPeriod);
  timer.unref();
  return {
    port: listener.port,
    close: () => {
      clearInterval(timer);
      return listener.close();
    },
  };
};

/**
 * Opens the two listeners of the process: plain HTTP with /metrics, HTTPS with /livez, /readyz and /healthz. Rejects,
 * with nothing left open, when one cannot be opened.
 */
export const startServers = async (options: ServersOptions): Promise<Servers> => {
  const [metrics, secure] = await Promise.allSettled([startMetrics(options), startSecure(options)]);
  const open = [metrics, secure].flatMap(result =>
    result.status === 'fulfilled' && result.value ? [result.value] : [],
  );
  const close = async (): Promise<void> => {
    await Promise.all(open.map(listener => listener.close()));
  };
  if (metrics.status === 'rejected' || secure.status === 'rejected') {
    await close();
    throw metrics.status === 'rejected' ? metrics.reason : (secure as PromiseRejectedResult).reason;
  }
  return { metricsPort: metrics.value?.port, securePort: secure.value?.port, close };
};

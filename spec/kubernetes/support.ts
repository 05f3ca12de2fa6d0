import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createKubeClient, type KubeClient } from '../../lib/kubernetes/client.ts';
import type { KubeConnection } from '../../lib/kubernetes/credentials.ts';
import type { KubeNode } from '../../lib/kubernetes/types.ts';
import type { LogFields } from '../../lib/observability/log-keys.ts';
import type { Logger, LogLevel } from '../../lib/observability/logger.ts';
import type { Clock } from '../../lib/streams/clock.ts';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Script = (seen: Seen, response: ServerResponse, nth: number) => void;

export interface ScriptedServer {
  readonly url: string;
  readonly port: number;
  readonly seen: Seen[];
  readonly sockets: Set<Socket>;
  /** How many connections there have been. */
  connections(): number;
  /** Resolves when the `nth` request (from 1) has come in. */
  requested(nth: number): Promise<Seen>;
  close(): Promise<void>;
}

/** A loopback HTTP server that answers each request by `script`. */
export const scriptedServer = async (script: Script, port = 0): Promise<ScriptedServer> => {
  const seen: Seen[] = [];
  const sockets = new Set<Socket>();
  const waiting: { nth: number; resolve: (seen: Seen) => void }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const url = new URL(request.url ?? '/', 'http://server');
    const one = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body,
    };
    seen.push(one);
    const nth = seen.length;
    script(one, response, nth);
    for (const waiter of waiting) if (waiter.nth === nth) waiter.resolve(one);
  });
  let connections = 0;
  server.on('connection', socket => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve));
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    seen,
    sockets,
    connections: () => connections,
    requested: nth => {
      const already = seen[nth - 1];
      if (already !== undefined) return Promise.resolve(already);
      return new Promise(resolve => waiting.push({ nth, resolve }));
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
};

export const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};

export const status = (code: number, reason: string, message = reason, more: object = {}) => ({
  kind: 'Status',
  status: 'Failure',
  code,
  reason,
  message,
  ...more,
});

export const connectionTo = (server: string, token?: string): KubeConnection => {
  const tls = {};
  return {
    server,
    namespace: undefined,
    authorization: async () => (token === undefined ? undefined : `Bearer ${token}`),
    tls: () => tls,
  };
};

export const clientOf = (server: Pick<ScriptedServer, 'url'>): KubeClient =>
  createKubeClient({ connection: connectionTo(server.url), userAgent: 'spec' });

export interface Line {
  readonly level: LogLevel;
  readonly msg: string;
  readonly fields: LogFields;
}

export const recordingLogger = (): Logger & { readonly lines: Line[] } => {
  const lines: Line[] = [];
  const make = (base: LogFields): Logger => {
    const at = (level: LogLevel) => (msg: string, fields?: LogFields) => {
      lines.push({ level, msg, fields: { ...base, ...fields } });
    };
    return {
      error: at('error'),
      warn: at('warn'),
      info: at('info'),
      debug: at('debug'),
      isEnabled: () => true,
      child: fields => make({ ...base, ...fields }),
    };
  };
  return { ...make({}), lines };
};

/** A clock that moves only when told. */
export const manualClock = (start = 0): Clock & { advance(ms: number): void } => {
  let at = start;
  return {
    now: () => 1_700_000_000_000 + at,
    monotonic: () => at,
    advance: ms => {
      at += ms;
    },
  };
};

export const rawNode = (name: string, fields: { uid?: string; rv?: string } = {}): Record<string, unknown> => ({
  metadata: {
    name,
    uid: fields.uid ?? `uid-${name}`,
    resourceVersion: fields.rv ?? '1',
    creationTimestamp: '2026-01-02T03:04:05Z',
  },
});

export const node = (name: string, fields: Partial<KubeNode> = {}): KubeNode => ({
  name,
  namespace: '',
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: 0,
  deleting: false,
  labels: {},
  annotations: {},
  providerID: '',
  podCIDRs: [],
  taints: [],
  unschedulable: false,
  addresses: [],
  ready: undefined,
  networkUnavailable: undefined,
  ...fields,
});

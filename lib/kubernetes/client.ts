import { createSecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
import undiciRequest from 'undici/lib/api/api-request.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import { type Clock, systemClock } from '../streams/clock.ts';
import type { KubeConnection, TLSMaterial } from './credentials.ts';
import { errorFromNetwork, errorFromStatus, isUnreachable, KubeError } from './errors.ts';
import { resourceOf } from './resource-of.ts';
import { linkedController } from './wait.ts';

export type KubeMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface KubeRequest {
  readonly method: KubeMethod;
  /** Absolute path, segments already escaped. */
  readonly path: string;
  /** Undefined values are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Of the body, `application/json` when not given. */
  readonly contentType?: string;
  readonly signal: AbortSignal;
  /** ms for the whole call; for streams until the headers have come. */
  readonly timeout?: number;
  /** Never waits for a connection behind other calls. */
  readonly urgent?: boolean;
}

export interface RequestReport {
  readonly method: KubeMethod;
  /** `nodes`, `nodes/status`, ...: never a name. */
  readonly resource: string;
  /** HTTP status, 0 when there was no answer. */
  readonly code: number;
  readonly durationMs: number;
}

export interface KubeClient {
  /**
   * One call, answer parsed. Fails with a KubeError, or with the signal's reason when that aborted. Never retries:
   * whether and when to come back (KubeError.retryAfter) is the caller's business.
   */
  request<T>(request: KubeRequest): Promise<T>;
  /** A call whose body goes on (watch): resolves with the headers, then has no timeout of its own. Fails like `request`. */
  stream(request: KubeRequest): Promise<AsyncIterable<Uint8Array>>;
  /** Monotonic ms at which a call last got no answer, or doubt was cast on all connections; -Infinity before the first. */
  readonly troubleAt?: () => number;
  /** Something that was due did not come: connections that seem quiet may be dead, too. */
  readonly castDoubt?: () => void;
  /** Ends all connections, requests in flight included. */
  close(): Promise<void>;
}

export interface KubeClientOptions {
  readonly connection: KubeConnection;
  readonly userAgent: string;
  /** Replaces the own connection pool; not closed by `close`. */
  readonly dispatcher?: Dispatcher;
  readonly clock?: Clock;
  readonly onRequest?: (report: RequestReport) => void;
}

const defaultTimeout = 30_000;
const connectTimeout = 10_000;
const maxErrorBody = 64 * 1024;

/** Connections for calls that may wait for each other. A hundred of them cost more memory than they bring. */
const bulkConnections = 10;

/** Connections with the same certificates. */
interface Pools {
  readonly bulk: Dispatcher;
  /** Unbounded, for streams and urgent calls. */
  readonly urgent: Dispatcher;
}

/**
 * HTTP/1.1 only: one TCP connection per watch, so a dead one hurts nothing else (half-open HTTP/2 sessions have blinded
 * other controllers for minutes). Our timeouts replace undici's. One TLS context for all: each would hold the CA anew.
 * Certificates are verified whatever NODE_TLS_REJECT_UNAUTHORIZED says; only a kubeconfig can turn it off.
 */
const newPools = (tls: TLSMaterial, secure: boolean): Pools => {
  const { ca, cert, key, ...others } = tls;
  const secureContext = secure ? createSecureContext({ ca, cert, key }) : undefined;
  const options = {
    allowH2: false,
    bodyTimeout: 0,
    connect: {
      rejectUnauthorized: true,
      ...others,
      secureContext,
      timeout: connectTimeout,
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
    },
  };
  return { bulk: new Agent({ ...options, connections: bulkConnections }), urgent: new Agent(options) };
};

const pathOf = (request: KubeRequest): string => {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(request.query ?? {})) {
    if (value !== undefined) query.set(key, String(value));
  }
  return query.size === 0 ? request.path : `${request.path}?${query}`;
};

/** Reads at most `limit` bytes: enough for a Status, and a proxy's huge error page costs nothing. */
const readClipped = async (body: AsyncIterable<Uint8Array>, limit: number): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size >= limit) break;
  }
  return Buffer.concat(chunks).toString('utf8');
};

const parseOr = <T>(json: string, otherwise: T): unknown => {
  try {
    return JSON.parse(json);
  } catch {
    return otherwise;
  }
};

/** A client of the API server: one pool of connections, errors as KubeError, each call reported to `onRequest`. */
export const createKubeClient = (options: KubeClientOptions): KubeClient => {
  const { connection, userAgent, onRequest } = options;
  const clock = options.clock ?? systemClock;
  const base = new URL(connection.server);
  const prefix = base.pathname.replace(/\/+$/, '');
  const agents = new Set<Dispatcher>();
  let troubleAt = Number.NEGATIVE_INFINITY;
  const castDoubt = (): void => {
    troubleAt = clock.monotonic();
  };
  let current: { readonly tls: TLSMaterial; readonly pools: Pools } | undefined;

  /** The pools for the present certificates. Old ones end when their last request has ended. */
  const pools = (): Pools => {
    const tls = connection.tls();
    if (current?.tls === tls) return current.pools;
    const old = current?.pools;
    current = { tls, pools: newPools(tls, base.protocol === 'https:') };
    agents.add(current.pools.bulk).add(current.pools.urgent);
    for (const agent of old === undefined ? [] : [old.bulk, old.urgent]) {
      const forget = (): boolean => agents.delete(agent);
      agent.close().then(forget, forget);
    }
    return current.pools;
  };

  const send = async (
    request: KubeRequest,
    signal: AbortSignal,
    { urgent, ...timeouts }: { readonly headersTimeout: number; readonly urgent: boolean },
  ): Promise<Dispatcher.ResponseData> => {
    const authorization = await connection.authorization();
    signal.throwIfAborted();
    const dispatcher = options.dispatcher ?? pools()[urgent ? 'urgent' : 'bulk'];
    return undiciRequest.call(dispatcher, {
      origin: base.origin,
      path: prefix + pathOf(request),
      method: request.method,
      headers: {
        accept: 'application/json',
        'user-agent': userAgent,
        ...(authorization === undefined ? {} : { authorization }),
        ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
      },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      signal,
      ...timeouts,
      bodyTimeout: 0,
    });
  };

  /** Runs a call: maps its errors, reports it. `run` tells the status as soon as it knows. */
  const call = async <T>(
    request: KubeRequest,
    run: (what: string, answered: (status: number) => void) => Promise<T>,
  ): Promise<T> => {
    const resource = resourceOf(request.path);
    const what = `${request.method} ${request.path}`;
    const started = clock.monotonic();
    let code = 0;
    try {
      return await run(what, status => {
        code = status;
      });
    } catch (err) {
      request.signal.throwIfAborted();
      const failure = errorFromNetwork(what, err);
      if (isUnreachable(failure)) castDoubt();
      throw failure;
    } finally {
      onRequest?.({ method: request.method, resource, code, durationMs: clock.monotonic() - started });
    }
  };

  const failed = async (what: string, answer: Dispatcher.ResponseData): Promise<KubeError> => {
    const body = await readClipped(answer.body, maxErrorBody);
    return errorFromStatus(what, answer.statusCode, parseOr(body, undefined), answer.headers['retry-after']);
  };

  return {
    request: <T>(request: KubeRequest) =>
      call(request, async (what, answered) => {
        const timeout = request.timeout ?? defaultTimeout;
        const { controller, unlink } = linkedController(request.signal);
        const expire = (): void =>
          controller.abort(
            new KubeError({ status: 0, reason: 'Timeout', message: `${what}: no answer in ${timeout} ms` }),
          );
        const timer = setTimeout(expire, timeout);
        try {
          const answer = await send(request, controller.signal, { headersTimeout: 0, urgent: request.urgent === true });
          answered(answer.statusCode);
          if (answer.statusCode >= 300) throw await failed(what, answer);
          const body = parseOr(await answer.body.text(), undefined);
          if (body === undefined) {
            throw new KubeError({ status: 0, reason: 'BadAnswer', message: `${what}: the answer is not JSON` });
          }
          return body as T;
        } finally {
          clearTimeout(timer);
          unlink();
        }
      }),

    stream: request =>
      call(request, async (what, answered) => {
        const timeout = request.timeout ?? defaultTimeout;
        const answer = await send(request, request.signal, { headersTimeout: timeout, urgent: true });
        answered(answer.statusCode);
        if (answer.statusCode >= 300) throw await failed(what, answer);
        return answer.body;
      }),

    troubleAt: () => troubleAt,
    castDoubt,

    close: async () => {
      await Promise.all([...agents].map(agent => agent.destroy().catch(() => undefined)));
      agents.clear();
    },
  };
};

import type { JsonObject } from './json.ts';
import { readList, readObject } from './reads.ts';
import { parseRoute, type Route } from './route.ts';
import { NAMESPACES } from './small-rules.ts';
import {
  failure,
  methodNotAllowed,
  noSuchResource,
  StatusError as Refusal,
  type StatusError,
  unauthorized,
} from './status.ts';
import type { Store } from './store.ts';
import { startWatch, type Watch, type WatchEvent } from './watch.ts';
import { create, patch, remove, update, type WriteContext } from './writes.ts';

/** A request as it is on the wire. Header names are in lower case. */
export interface ApiRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export interface ApiResponse {
  readonly status: number;
  readonly body: string;
}

export interface WatchSink {
  /** One JSON document with its line feed. */
  readonly onLine: (line: string) => void;
  readonly onEnd: () => void;
}

export interface ApiOptions extends WriteContext {
  readonly store: Store;
  /** Bearer token -> user name. Without an entry every request is let in. There are no roles: who is known may do everything. */
  readonly tokens: Readonly<Record<string, string>>;
  readonly gone: () => 'event' | 'http';
}

/** The API without sockets, timers or faults: a request in, an answer out. */
export interface KubernetesApi {
  /** The user's name; undefined for an unknown token. */
  userOf(request: ApiRequest): string | undefined;
  handle(request: ApiRequest): ApiResponse;
  /** A started watch, or the answer that refused it. */
  watch(request: ApiRequest, sink: WatchSink): Watch | ApiResponse;
}

const PUBLIC = ['/healthz', '/readyz', '/livez', '/version'];

const VERSION: JsonObject = { major: '1', minor: '37', gitVersion: 'v1.37.0-embedded', platform: 'embedded' };

const json = (status: number, body: JsonObject): ApiResponse => ({ status, body: JSON.stringify(body) });

const refusalOf = (error: unknown): ApiResponse => {
  if (error instanceof Refusal) return json(error.code, error.body);
  const why = error instanceof Error ? error.message : String(error);
  return json(500, failure(500, 'InternalError', `Internal error occurred: ${why}`).body);
};

const pathOf = (request: ApiRequest): string => request.url.split('?')[0] ?? '';

export const createKubernetesApi = (options: ApiOptions): KubernetesApi => {
  const { store, tokens } = options;

  const userOf = (request: ApiRequest): string | undefined => {
    const token = /^Bearer\s+(.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (Object.keys(tokens).length === 0) return 'anyone';
    return token === '' ? 'system:anonymous' : tokens[token];
  };

  const refuseUser = (request: ApiRequest): StatusError | undefined => {
    const user = userOf(request);
    if (user === undefined) return unauthorized();
    if (user !== 'system:anonymous' || PUBLIC.includes(pathOf(request))) return undefined;
    return failure(403, 'Forbidden', `User "${user}" cannot access path "${pathOf(request)}"`, {});
  };

  const routeOf = (request: ApiRequest): Route => {
    const route = parseRoute(request.method, request.url);
    if (route === 'not-found') throw noSuchResource();
    if (route === 'not-allowed') throw methodNotAllowed();
    return route;
  };

  const perform = (route: Route, request: ApiRequest): ApiResponse => {
    switch (route.verb) {
      case 'get':
        return json(200, readObject(store, route));
      case 'list':
        return json(200, readList(store, route));
      case 'watch':
        throw methodNotAllowed();
      default: {
        const { code, body } = write(route, request);
        return json(code, body);
      }
    }
  };

  const write = (route: Route, request: ApiRequest): { code: number; body: JsonObject } => {
    switch (route.verb) {
      case 'create':
        return create(options, route, request.body, NAMESPACES);
      case 'update':
        return update(options, route, request.body, NAMESPACES);
      case 'patch':
        return patch(options, route, request.headers['content-type'] ?? '', request.body);
      default:
        return remove(options, route, request.body);
    }
  };

  const handle = (request: ApiRequest): ApiResponse => {
    try {
      const refusal = refuseUser(request);
      if (refusal !== undefined) throw refusal;
      if (pathOf(request) === '/version') return json(200, VERSION);
      if (PUBLIC.includes(pathOf(request))) return { status: 200, body: 'ok' };
      return perform(routeOf(request), request);
    } catch (error) {
      return refusalOf(error);
    }
  };

  const watch = (request: ApiRequest, sink: WatchSink): Watch | ApiResponse => {
    try {
      const refusal = refuseUser(request);
      if (refusal !== undefined) throw refusal;
      const onEvent = (event: WatchEvent): void => sink.onLine(`${JSON.stringify(event)}\n`);
      return startWatch({ store, route: routeOf(request), gone: options.gone(), onEvent, onEnd: sink.onEnd });
    } catch (error) {
      return refusalOf(error);
    }
  };

  return { userOf, handle, watch };
};

import { NODES } from './node-rules.ts';
import type { Resource } from './resource.ts';
import { SERVICES } from './service-rules.ts';
import { EVENTS, LEASES, NAMESPACES } from './small-rules.ts';

/** What the embedded API serves. */
export const RESOURCES: readonly Resource[] = [NODES, SERVICES, LEASES, EVENTS, NAMESPACES];

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';

/** One request to a resource, taken apart. */
export interface Route {
  readonly verb: Verb;
  readonly resource: Resource;
  /** Empty for cluster-scoped kinds and for a list over all namespaces. */
  readonly namespace: string;
  /** Empty for a collection. */
  readonly name: string;
  readonly subresource: '' | 'status';
  readonly query: URLSearchParams;
}

const PATH =
  /^\/(?:api\/(?<core>[^/]+)|apis\/(?<group>[^/]+)\/(?<version>[^/]+))\/(?:namespaces\/(?<namespace>[^/]+)\/)?(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?:\/(?<sub>[^/]+))?$/;
/** Namespaces are themselves a resource below the same word. */
const NAMESPACE_PATH = /^\/api\/v1\/namespaces(?:\/([^/]+))?(?:\/(status))?$/;

const OBJECT_VERBS: Readonly<Record<string, Verb>> = { GET: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

const truthy = (value: string | null): boolean => value === 'true' || value === '1';

/** The route, or why there is none: no such resource (404) or no such verb on it (405). */
export const parseRoute = (method: string, url: string): Route | 'not-found' | 'not-allowed' => {
  const { pathname, searchParams: query } = new URL(url, 'http://localhost');
  const own = NAMESPACE_PATH.exec(pathname);
  const parts = own === null ? PATH.exec(pathname)?.groups : undefined;
  const [group, version] = [parts?.group ?? '', parts?.core ?? parts?.version];
  const resource =
    own === null
      ? RESOURCES.find(item => item.plural === parts?.plural && item.group === group && item.version === version)
      : NAMESPACES;
  const namespace = decodeURIComponent(parts?.namespace ?? '');
  const name = decodeURIComponent(own?.[1] ?? parts?.name ?? '');
  const sub = own?.[2] ?? parts?.sub ?? '';
  if (resource === undefined || (namespace !== '' && !resource.namespaced)) return 'not-found';
  if (resource.namespaced && namespace === '' && name !== '') return 'not-found';
  if (sub !== '' && !(sub === 'status' && resource.hasStatus)) return 'not-found';

  const found = (verb: Verb): Route => ({
    verb,
    resource,
    namespace,
    name,
    subresource: sub === '' ? '' : 'status',
    query,
  });
  if (name === '') {
    if (method === 'GET') return found(truthy(query.get('watch')) ? 'watch' : 'list');
    return method === 'POST' && (namespace !== '' || !resource.namespaced) ? found('create') : 'not-allowed';
  }
  const verb = OBJECT_VERBS[method];
  return verb === undefined || (verb === 'delete' && sub !== '') ? 'not-allowed' : found(verb);
};

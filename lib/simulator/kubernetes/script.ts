import { createKubernetesApi } from './api.ts';
import { isObject, type JsonObject } from './json.ts';
import { failure } from './status.ts';
import type { Store } from './store.ts';

/** Where an object lives: `/api/v1/nodes/w1`, `/api/v1/namespaces/default/services/web`. */
export type ObjectPath = string;

/** Direct changes to the store, by the same rules as requests, but without users, faults and journal. */
export interface Script {
  /** @throws StatusError, as all of these */
  create(collection: string, object: JsonObject): JsonObject;
  get(path: ObjectPath): JsonObject | undefined;
  list(collection: string): JsonObject[];
  /** A JSON merge patch (RFC 7386); `.../status` for the status. */
  patch(path: ObjectPath, patch: JsonObject): JsonObject;
  delete(path: ObjectPath): void;
  /** The namespaces and the Service that every cluster has. */
  seed(): void;
}

const SYSTEM_NAMESPACES = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

export const createScript = (store: Store, now: () => number): Script => {
  const api = createKubernetesApi({ store, now, tokens: {}, gone: () => 'event' });

  const request = (method: string, url: string, body = '', contentType = 'application/json'): JsonObject => {
    const response = api.handle({ method, url, body, headers: { 'content-type': contentType } });
    const answer: unknown = JSON.parse(response.body);
    if (!isObject(answer)) throw new TypeError(`${method} ${url} answered no object`);
    if (response.status < 300) return answer;
    throw failure(response.status, String(answer.reason ?? ''), String(answer.message));
  };

  const create: Script['create'] = (collection, object) => request('POST', collection, JSON.stringify(object));

  return {
    create,
    get: path => {
      const response = api.handle({ method: 'GET', url: path, body: '', headers: {} });
      return response.status === 404 ? undefined : request('GET', path);
    },
    list: collection => {
      const { items } = request('GET', collection);
      return Array.isArray(items) ? items.filter(isObject) : [];
    },
    patch: (path, patch) => request('PATCH', path, JSON.stringify(patch), 'application/merge-patch+json'),
    delete: path => void request('DELETE', path),
    seed: () => {
      for (const name of SYSTEM_NAMESPACES) create('/api/v1/namespaces', { metadata: { name } });
      create('/api/v1/namespaces/default/services', {
        metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
        spec: { ports: [{ name: 'https', port: 443, targetPort: 6443 }] },
      });
    },
  };
};

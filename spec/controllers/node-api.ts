import type { KubeClient, KubeRequest } from '../../lib/kubernetes/client.ts';
import { errorFromStatus } from '../../lib/kubernetes/errors.ts';
import { pruneNode } from '../../lib/kubernetes/prune.ts';
import { createStoreContent } from '../../lib/kubernetes/store-content.ts';
import type { KubeNode } from '../../lib/kubernetes/types.ts';
import { createFakeKubernetes } from '../../lib/simulator/kubernetes/fake.ts';
import type { JsonObject } from '../../lib/simulator/kubernetes/json.ts';
import { virtualClock } from '../hetzner/support.ts';

/**
 * Nodes in the embedded Kubernetes API, a client of it without sockets, and a store that learns of them as a watch would
 * tell: when the spec says so.
 */
export const nodeAPI = () => {
  const fake = createFakeKubernetes();
  const content = createStoreContent<KubeNode>();
  const writes: KubeRequest[] = [];
  const state = {
    /** Tell the store of each write as soon as it is done. */
    watching: true,
    /** Called before each request; may throw. */
    before: (_request: KubeRequest): void => {},
    /** Called when it is done, before it is answered. */
    after: (_request: KubeRequest): void => {},
  };
  const path = (name: string) => `/api/v1/nodes/${name}`;
  const all = (): Map<string, KubeNode> =>
    new Map(
      fake
        .list('/api/v1/nodes')
        .map(pruneNode)
        .map(node => [node.name, node]),
    );

  /** Brings the store up to date. */
  const watch = (): void => content.replace(all(), virtualClock.monotonic(), false);

  const client: KubeClient = {
    request: async <T>(request: KubeRequest) => {
      request.signal.throwIfAborted();
      const { method, path: url, body, contentType = 'application/json' } = request;
      if (method !== 'GET') writes.push(request);
      state.before(request);
      const text = body === undefined ? '' : JSON.stringify(body);
      const answer = fake.handle({ method, url, headers: { 'content-type': contentType }, body: text });
      const parsed: unknown = JSON.parse(answer.body);
      if (answer.status >= 300) throw errorFromStatus(`${method} ${url}`, answer.status, parsed);
      if (state.watching) queueMicrotask(watch);
      state.after(request);
      return parsed as T;
    },
    stream: async () => {
      throw new Error('this client does not watch');
    },
    close: async () => {},
  };

  const get = (name: string): KubeNode | undefined => {
    const raw = fake.get(path(name));
    return raw && pruneNode(raw);
  };

  return {
    client,
    writes,
    state,
    watch,
    get,
    store: { ...content, synced: true, synced$: undefined as never },
    /** Creates a Node with what of `node` a kubelet would say; uid and versions are the API's. */
    add: (node: KubeNode): KubeNode => {
      const { name, labels, annotations, providerID, taints, podCIDRs, addresses } = node;
      const raw = {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels, annotations },
        spec: { ...(providerID === '' ? {} : { providerID }), taints, podCIDRs },
        status: { addresses },
      };
      fake.create('/api/v1/nodes', raw as unknown as JsonObject);
      if (state.watching) watch();
      return get(name) as KubeNode;
    },
    patch: (name: string, patch: JsonObject): void => {
      fake.patch(path(name), patch);
      if (state.watching) watch();
    },
    patchStatus: (name: string, status: JsonObject): void => {
      fake.patch(`${path(name)}/status`, { status });
      if (state.watching) watch();
    },
    /** As an etcd that was restored from a backup: the same Nodes under lower versions. */
    restore: (): void => {
      fake.newResourceVersions();
      if (state.watching) watch();
    },
    remove: (name: string): void => {
      fake.delete(path(name));
      if (state.watching) watch();
    },
  };
};

import type { ServerResponse } from 'node:http';
import { json, type Script, type ScriptedServer, scriptedServer, status } from './support.ts';

interface Lease {
  readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly [key: string]: unknown };
  readonly spec: Record<string, unknown>;
}

export interface LeaseServer {
  readonly url: string;
  readonly server: ScriptedServer;
  lease: Lease | undefined;
  /** What happens to requests: answered, refused by closing, or left without an answer. */
  mode: 'up' | 'reset' | 'hang';
  /** False: 403 for list and watch. */
  watchAllowed: boolean;
  /** Writes by someone else. */
  edit(spec: object, metadata?: object): void;
  remove(): void;
  /** Called before a PUT is answered; true = let it pass without an answer. */
  onPut: ((body: Lease) => boolean) | undefined;
  /** Resolves when the holder is as wanted. */
  heldBy(identity: string): Promise<void>;
  close(): Promise<void>;
}

/** The part of an API server that leader election needs: one Lease with optimistic locking, list and watch. */
export const leaseServer = async (): Promise<LeaseServer> => {
  let rv = 100;
  const watches = new Set<ServerResponse>();
  let waiting: { identity: string; resolve: () => void }[] = [];

  const write = (type: string, lease: Lease | undefined): void => {
    state.lease = type === 'DELETED' ? undefined : lease;
    for (const watch of watches) watch.write(`${JSON.stringify({ type, object: lease })}\n`);
    const holder = state.lease?.spec.holderIdentity ?? '';
    for (const { identity, resolve } of waiting) if (identity === holder) resolve();
    waiting = waiting.filter(({ identity }) => identity !== holder);
  };
  const stamped = (lease: Lease): Lease => {
    rv += 1;
    return { ...lease, metadata: { ...lease.metadata, resourceVersion: String(rv) } };
  };

  const script: Script = (seen, response) => {
    if (state.mode === 'hang') return;
    if (state.mode === 'reset') {
      response.socket?.destroy();
      return;
    }
    const { lease } = state;
    const collection = seen.path.endsWith('/leases');
    if (seen.method === 'POST') {
      if (lease !== undefined) return json(response, 409, status(409, 'AlreadyExists'));
      write('ADDED', stamped(JSON.parse(seen.body)));
      return json(response, 201, state.lease);
    }
    if (collection && !state.watchAllowed) return json(response, 403, status(403, 'Forbidden'));
    if (collection && seen.query.has('watch')) {
      response.writeHead(200);
      response.flushHeaders();
      watches.add(response);
      response.on('close', () => watches.delete(response));
      return;
    }
    if (collection) {
      return json(response, 200, {
        metadata: { resourceVersion: String(rv) },
        items: lease === undefined ? [] : [lease],
      });
    }
    if (lease === undefined) return json(response, 404, status(404, 'NotFound'));
    if (seen.method === 'GET') return json(response, 200, lease);
    const update: Lease = JSON.parse(seen.body);
    const lost = state.onPut?.(update) === true;
    if (update.metadata.resourceVersion !== state.lease?.metadata.resourceVersion) {
      return json(response, 409, status(409, 'Conflict'));
    }
    write('MODIFIED', stamped(update));
    if (lost) response.socket?.destroy();
    else json(response, 200, state.lease);
  };

  const server = await scriptedServer(script);
  const state: LeaseServer = {
    url: server.url,
    server,
    lease: undefined,
    mode: 'up',
    watchAllowed: true,
    onPut: undefined,
    edit: (spec, metadata = {}) => {
      const { lease } = state;
      if (lease === undefined) throw new Error('no lease to edit');
      write('MODIFIED', stamped({ metadata: { ...lease.metadata, ...metadata }, spec: { ...lease.spec, ...spec } }));
    },
    remove: () => write('DELETED', state.lease === undefined ? undefined : stamped(state.lease)),
    heldBy: identity =>
      new Promise(resolve => {
        if ((state.lease?.spec.holderIdentity ?? '') === identity) resolve();
        else waiting.push({ identity, resolve });
      }),
    close: () => server.close(),
  };
  return state;
};

import type { Observable } from 'rxjs';
import type { Clock } from '../streams/clock.ts';
import type { KubeClient } from './client.ts';
import { isNotFound } from './errors.ts';
import { type LeaseAnnotations, type LeaseView, readLease, updatedLease } from './lease.ts';
import { type ListWatchEvent, listWatch } from './list-watch.ts';

export interface Call {
  readonly signal: AbortSignal;
  /** ms */
  readonly timeout: number;
}

/** The requests about one Lease. None waits behind other calls: the term hangs on them. */
export interface LeaseAPI {
  get(call: Call): Promise<LeaseView | undefined>;
  create(spec: Record<string, unknown>, call: Call): Promise<LeaseView>;
  /** Conflict (409) when the Lease is no longer as in `view`. */
  update(view: LeaseView, spec: Record<string, unknown>, call: Call): Promise<LeaseView>;
  /** List and watch of this Lease alone; the API server allows it to those who may watch it by name. */
  watch(): Observable<ListWatchEvent<LeaseView>>;
}

export const createLeaseAPI = (options: {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly namespace: string;
  readonly name: string;
  /** What the Lease tells besides, with each claim and renewal. */
  readonly annotations?: LeaseAnnotations;
}): LeaseAPI => {
  const { client, clock, namespace, name, annotations } = options;
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const path = `${collection}/${encodeURIComponent(name)}`;
  const read = (raw: unknown): LeaseView => readLease(raw, clock.monotonic());

  return {
    get: async call => {
      try {
        return read(await client.request({ method: 'GET', path, urgent: true, ...call }));
      } catch (err) {
        if (isNotFound(err)) return undefined;
        throw err;
      }
    },
    create: async (spec, call) => {
      const tells = Object.values(annotations ?? {}).some(value => value !== undefined);
      const metadata = { name, namespace, ...(tells && { annotations }) };
      const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
      return read(await client.request({ method: 'POST', path: collection, body, urgent: true, ...call }));
    },
    update: async (view, spec, call) =>
      read(
        await client.request({
          method: 'PUT',
          path,
          body: updatedLease(view, spec, annotations),
          urgent: true,
          ...call,
        }),
      ),
    watch: () => listWatch({ client, path: collection, fieldSelector: `metadata.name=${name}`, prune: read, clock }),
  };
};

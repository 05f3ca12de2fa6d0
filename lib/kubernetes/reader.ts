import type { KubeClient, KubeRequest } from './client.ts';
import { readPages } from './list-pages.ts';

export type ReadRequest = KubeRequest & { readonly method: 'GET' };

/** The part of a client that changes nothing. */
export interface KubeReader {
  /** As `KubeClient.request`. */
  request<T>(request: ReadRequest): Promise<T>;
}

/** A reader over a client: whatever it is handed, what it sends is a GET without a body. */
export const readerOf = (client: KubeClient): KubeReader => ({
  request: ({ path, query, signal }) =>
    client.request({ method: 'GET', path, ...(query !== undefined && { query }), signal }),
});

/** All objects of a collection, read once. */
export async function readAll<T>(
  client: KubeReader,
  path: string,
  prune: (raw: unknown) => T,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const objects: T[] = [];
  await readPages({ client, path, prune }, object => objects.push(object), signal);
  signal.throwIfAborted();
  return objects;
}

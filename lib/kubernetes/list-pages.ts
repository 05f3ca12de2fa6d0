import { KubeError } from './errors.ts';
import type { ListWatchOptions } from './list-watch.ts';
import { newerWitness, type Position, type Witness, witnessOf } from './position.ts';
import type { KubeReader } from './reader.ts';
import { resourceVersionOf } from './watch-event.ts';

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const bad = (path: string, what: string): KubeError =>
  new KubeError({ status: 0, reason: 'BadAnswer', message: `list of ${path}: ${what}` });

/**
 * Reads a collection page by page; each object is pruned before the next page is asked for, so that no more than one page is
 * in memory unpruned. Resolves with the position of the list. A page that makes no sense fails the whole list: an
 * object left out would look like a deleted one.
 */
export const readPages = async <T>(
  options: Pick<ListWatchOptions<T>, 'path' | 'pageSize' | 'prune' | 'fieldSelector'> & { readonly client: KubeReader },
  emit: (object: T) => void,
  signal: AbortSignal,
): Promise<Position> => {
  const { client, path, prune, fieldSelector, pageSize = 250 } = options;
  let token: string | undefined;
  let witness: Witness | undefined;
  for (;;) {
    const page = await client.request<unknown>({
      method: 'GET',
      path,
      query: { limit: pageSize, continue: token, fieldSelector },
      signal,
    });
    const items = isRecord(page) ? page.items : undefined;
    // Go writes an empty slice as null now and then.
    if (!isRecord(page) || !(Array.isArray(items) || items === null)) throw bad(path, 'answer without items');
    const rv = resourceVersionOf(page);
    if (rv === undefined) throw bad(path, 'answer without a resourceVersion');
    for (const item of items ?? []) {
      if (signal.aborted) return { rv, witness };
      emit(prune(item));
      witness = newerWitness(witness, witnessOf(item));
    }
    const next = isRecord(page.metadata) ? page.metadata.continue : undefined;
    if (typeof next !== 'string' || next === '') return { rv, witness };
    if (next === token) throw bad(path, 'the continue token does not move');
    token = next;
  }
};

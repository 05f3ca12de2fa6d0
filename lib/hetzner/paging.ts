import { untrusted } from './decoded.ts';
import { isRecord } from './errors.ts';
import type { Call } from './retry.ts';
import type { CallOptions } from './types.ts';

export interface ListRequest<T> {
  /** Below the endpoint, such as `/servers`. */
  readonly path: string;
  /** Key of the items in the answer. */
  readonly key: string;
  readonly query?: ReadonlyArray<readonly [string, string]>;
  /** Throws on an item that cannot be trusted. */
  readonly decode: (item: unknown) => T;
}

/** The most that Hetzner gives in one page. */
export const pageSize = 50;
/** Reads of a list that keeps shrinking under our hands before it is given up. */
const readings = 3;

/**
 * All pages of a list, or an error: a list of which a part is missing must never be taken for the whole (BUG-015).
 * One page leads to the next by `meta.pagination.next_page` only. An item that shows up twice counts once, as it was
 * read last. When entries vanish between two pages, later ones move forward and are missed: then all is read again, as
 * when there are fewer items than Hetzner counts.
 */
export const listAll = async <T extends { readonly id: number }>(
  call: Call,
  request: ListRequest<T>,
  o: CallOptions,
): Promise<readonly T[]> => {
  for (let reading = 0; reading < readings; reading += 1) {
    const items = await readPages(call, request, o);
    if (items !== undefined) return items;
  }
  throw untrusted('GET', request.path, 'entries were missing each time the list was read');
};

const readPages = async <T extends { readonly id: number }>(
  call: Call,
  { path, key, query = [], decode }: ListRequest<T>,
  o: CallOptions,
): Promise<readonly T[] | undefined> => {
  const items = new Map<number, T>();
  let total = 0;
  for (let page = 1; ; ) {
    const pageQuery = [...query, ['page', `${page}`], ['per_page', `${pageSize}`]] as const;
    const answer = await call({ method: 'GET', path, query: pageQuery }, o);
    const found = isRecord(answer) ? answer[key] : undefined;
    if (!Array.isArray(found)) throw untrusted('GET', path, `answer has no list of ${key}`);
    for (const item of found.map(decode)) items.set(item.id, item);

    const { next, entries } = paginationOf(answer);
    if (page > 1 && entries !== undefined && entries < total) return undefined;
    total = entries ?? total;
    if (next === undefined) return entries !== undefined && items.size < entries ? undefined : [...items.values()];
    if (next <= page) throw untrusted('GET', path, `page ${page} names ${next} as the next page`);
    page = next;
  }
};

const paginationOf = (answer: unknown): { readonly next: number | undefined; readonly entries: number | undefined } => {
  const meta = isRecord(answer) && isRecord(answer.meta) ? answer.meta : {};
  const pagination = isRecord(meta.pagination) ? meta.pagination : {};
  const next = pagination.next_page;
  const entries = pagination.total_entries;
  return {
    next: typeof next === 'number' && next !== 0 ? next : undefined,
    entries: typeof entries === 'number' ? entries : undefined,
  };
};

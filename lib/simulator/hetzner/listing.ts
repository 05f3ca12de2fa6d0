import { parseLabelSelector } from './label-selector.ts';
import { ApiProblem } from './problem.ts';
import type { Call, Reply } from './router.ts';

/** Lists: filters, order, pages (facts, section 2). */

const largestPage = 50;

const badQuery = (name: string, message: string): ApiProblem =>
  new ApiProblem(422, 'invalid_input', `invalid input in field '${name}'`, { fields: [{ name, messages: [message] }] });

function positive(call: Call, name: string, fallback: number): number {
  const text = call.request.query.get(name);
  if (text === null) return fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1) throw badQuery(name, 'Must be a positive number.');
  return value;
}

type SortKey<T> = (item: T) => string | number;

function sorted<T>(call: Call, items: T[], keys: Readonly<Record<string, SortKey<T>>>): T[] {
  const orders = call.request.query.getAll('sort').map(text => {
    const [name = '', direction = 'asc'] = text.split(':');
    const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
    if (key === undefined || (direction !== 'asc' && direction !== 'desc'))
      throw badQuery('sort', `Invalid sort: ${text}`);
    return { key, sign: direction === 'asc' ? 1 : -1 };
  });
  return items.sort((one, other) => {
    for (const { key, sign } of orders) {
      const [left, right] = [key(one), key(other)];
      if (left !== right) return left < right ? -sign : sign;
    }
    return 0;
  });
}

export interface ListShape<T> {
  /** Plural under which the items stand. */
  readonly plural: string;
  readonly items: Iterable<T>;
  readonly view: (item: T) => unknown;
  /** Sort keys; without a sort parameter the order is by `id`. */
  readonly sort: Readonly<Record<string, SortKey<T>>> & { readonly id: SortKey<T> };
  readonly withMeta?: boolean;
}

/** One page of a list, with `meta.pagination` and the `Link` header. `per_page` above 50 counts as 50. */
export function listReply<T>(call: Call, shape: ListShape<T>): Reply {
  const page = positive(call, 'page', 1);
  const perPage = Math.min(positive(call, 'per_page', 25), largestPage);
  const byId = [...shape.items].sort((one, other) => (shape.sort.id(one) < shape.sort.id(other) ? -1 : 1));
  const all = sorted(call, byId, shape.sort);
  const lastPage = Math.max(1, Math.ceil(all.length / perPage));
  const pagination = {
    page,
    per_page: perPage,
    previous_page: page > 1 ? page - 1 : null,
    next_page: page < lastPage ? page + 1 : null,
    last_page: lastPage,
    total_entries: all.length,
  };
  const items = all.slice((page - 1) * perPage, page * perPage).map(shape.view);
  if (shape.withMeta === false) return { status: 200, body: { [shape.plural]: items } };
  const link = linkHeader(call, perPage, {
    prev: pagination.previous_page,
    next: pagination.next_page,
    last: lastPage,
  });
  return { status: 200, body: { [shape.plural]: items, meta: { pagination } }, headers: { Link: link } };
}

function linkHeader(call: Call, perPage: number, pages: Readonly<Record<string, number | null>>): string {
  const base = `http://${call.request.headers.host ?? 'api.hetzner.cloud'}${call.request.path}`;
  return Object.entries(pages)
    .filter(([, page]) => page !== null)
    .map(([rel, page]) => `<${base}?page=${page}&per_page=${perPage}>; rel="${rel}"`)
    .join(', ');
}

/** Keeps what has the name of the `name` parameter and the labels of `label_selector`, where these are given. */
export function byNameAndLabels<
  T extends { readonly name: string; readonly labels?: Readonly<Record<string, string>> },
>(call: Call, items: Iterable<T>): T[] {
  const name = call.request.query.get('name');
  const selector = call.request.query.get('label_selector');
  const matches = selector === null || selector === '' ? undefined : parseLabelSelector(selector);
  return [...items].filter(item => (name === null || item.name === name) && (matches?.(item.labels ?? {}) ?? true));
}

/** Keeps what has one of the values of a repeatable parameter, where it is given. */
export function byValues<T>(
  call: Call,
  name: string,
  items: Iterable<T>,
  value: (item: T) => string,
  allowed?: readonly string[],
): T[] {
  const wanted = call.request.query.getAll(name);
  const odd = allowed && wanted.find(one => !allowed.includes(one));
  if (odd !== undefined) throw badQuery(name, `Not one of ${allowed?.join(', ')}.`);
  return [...items].filter(item => wanted.length === 0 || wanted.includes(value(item)));
}

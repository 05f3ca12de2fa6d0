import { isObject, type JsonObject } from './json.ts';
import { namespaceOf } from './metadata.ts';
import type { Resource } from './resource.ts';
import type { Route } from './route.ts';
import { fieldSelector, labelSelector, type Matcher } from './selectors.ts';
import { badRequest, expired, failure, notFound, tooLargeResourceVersion } from './status.ts';
import { keyOfObject, type Store, storageKey } from './store.ts';

const CONTINUE_VERSION = 'meta.k8s.io/v1';
const TOO_OLD_CONTINUE =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue ' +
  'parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided ' +
  'token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was ' +
  'returned and now may show up in the list.';

/** The objects a list or watch is about: namespace and both selectors. @throws StatusError 400 */
export const matcherOf = (route: Route): Matcher => {
  const labels = labelSelector(route.query.get('labelSelector') ?? '');
  const fields = fieldSelector(route.query.get('fieldSelector') ?? '', route.resource.selectable);
  return object =>
    (route.namespace === '' || namespaceOf(object) === route.namespace) && labels(object) && fields(object);
};

/** @throws StatusError for what is no version number */
export const parseVersion = (text: string, code = 400): number => {
  if (/^\d*$/.test(text)) return Number(text);
  const why = `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`;
  throw failure(code, code === 400 ? 'BadRequest' : '', code === 400 ? `invalid resource version: ${why}` : why);
};

const encodeContinue = (revision: number, key: string): string =>
  Buffer.from(JSON.stringify({ v: CONTINUE_VERSION, rv: revision, start: `${key}\u0000` })).toString('base64url');

const decodeContinue = (token: string): { revision: number; after: string } => {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    if (
      isObject(parsed) &&
      parsed.v === CONTINUE_VERSION &&
      typeof parsed.rv === 'number' &&
      typeof parsed.start === 'string'
    ) {
      return { revision: parsed.rv, after: parsed.start.replaceAll('\u0000', '') };
    }
  } catch {
    // Falls through to the refusal: what does not parse is no token.
  }
  throw badRequest('invalid continue token: continue key is not valid');
};

const limitOf = (query: URLSearchParams): number => {
  const text = query.get('limit') ?? '0';
  if (!/^\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return Number(text);
};

/** Items of a list carry neither kind nor apiVersion, as in the real answers. */
const asItem = ({ kind: _kind, apiVersion: _version, ...rest }: JsonObject): JsonObject => rest;

export const getObject = (store: Store, resource: Resource, namespace: string, name: string): JsonObject => {
  const object = store.get(resource, storageKey(namespace, name));
  if (object === undefined) throw notFound(resource, name);
  return object;
};

/** GET of one object. A resourceVersion is a lower bound, as for lists. */
export const readObject = (store: Store, route: Route): JsonObject => {
  const wanted = parseVersion(route.query.get('resourceVersion') ?? '');
  if (wanted > store.revision()) throw tooLargeResourceVersion(wanted, store.revision());
  return getObject(store, route.resource, route.namespace, route.name);
};

/** Which state a list shows, and after which key it goes on. */
const stateOf = (store: Store, route: Route): { revision: number; after: string; objects: JsonObject[] } => {
  const { resource, query } = route;
  const token = query.get('continue') ?? '';
  const wanted = parseVersion(query.get('resourceVersion') ?? '');
  const now = store.revision();
  if (token !== '') {
    if (wanted > 0) throw badRequest('specifying resource version is not allowed when using continue');
    const { revision, after } = decodeContinue(token);
    if (revision < 0) return { revision: now, after, objects: store.all(resource) };
    if (revision < store.oldest()) throw expired(TOO_OLD_CONTINUE, { continue: encodeContinue(-1, after) });
    return { revision, after, objects: store.at(resource, revision) };
  }
  if (wanted > now) throw tooLargeResourceVersion(wanted, now);
  if (query.get('resourceVersionMatch') === 'Exact') {
    if (wanted < store.oldest()) throw expired('The resourceVersion for the provided list is too old.');
    return { revision: wanted, after: '', objects: store.at(resource, wanted) };
  }
  return { revision: now, after: '', objects: store.all(resource) };
};

/** GET of a collection, page by page, each page from the same state as the first. @throws StatusError */
export const readList = (store: Store, route: Route): JsonObject => {
  if (route.query.has('sendInitialEvents')) throw badRequest('sendInitialEvents is forbidden for list');
  const matches = matcherOf(route);
  const { revision, after, objects } = stateOf(store, route);
  // A list at version 0 is answered from the watch cache, which does not page.
  const limit = route.query.get('resourceVersion') === '0' ? 0 : limitOf(route.query);
  const rest = objects.filter(object => (after === '' || keyOfObject(object) > after) && matches(object));
  const page = limit > 0 ? rest.slice(0, limit) : rest;
  const metadata: JsonObject = { resourceVersion: String(revision) };
  const last = page.at(-1);
  if (page.length < rest.length && last !== undefined) {
    metadata.continue = encodeContinue(revision, keyOfObject(last));
    // With a selector the real server does not count the rest either.
    const selected = (route.query.get('labelSelector') ?? '') + (route.query.get('fieldSelector') ?? '') !== '';
    if (!selected) metadata.remainingItemCount = rest.length - page.length;
  }
  const { kind, group, version } = route.resource;
  return {
    kind: `${kind}List`,
    apiVersion: group === '' ? version : `${group}/${version}`,
    metadata,
    items: page.map(asItem),
  };
};

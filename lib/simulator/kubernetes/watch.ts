import type { JsonObject } from './json.ts';
import { matcherOf, parseVersion } from './reads.ts';
import type { Resource } from './resource.ts';
import type { Route } from './route.ts';
import type { Matcher } from './selectors.ts';
import { expired, failure, type StatusError } from './status.ts';
import type { Change, ChangeType, Store } from './store.ts';

export interface WatchEvent {
  readonly type: ChangeType | 'BOOKMARK' | 'ERROR';
  readonly object: JsonObject;
}

/** A running watch. */
export interface Watch {
  /**
   * Sends a BOOKMARK with the version of the newest change of this resource, unless the client did not ask for bookmarks, or
   * nothing changed since the version it began with: the real server is silent then, too.
   */
  bookmark(): void;
  stop(): void;
}

/**
 * What a change means to one watch: an object that starts or stops matching is added or deleted there, and such a
 * deletion shows the last state that did match, with the version of the change.
 */
export const eventFor = (change: Change, matches: Matcher): WatchEvent | undefined => {
  const before = change.previous !== undefined && matches(change.previous);
  const now = change.type !== 'DELETED' && matches(change.object);
  if (now) return { type: before ? 'MODIFIED' : 'ADDED', object: change.object };
  if (!before || change.previous === undefined) return undefined;
  const metadata = { ...(change.previous.metadata as JsonObject), resourceVersion: String(change.revision) };
  return { type: 'DELETED', object: change.type === 'DELETED' ? change.object : { ...change.previous, metadata } };
};

const bookmarkOf = (resource: Resource, revision: number): WatchEvent => ({
  type: 'BOOKMARK',
  object: {
    kind: resource.kind,
    apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`,
    metadata: { resourceVersion: String(revision) },
  },
});

/** The event that ends a watch whose version is too old. */
export const goneEvent = (sent: number, oldest: number): WatchEvent => ({
  type: 'ERROR',
  object: tooOld(sent, oldest).body,
});

const tooOld = (sent: number, oldest: number): StatusError => expired(`too old resource version: ${sent} (${oldest})`);

export interface WatchOptions {
  readonly store: Store;
  readonly route: Route;
  /** How a version that is too old is told: kube-apiserver 1.37 sends 200 and an ERROR event, others answered HTTP 410. */
  readonly gone: 'event' | 'http';
  readonly onEvent: (event: WatchEvent) => void;
  /** After an ERROR event: the server ends the answer. */
  readonly onEnd: () => void;
}

/**
 * Starts a watch: without a version (or at 0) with the present objects as ADDED, else with what happened since.
 * A version from the future is accepted and stays silent until the store gets there, as in the real server.
 * @throws StatusError for a bad request, and for a version that is too old where `gone` is `http`
 */
export const startWatch = ({ store, route, gone, onEvent, onEnd }: WatchOptions): Watch => {
  const { resource, query } = route;
  if (query.has('sendInitialEvents')) {
    throw failure(
      422,
      'Invalid',
      'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
    );
  }
  const matches = matcherOf(route);
  const from = parseVersion(query.get('resourceVersion') ?? '', 500);
  if (from > 0 && from < store.oldest()) {
    if (gone === 'http') throw tooOld(from, store.oldest());
    onEvent(goneEvent(from, store.oldest()));
    onEnd();
    return { bookmark: () => {}, stop: () => {} };
  }

  let latest = from === 0 ? store.revision() : from;
  const deliver = (change: Change): void => {
    if (change.resource !== resource || change.revision <= from) return;
    latest = change.revision;
    const event = eventFor(change, matches);
    if (event !== undefined) onEvent(event);
  };
  if (from === 0) for (const object of store.all(resource).filter(matches)) onEvent({ type: 'ADDED', object });
  else for (const change of store.since(resource, from)) deliver(change);

  const stop = store.onChange(deliver);
  const wanted = ['true', '1'].includes(query.get('allowWatchBookmarks') ?? '');
  return {
    stop,
    bookmark: () => {
      if (wanted && latest > from) onEvent(bookmarkOf(resource, latest));
    },
  };
};

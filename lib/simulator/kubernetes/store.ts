import type { JsonObject } from './json.ts';
import { metadataOf, nameOf, namespaceOf } from './metadata.ts';
import type { Resource } from './resource.ts';

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** One committed write. Stored objects are never changed in place. */
export interface Change {
  readonly type: ChangeType;
  readonly resource: Resource;
  readonly key: string;
  readonly revision: number;
  /** For DELETED the last state, with the revision of the deletion. */
  readonly object: JsonObject;
  readonly previous: JsonObject | undefined;
}

/** All objects, one revision counter over all kinds as in etcd, and the recent changes. */
export interface Store {
  revision(): number;
  /** A watch or a consistent list at a revision below this one is too old. */
  oldest(): number;
  get(resource: Resource, key: string): JsonObject | undefined;
  /** Sorted by key. */
  all(resource: Resource): JsonObject[];
  /** The state at a revision not older than `oldest()`, sorted by key. */
  at(resource: Resource, revision: number): JsonObject[];
  /** Changes after a revision not older than `oldest()`. */
  since(resource: Resource, revision: number): Change[];
  put(resource: Resource, object: JsonObject): JsonObject;
  remove(resource: Resource, object: JsonObject): JsonObject;
  onChange(listener: (change: Change) => void): () => void;
  /** Forgets the history: every revision before the present one becomes too old. */
  compact(): void;
  /** Drops the history and sets the counter, keeping the objects (their versions are given anew) or not. */
  reset(options: { readonly revision: number; readonly keepObjects: boolean }): void;
}

/** `/name` or `/namespace/name`: sorts as etcd's keys do. */
export const storageKey = (namespace: string, name: string): string =>
  namespace === '' ? `/${name}` : `/${namespace}/${name}`;

export const keyOfObject = (object: JsonObject): string => storageKey(namespaceOf(object), nameOf(object));

const byKey = ([a]: readonly [string, JsonObject], [b]: readonly [string, JsonObject]): number =>
  a < b ? -1 : a > b ? 1 : 0;

const withVersion = (object: JsonObject, revision: number): JsonObject => ({
  ...object,
  metadata: { ...metadataOf(object), resourceVersion: String(revision) },
});

/** @param historyLimit how many changes are kept for watches that resume */
export const createStore = (historyLimit: number): Store => {
  const kinds = new Map<Resource, Map<string, JsonObject>>();
  const listeners = new Set<(change: Change) => void>();
  let history: Change[] = [];
  let revision = 1;
  let oldest = 1;

  const objectsOf = (resource: Resource): Map<string, JsonObject> => {
    const objects = kinds.get(resource) ?? new Map<string, JsonObject>();
    kinds.set(resource, objects);
    return objects;
  };

  const commit = (change: Change): JsonObject => {
    history.push(change);
    if (history.length > historyLimit) {
      const dropped = history.splice(0, history.length - historyLimit);
      oldest = dropped.at(-1)?.revision ?? oldest;
    }
    for (const listener of [...listeners]) listener(change);
    return change.object;
  };

  const sorted = (objects: Map<string, JsonObject>): JsonObject[] =>
    [...objects].sort(byKey).map(([, object]) => object);

  return {
    revision: () => revision,
    oldest: () => oldest,
    get: (resource, key) => objectsOf(resource).get(key),
    all: resource => sorted(objectsOf(resource)),
    at: (resource, wanted) => {
      const objects = new Map(objectsOf(resource));
      for (const change of history.toReversed()) {
        if (change.revision <= wanted) break;
        if (change.resource !== resource) continue;
        if (change.previous === undefined) objects.delete(change.key);
        else objects.set(change.key, change.previous);
      }
      return sorted(objects);
    },
    since: (resource, wanted) => history.filter(change => change.resource === resource && change.revision > wanted),
    put: (resource, object) => {
      const key = keyOfObject(object);
      const previous = objectsOf(resource).get(key);
      revision += 1;
      const stored = withVersion(object, revision);
      objectsOf(resource).set(key, stored);
      return commit({
        type: previous === undefined ? 'ADDED' : 'MODIFIED',
        resource,
        key,
        revision,
        object: stored,
        previous,
      });
    },
    remove: (resource, object) => {
      const key = keyOfObject(object);
      const previous = objectsOf(resource).get(key);
      objectsOf(resource).delete(key);
      revision += 1;
      return commit({ type: 'DELETED', resource, key, revision, object: withVersion(object, revision), previous });
    },
    onChange: listener => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    compact: () => {
      history = [];
      oldest = revision;
    },
    reset: options => {
      history = [];
      revision = options.revision;
      for (const objects of kinds.values()) {
        if (!options.keepObjects) objects.clear();
        for (const [key, object] of objects) {
          revision += 1;
          objects.set(key, withVersion(object, revision));
        }
      }
      oldest = revision;
    },
  };
};

import { Observable, Subject } from 'rxjs';
import type { Store, StoreChange } from './store.ts';
import { type KubeObject, keyOf } from './types.ts';

interface Entry<T> {
  readonly object: T;
  readonly observedAt: number;
}

/** The content of a store with its write side. */
export interface StoreContent<T extends KubeObject> extends Pick<Store<T>, 'get' | 'list' | 'observedAt' | 'watch'> {
  /** Makes `objects` the whole content and tells the differences; equal uid and resourceVersion is no difference. */
  replace(objects: ReadonlyMap<string, T>, observedAt: number, initial: boolean): void;
  apply(object: T, observedAt: number): void;
  remove(object: T): void;
}

/** Differences between what was held under a key and what is now. A new uid is another object: deleted, then added. */
const diff = <T extends KubeObject>(
  key: string,
  before: T | undefined,
  after: T | undefined,
  initial: boolean,
): StoreChange<T>[] => {
  if (before !== undefined && after !== undefined && before.uid === after.uid) {
    if (before.resourceVersion === after.resourceVersion) return [];
    return [{ key, type: 'updated', object: after, previous: before, initial }];
  }
  const changes: StoreChange<T>[] = [];
  if (before !== undefined) changes.push({ key, type: 'deleted', object: before, initial });
  if (after !== undefined) changes.push({ key, type: 'added', object: after, initial });
  return changes;
};

export const createStoreContent = <T extends KubeObject>(): StoreContent<T> => {
  let entries = new Map<string, Entry<T>>();
  let cachedList: readonly T[] | undefined;
  /** Counts writes: who subscribes while changes are being told has read their result already. */
  let revision = 0;
  const changes$ = new Subject<{ readonly revision: number; readonly change: StoreChange<T> }>();

  const tell = (changes: readonly StoreChange<T>[]): void => {
    if (changes.length === 0) return;
    cachedList = undefined;
    revision += 1;
    const told = revision;
    for (const change of changes) changes$.next({ revision: told, change });
  };

  const entryFor = (object: T, before: Entry<T> | undefined, observedAt: number): Entry<T> => ({
    object,
    observedAt: before !== undefined && before.object.uid === object.uid ? before.observedAt : observedAt,
  });

  return {
    get: key => entries.get(key)?.object,
    observedAt: key => entries.get(key)?.observedAt,
    list: () => {
      cachedList ??= [...entries.values()].map(entry => entry.object);
      return cachedList;
    },

    watch: () =>
      new Observable(subscriber => {
        const seen = revision;
        const held = [...entries];
        const live = changes$.subscribe(({ revision: at, change }) => {
          if (at > seen) subscriber.next(change);
        });
        subscriber.add(live);
        for (const [key, { object }] of held) subscriber.next({ key, type: 'added', object, initial: true });
      }),

    replace: (objects, observedAt, initial) => {
      const before = entries;
      entries = new Map();
      for (const [key, object] of objects) entries.set(key, entryFor(object, before.get(key), observedAt));
      const changes: StoreChange<T>[] = [];
      for (const [key, { object }] of before) {
        if (!objects.has(key)) changes.push(...diff(key, object, undefined, initial));
      }
      for (const [key, object] of objects) changes.push(...diff(key, before.get(key)?.object, object, initial));
      tell(changes);
    },

    apply: (object, observedAt) => {
      const key = keyOf(object);
      const before = entries.get(key);
      entries.set(key, entryFor(object, before, observedAt));
      tell(diff(key, before?.object, object, false));
    },

    remove: object => {
      const key = keyOf(object);
      const before = entries.get(key);
      if (before === undefined) return;
      entries.delete(key);
      // The event holds the last state; of another uid it says only that nothing of this name is left.
      const last = before.object.uid === object.uid ? object : before.object;
      tell(diff(key, last, undefined, false));
    },
  };
};

import { isNewerVersion } from './resource-version.ts';
import type { Store, StoreChange } from './store.ts';
import { type KubeObject, keyOf } from './types.ts';

/**
 * Objects as our own writes left them, until the watch has brought them: a run that starts in between must not decide on
 * what it has just changed. Where resource versions are no numbers, the store is believed.
 */
export interface OwnWrites<T extends KubeObject> {
  /** The newest known state of an object from the store. */
  latest(stored: T): T;
  /** The API server answered a write of ours with this. Where the watch was faster, or told that the object is gone, nothing is kept. */
  record(written: T): void;
  /**
   * The store changed: what it has caught up with is forgotten, and so is what was written to a server whose history is
   * no longer the same (its versions went back, as after the restoration of a backup).
   */
  observe(change: StoreChange<T>): void;
}

export function createOwnWrites<T extends KubeObject>(store: Pick<Store<T>, 'get'>): OwnWrites<T> {
  const byUID = new Map<string, T>();
  return {
    latest(stored) {
      const written = byUID.get(stored.uid);
      return written !== undefined && isNewer(written, stored) ? written : stored;
    },
    record(written) {
      const stored = store.get(keyOf(written));
      if (stored?.uid === written.uid && isNewer(written, stored)) byUID.set(written.uid, written);
    },
    observe({ type, object, previous }) {
      const written = byUID.get(object.uid);
      if (written === undefined) return;
      const wentBack = previous !== undefined && isNewer(previous, object);
      if (type === 'deleted' || wentBack || !isNewer(written, object)) byUID.delete(object.uid);
    },
  };
}

const isNewer = (a: KubeObject, b: KubeObject): boolean => isNewerVersion(a.resourceVersion, b.resourceVersion);

import { isNewerVersion } from './resource-version.ts';
import type { KubeObject } from './types.ts';

/**
 * Objects as our own writes left them, until the watch has brought them: a run that starts in between must not decide on
 * what it has just changed. Where resource versions are no numbers, the store is believed.
 */
export interface OwnWrites<T extends KubeObject> {
  /** The newest known state of an object from the store. */
  latest(stored: T): T;
  /** The API server answered a write of ours with this. */
  record(written: T): void;
  /** The watch brought this object, or its end: what it has caught up with is forgotten. */
  observe(object: T, gone: boolean): void;
}

export function createOwnWrites<T extends KubeObject>(): OwnWrites<T> {
  const byUID = new Map<string, T>();
  return {
    latest(stored) {
      const written = byUID.get(stored.uid);
      return written !== undefined && isNewer(written, stored) ? written : stored;
    },
    record(written) {
      byUID.set(written.uid, written);
    },
    observe(object, gone) {
      const written = byUID.get(object.uid);
      if (written !== undefined && (gone || !isNewer(written, object))) byUID.delete(object.uid);
    },
  };
}

const isNewer = (a: KubeObject, b: KubeObject): boolean => isNewerVersion(a.resourceVersion, b.resourceVersion);

import { readFileSync, statSync } from 'node:fs';
import type { Clock } from '../streams/clock.ts';

export interface CachedFile {
  /** Present content. The first read throws when there is no such file; later the last content is kept meanwhile. */
  read(): Buffer;
}

const idOf = (path: string): string => {
  const { ino, mtimeMs, size } = statSync(path);
  return `${ino}:${mtimeMs}:${size}`;
};

/**
 * A small file that is replaced now and then (tokens, certificates): looked at no more than once per `checkEvery` ms and
 * read only when it is another one. Synchronous: such files lie on tmpfs, and a reader can so be sure of one whole content.
 */
export const cachedFile = (path: string, clock: Clock, checkEvery = 1000): CachedFile => {
  let known: { readonly id: string; readonly content: Buffer } | undefined;
  let checkedAt = 0;
  return {
    read: () => {
      const now = clock.monotonic();
      if (known !== undefined && now - checkedAt < checkEvery) return known.content;
      checkedAt = now;
      try {
        const id = idOf(path);
        if (known?.id !== id) known = { id, content: readFileSync(path) };
      } catch (err) {
        // Kubelet swaps the directory behind a symlink; a moment without the file must not fail requests.
        if (known === undefined) throw err;
      }
      return known.content;
    },
  };
};

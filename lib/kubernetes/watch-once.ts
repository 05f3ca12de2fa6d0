import { errorFromNetwork, isGone, KubeError } from './errors.ts';
import { idleGuard } from './idle-guard.ts';
import { jsonLines } from './json-lines.ts';
import type { ListWatchEvent, ListWatchOptions } from './list-watch.ts';
import { linkedController } from './wait.ts';
import { readWatchEvent } from './watch-event.ts';

/** How a watch ended: where to go on (undefined = list again), why, and whether it had been fine for a while. */
export interface WatchEnd {
  readonly rv: string | undefined;
  readonly err?: unknown;
  readonly healthy: boolean;
}

/**
 * Watches of one collection, one after the other; remembers between them whether this server sends bookmarks here.
 * Each call is one watch request from `rv` until it ends; it never rejects.
 */
export const watchOnce = <T>(
  options: ListWatchOptions<T>,
  random: () => number,
): ((rv: string, emit: (event: ListWatchEvent<T>) => void, parent: AbortSignal) => Promise<WatchEnd>) => {
  const { client, path, prune, fieldSelector, clock } = options;
  const { serverTimeout = [300, 600], idleTimeout = 90_000, healthyAfter = 10_000, shortWatch = 1000 } = options;
  const what = `watch of ${path}`;
  let bookmarksSeen = false;

  return async (from, emit, parent) => {
    const [shortest, longest] = serverTimeout;
    // Random, so that the watches of many clients do not end together.
    const timeoutSeconds = Math.round(shortest + random() * (longest - shortest));
    const { controller, unlink } = linkedController(parent);
    let wentSilent = false;
    const silent = (): void => {
      wentSilent = true;
      controller.abort();
    };
    let rv = from;
    let openedAt: number | undefined;
    const lived = (): number => (openedAt === undefined ? 0 : clock.monotonic() - openedAt);
    const end = (next: string | undefined, err: unknown): WatchEnd => ({
      rv: next,
      err,
      healthy: openedAt !== undefined && lived() >= healthyAfter,
    });

    try {
      const bytes = await client.stream({
        method: 'GET',
        path,
        query: { watch: 1, allowWatchBookmarks: true, resourceVersion: rv, timeoutSeconds, fieldSelector },
        signal: controller.signal,
      });
      openedAt = clock.monotonic();
      for await (const line of jsonLines(idleGuard(bytes, idleTimeout, silent))) {
        if (parent.aborted) return end(rv, undefined);
        const event = readWatchEvent(what, line);
        switch (event.type) {
          case 'apply':
          case 'delete':
            emit({ type: event.type, object: pruned(prune, what, event.object) });
            rv = event.rv;
            break;
          case 'bookmark':
            bookmarksSeen = true;
            rv = event.rv;
            break;
          case 'error':
            return end(isGone(event.err) ? undefined : rv, event.err);
          case 'bad':
            throw new BadEvent(event.what);
        }
      }
      if (lived() >= shortWatch) return end(rv, undefined);
      const message = `${what}: closed by the server after ${Math.round(lived())} ms`;
      return end(rv, new KubeError({ status: 0, reason: 'ShortWatch', message }));
    } catch (err) {
      if (wentSilent) {
        // kube-apiserver sends no bookmark as long as the version is still the one the watch began with: such silence is normal.
        if (!bookmarksSeen || rv === from) return end(rv, undefined);
        return end(rv, new KubeError({ status: 0, reason: 'Idle', message: `${what}: silent for ${idleTimeout} ms` }));
      }
      if (err instanceof BadEvent || isGone(err)) return end(undefined, err);
      return end(rv, errorFromNetwork(what, err));
    } finally {
      // Ends the request where the loop was left early; without effect otherwise.
      controller.abort();
      unlink();
    }
  };
};

/** An event that cannot be understood: the view may be wrong from here on. */
class BadEvent extends Error {
  override readonly name = 'BadEvent';
}

const pruned = <T>(prune: (raw: unknown) => T, what: string, object: object): T => {
  try {
    return prune(object);
  } catch (err) {
    throw new BadEvent(`${what}: ${err instanceof Error ? err.message : 'object that cannot be read'}`);
  }
};

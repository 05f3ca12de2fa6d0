import { errorFromNetwork, isGone, KubeError } from './errors.ts';
import { idleGuard } from './idle-guard.ts';
import { jsonLines } from './json-lines.ts';
import type { ListWatchEvent, ListWatchOptions } from './list-watch.ts';
import { type Position, type Witness, witnessOf } from './position.ts';
import { linkedController } from './wait.ts';
import { readWatchEvent } from './watch-event.ts';

/** How a watch ended. */
export interface WatchEnd {
  /** Where to go on; undefined = list again. */
  readonly position: Position | undefined;
  /** Undefined where the end is nothing to speak of. */
  readonly err: unknown;
  /** It had been fine for a while. */
  readonly healthy: boolean;
  /** It lived out the time it was given, or nothing happened at all: the server's history is what it was. */
  readonly inOrder: boolean;
}

/** ms by which the server's clock may run ahead of ours when it ends a watch in time. */
const timeoutSlack = 5000;

/**
 * Watches of one collection, one after the other; remembers between them whether this server sends bookmarks here.
 * Each call is one watch request from a position until it ends; it never rejects.
 */
export const watchOnce = <T>(
  options: ListWatchOptions<T>,
  random: () => number,
): ((from: Position, emit: (event: ListWatchEvent<T>) => void, parent: AbortSignal) => Promise<WatchEnd>) => {
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
    /**
     * kube-apiserver sends no bookmark as long as the version is still the one the watch began with, so such silence is
     * normal until the server ends the watch, unless a call that got no answer casts doubt on the connection. So does any
     * other watch that lacks a bookmark: connections made since may well work while all of before are dead.
     */
    const silent = (): number | undefined => {
      const left = (openedAt ?? 0) + timeoutSeconds * 1000 + timeoutSlack - clock.monotonic();
      if (rv === from.rv && left > 0 && !isInDoubt()) return Math.min(idleTimeout / 3, left);
      if (rv !== from.rv) client.castDoubt?.();
      wentSilent = true;
      controller.abort();
      return undefined;
    };
    const isInDoubt = (): boolean => openedAt !== undefined && (client.troubleAt?.() ?? -1) >= openedAt;
    let { rv, witness }: Position = from;
    let openedAt: number | undefined;
    const lived = (): number => (openedAt === undefined ? 0 : clock.monotonic() - openedAt);
    const healthy = (): boolean => openedAt !== undefined && lived() >= healthyAfter;
    const resume = (err: unknown, inOrder = false): WatchEnd => ({
      position: { rv, witness },
      err,
      healthy: healthy(),
      inOrder,
    });
    const listAgain = (err: unknown): WatchEnd => ({ position: undefined, err, healthy: healthy(), inOrder: false });

    try {
      const bytes = await client.stream({
        method: 'GET',
        path,
        query: { watch: 1, allowWatchBookmarks: true, resourceVersion: from.rv, timeoutSeconds, fieldSelector },
        signal: controller.signal,
      });
      openedAt = clock.monotonic();
      for await (const line of jsonLines(idleGuard(bytes, idleTimeout, silent))) {
        if (parent.aborted) return resume(undefined);
        const event = readWatchEvent(what, line);
        switch (event.type) {
          case 'apply':
          case 'delete':
            emit({ type: event.type, object: pruned(prune, what, event.object) });
            rv = event.rv;
            witness = event.type === 'apply' ? witnessOf(event.object) : survivor(witness, event.object);
            break;
          case 'bookmark':
            bookmarksSeen = true;
            rv = event.rv;
            break;
          case 'error':
            return isGone(event.err) ? listAgain(event.err) : resume(event.err);
          case 'bad':
            throw new BadEvent(event.what);
        }
      }
      if (lived() >= shortWatch) return resume(undefined, lived() >= timeoutSeconds * 1000 - timeoutSlack);
      const message = `${what}: closed by the server after ${Math.round(lived())} ms`;
      return resume(new KubeError({ status: 0, reason: 'ShortWatch', message }));
    } catch (err) {
      if (wentSilent) {
        if (!bookmarksSeen || rv === from.rv) return resume(undefined, rv === from.rv && !isInDoubt());
        return resume(new KubeError({ status: 0, reason: 'Idle', message: `${what}: silent for ${idleTimeout} ms` }));
      }
      if (err instanceof BadEvent || isGone(err)) return listAgain(err);
      return resume(errorFromNetwork(what, err));
    } finally {
      // Ends the request where the loop was left early; without effect otherwise.
      controller.abort();
      unlink();
    }
  };
};

/** A deleted object can no longer be asked for. */
const survivor = (witness: Witness | undefined, deleted: object): Witness | undefined =>
  witness?.uid === witnessOf(deleted)?.uid ? undefined : witness;

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

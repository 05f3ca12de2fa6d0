import type { KubeNode } from '../../kubernetes/types.ts';
import type { Clock } from '../../streams/clock.ts';

/** How long a deleted Node is remembered, in ms: far longer than any list of servers is used. */
const rememberFor = 3_600_000;

/**
 * Names of Nodes that were deleted lately. A Node of such a name may stand for another server than the one a list from
 * before says, so it is tied to a server only by a newer list.
 */
export interface Predecessors {
  remember(node: KubeNode): void;
  has(node: KubeNode): boolean;
}

export function createPredecessors(clock: Clock): Predecessors {
  const deletedAt = new Map<string, number>();
  return {
    remember({ name }) {
      const now = clock.monotonic();
      // A Map keeps the order of insertion, so the oldest come first.
      deletedAt.delete(name);
      deletedAt.set(name, now);
      for (const [oldest, at] of deletedAt) {
        if (now - at <= rememberFor) break;
        deletedAt.delete(oldest);
      }
    },
    has: ({ name }) => clock.monotonic() - (deletedAt.get(name) ?? Number.NEGATIVE_INFINITY) <= rememberFor,
  };
}

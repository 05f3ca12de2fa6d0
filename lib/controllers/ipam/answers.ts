import { createOwnWrites } from '../../kubernetes/own-writes.ts';
import type { Store, StoreChange } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Pool } from './pool.ts';

/** What writes to Nodes were answered, which is newer than the store. */
export interface Answers {
  /** Writes, and takes in the answer, unless the store tells meanwhile that the Node is gone: what it had would be taken for ever. */
  take(target: Pick<KubeNode, 'uid'>, write: () => Promise<KubeNode | undefined>): Promise<void>;
  /** The Node as it was answered, where that is newer. */
  latest(stored: KubeNode): KubeNode;
  observe(change: StoreChange<KubeNode>): void;
}

export function createAnswers(pool: Pick<Pool, 'observe'>, nodes: Pick<Store<KubeNode>, 'get'>): Answers {
  const ownWrites = createOwnWrites<KubeNode>(nodes);
  /** By uid: Nodes that a write to is under way, and that are there as far as is known. */
  const underWay = new Set<string>();
  return {
    async take({ uid }, write) {
      underWay.add(uid);
      try {
        const written = await write();
        if (written === undefined || !underWay.has(uid)) return;
        ownWrites.record(written);
        pool.observe(written);
      } finally {
        underWay.delete(uid);
      }
    },
    latest: ownWrites.latest,
    observe(change) {
      if (change.type === 'deleted') underWay.delete(change.object.uid);
      ownWrites.observe(change);
    },
  };
}

import { defer, type Observable, retry, timer } from 'rxjs';
import { readPages } from '../../kubernetes/list-pages.ts';
import { pruneNode } from '../../kubernetes/prune.ts';
import type { KubeReader } from '../../kubernetes/reader.ts';
import type { Logger } from '../../observability/logger.ts';
import { fromAbortable } from '../../streams/from-abortable.ts';
import type { FenceTarget } from './apply.ts';

/**
 * What a term of leadership must know before it hands out a pod CIDR. The leader before it may have written until the
 * last moment, and a write of its may still be under way:
 *
 * - What it has written is in a list that is asked for now. The store may be behind that, so it is believed only of Nodes
 *   that it shows newer than the list: it tells changes in their order, so it has told all of the list by then.
 * - What is still under way goes to a Node that the list shows without pod CIDR, and requires the version of then. So
 *   each of these Nodes gets a new version first, and only when all have one anything is handed out.
 */
export interface TermStart {
  /** resourceVersion of the list. */
  readonly version: string;
  /** The Nodes without pod CIDR, by name. */
  readonly unfenced: Map<string, FenceTarget>;
}

export interface TermStartDeps {
  readonly client: KubeReader;
  readonly logger: Logger;
  /** ms to wait after the n-th failure in a row, n from 0. */
  readonly backoff: (attempt: number) => number;
}

/** Lists the Nodes, however often it takes. */
export const termStart = ({ client, logger, backoff }: TermStartDeps): Observable<TermStart> =>
  defer(() => fromAbortable(signal => listNodes(client, signal))).pipe(
    retry({
      delay: (err, count) => {
        const after = backoff(count - 1);
        logger.warn('Failed to list the nodes before allocating pod CIDRs, will try again', { after, err });
        return timer(after);
      },
    }),
  );

async function listNodes(client: KubeReader, signal: AbortSignal): Promise<TermStart> {
  const unfenced = new Map<string, FenceTarget>();
  const options = { client, path: '/api/v1/nodes', prune: pruneNode };
  const { rv } = await readPages(
    options,
    ({ name, uid, resourceVersion, podCIDRs }) => {
      if (podCIDRs.length === 0) unfenced.set(name, { name, uid, resourceVersion });
    },
    signal,
  );
  signal.throwIfAborted();
  return { version: rv, unfenced };
}

import { Observable } from 'rxjs';
import type { Clock } from '../streams/clock.ts';
import type { KubeClient } from './client.ts';
import { isGone } from './errors.ts';
import { readPages } from './list-pages.ts';
import { defaultRetryRule, type RetryRule, retryDelay } from './retry-delay.ts';
import { wait } from './wait.ts';
import { watchOnce } from './watch-once.ts';

/**
 * What a list and the watch after it say. Only init ... initDone is the whole truth: what is not between them is gone.
 * Errors are items: the stream itself goes on until it is unsubscribed.
 */
export type ListWatchEvent<T> =
  /** A list was requested; throw away what an unfinished one has brought. */
  | { readonly type: 'init' }
  | { readonly type: 'initApply'; readonly object: T }
  | { readonly type: 'initDone'; readonly rv: string }
  | { readonly type: 'apply'; readonly object: T }
  | { readonly type: 'delete'; readonly object: T }
  /** `willRetryIn` ms. */
  | { readonly type: 'error'; readonly err: unknown; readonly willRetryIn: number };

export interface ListWatchOptions<T> {
  readonly client: KubeClient;
  /** Of the collection: `/api/v1/nodes`. */
  readonly path: string;
  /** Objects per page of a list. */
  readonly pageSize?: number;
  /** Makes the projection that is kept; throws when the object has no identity. */
  readonly prune: (raw: unknown) => T;
  readonly fieldSelector?: string;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly retry?: RetryRule;
  /** Shortest and longest time, in s, after which the server is asked to end a watch. */
  readonly serverTimeout?: readonly [number, number];
  /** ms without a byte after which a watch is opened anew. */
  readonly idleTimeout?: number;
  /** ms a watch must live for the failures before it to be forgotten. */
  readonly healthyAfter?: number;
  /** ms. A watch the server closes sooner counts as a failure. */
  readonly shortWatch?: number;
}

/** How one request (list or watch) ended, and where to go on: undefined = list again. */
interface Step {
  readonly rv: string | undefined;
  /** Undefined: the server closed a watch in good order. */
  readonly err?: unknown;
  /** A watch lived long enough to forget earlier failures. */
  readonly healthy?: boolean;
}

/**
 * Lists a collection and watches it from there, for ever. One request at a time, whatever happens:
 *
 * - 410, in a page, a watch's status or an ERROR event: list again; at once the first time, then backing off.
 * - any other failure: go on from the last resourceVersion (a failed list: from its start), backing off.
 * - a watch closed in good order: go on at once, or back off where it lived less than `shortWatch`.
 * - an event that makes no sense: reported, then list again, for the view may be wrong.
 * - silence for `idleTimeout`: the watch is opened anew from where it was, for a half-open connection never says that it is
 *   one. An error only where a bookmark was due (about every minute once something happened since the watch began); of a quiet
 *   collection silence is normal, and asking again costs one cheap request.
 *
 * Rules after client-go's reflector and kube-rs' watcher. Unsubscribing aborts the request in flight at once.
 */
export const listWatch = <T>(options: ListWatchOptions<T>): Observable<ListWatchEvent<T>> =>
  new Observable(subscriber => {
    const controller = new AbortController();
    const { signal } = controller;
    const emit = (event: ListWatchEvent<T>): void => subscriber.next(event);
    run(options, emit, signal).catch(err => {
      if (!signal.aborted) subscriber.error(err);
    });
    return () => controller.abort();
  });

const run = async <T>(
  options: ListWatchOptions<T>,
  emit: (event: ListWatchEvent<T>) => void,
  signal: AbortSignal,
): Promise<void> => {
  const random = options.random ?? Math.random;
  const rule = options.retry ?? defaultRetryRule;
  const watch = watchOnce(options, random);
  let rv: string | undefined;
  let failures = 0;
  while (!signal.aborted) {
    const step = rv === undefined ? await list(options, emit, signal) : await watch(rv, emit, signal);
    if (signal.aborted) return;
    if (step.healthy) failures = 0;
    rv = step.rv;
    if (step.err === undefined) continue;
    // The first 410 is an ordinary thing (compaction while we were away); only a storm of them waits.
    const willRetryIn = isGone(step.err) && failures === 0 ? 0 : retryDelay(rule, failures, step.err, random);
    failures += 1;
    emit({ type: 'error', err: step.err, willRetryIn });
    if (willRetryIn > 0) await wait(willRetryIn, signal);
  }
};

const list = async <T>(
  options: ListWatchOptions<T>,
  emit: (event: ListWatchEvent<T>) => void,
  signal: AbortSignal,
): Promise<Step> => {
  emit({ type: 'init' });
  try {
    const rv = await readPages(options, object => emit({ type: 'initApply', object }), signal);
    if (signal.aborted) return { rv: undefined };
    emit({ type: 'initDone', rv });
    return { rv };
  } catch (err) {
    return { rv: undefined, err };
  }
};

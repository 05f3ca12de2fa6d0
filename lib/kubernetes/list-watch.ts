import { Observable } from 'rxjs';
import type { Clock } from '../streams/clock.ts';
import type { KubeClient } from './client.ts';
import { isGone, isUnreachable } from './errors.ts';
import { readPages } from './list-pages.ts';
import { lostHistory, type Position } from './position.ts';
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
  /** ms without a byte after which a watch is opened anew where a bookmark was due or connections are in doubt. */
  readonly idleTimeout?: number;
  /** ms a watch must live for the failures before it to be forgotten. */
  readonly healthyAfter?: number;
  /** ms. A watch the server closes sooner counts as a failure. */
  readonly shortWatch?: number;
}

/** How one request (list, check or watch) ended, and where to go on. */
interface Step {
  /** Undefined: list again. */
  readonly position: Position | undefined;
  /** Undefined: the request ended in good order. */
  readonly err?: unknown;
  /** Forget earlier failures: a watch lived long enough. */
  readonly healthy?: boolean;
  /** The position may be watched from without a check. */
  readonly trusted: boolean;
  /** The failure is an answer to go by at once, not one to wait after. */
  readonly decided?: boolean;
  /** The server has just shown that the position is a point of its history. */
  readonly proven?: boolean;
}

/**
 * Lists a collection and watches it from there, for ever. One request at a time, whatever happens:
 *
 * - 410, in a page, a watch's status or an ERROR event: list again; at once the first time, then backing off.
 * - any other failure: go on from the last resourceVersion (a failed list: from its start), backing off.
 * - a watch closed in good order: go on at once, or back off where it lived less than `shortWatch`.
 * - before going on from a watch that failed or was closed before its time, the server is asked whether it still has that
 *   history (one object, see `lostHistory`); where etcd was lost or restored it has not: list again, at once.
 * - an event that makes no sense: reported, then list again, for the view may be wrong.
 * - silence for `idleTimeout` where a bookmark was due (about every minute once something happened since the watch began): the
 *   watch is opened anew from where it was, for a half-open connection never says that it is one. Of a quiet collection silence
 *   is normal: its watch goes on until the server ends it, or five seconds longer, but is opened anew after `idleTimeout` where
 *   any call got no answer since, or another watch no bookmark. (A dead peer ends the connection by TCP's keep-alive within a minute.) Silence proves
 *   nothing about the server's history, so after `proofAge` of it that is asked for, too.
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

/**
 * ms that the last sign of the server's history may be old when a silent watch is opened anew. Long, for Services may be quiet for
 * days, and a loss of etcd that no connection tells of takes a dead connection at the very same time.
 */
const proofAge = 3_600_000;

/**
 * Without a watch that lived for a while since. Counted by kind: an outage says nothing about how the server will answer when
 * it is back, and the first answers of one that has just started (403, 410, 503) must not cost half a minute.
 */
const noFailures = { expired: 0, unreachable: 0, refused: 0 };

const run = async <T>(
  options: ListWatchOptions<T>,
  emit: (event: ListWatchEvent<T>) => void,
  signal: AbortSignal,
): Promise<void> => {
  const { clock } = options;
  const random = options.random ?? Math.random;
  const rule = options.retry ?? defaultRetryRule;
  const watch = watchOnce(options, random);
  let position: Position | undefined;
  let trusted = false;
  let provenAt = 0;
  let failures = noFailures;

  const next = async (): Promise<Step> => {
    if (position === undefined) return list(options, emit, signal);
    if (!trusted || clock.monotonic() - provenAt >= proofAge) return check(options, position, signal);
    const { inOrder, ...end } = await watch(position, emit, signal);
    return { ...end, trusted: inOrder, proven: end.position?.rv !== position.rv };
  };

  while (!signal.aborted) {
    const step = await next();
    if (signal.aborted) return;
    if (step.healthy) failures = noFailures;
    if (step.proven === true) provenAt = clock.monotonic();
    position = step.position;
    trusted = step.trusted;
    if (step.err === undefined) continue;
    const kind = isGone(step.err) ? 'expired' : isUnreachable(step.err) ? 'unreachable' : 'refused';
    const attempt = failures[kind];
    failures = { ...failures, [kind]: attempt + 1 };
    // The first 410 is an ordinary thing (a compaction, a restart of the server); only a storm of them waits.
    const atOnce = step.decided === true || (kind === 'expired' && attempt === 0);
    const willRetryIn = atOnce ? 0 : retryDelay(rule, kind === 'expired' ? attempt - 1 : attempt, step.err, random);
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
    const position = await readPages(options, object => emit({ type: 'initApply', object }), signal);
    if (!signal.aborted) emit({ type: 'initDone', rv: position.rv });
    return { position, trusted: true, proven: true };
  } catch (err) {
    return { position: undefined, err, trusted: false };
  }
};

const check = async <T>(options: ListWatchOptions<T>, position: Position, signal: AbortSignal): Promise<Step> => {
  try {
    const lost = await lostHistory(options, position, signal);
    if (lost === undefined) return { position, trusted: true, proven: true };
    return { position: undefined, err: lost, trusted: false, decided: true };
  } catch (err) {
    return { position, err, trusted: false };
  }
};

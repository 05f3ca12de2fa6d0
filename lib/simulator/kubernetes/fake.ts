import { type ApiRequest, type ApiResponse, createKubernetesApi, type KubernetesApi, type WatchSink } from './api.ts';
import { createFaults, type Fault, type FaultMatch, type Faults, matchesRequest } from './faults.ts';
import { createJournal, type Journal } from './journal.ts';
import { parseRoute } from './route.ts';
import { createScript, type Script } from './script.ts';
import { failure } from './status.ts';
import { createStore, type Store } from './store.ts';
import { type Answer, streamWatch, type WatchStream } from './stream.ts';
import type { Watch } from './watch.ts';

export interface FakeKubernetesOptions {
  /** Bearer token -> user name; empty or missing lets everyone in. */
  readonly tokens?: Readonly<Record<string, string>>;
  /** ms between bookmarks; the real server takes about a minute. */
  readonly bookmarkInterval?: number;
  /** How many changes a watch may be behind before its version is too old. */
  readonly historyLimit?: number;
  /** ms since the epoch. */
  readonly now?: () => number;
}

/** An embedded Kubernetes API: Nodes, Services, Leases, Events, Namespaces. */
export interface FakeKubernetes extends Script {
  readonly faults: Faults;
  readonly journal: Journal;
  /** Answers one request without faults, journal or timers. Not for watches. */
  handle(request: ApiRequest): ApiResponse;
  /** Starts a watch without faults, journal or timers. */
  watch(request: ApiRequest, sink: WatchSink): Watch | ApiResponse;
  /** One HTTP exchange with all of these; returns what to call when the client goes away. */
  exchange(request: ApiRequest, answer: Answer): () => void;
  /** The watches that are open now. */
  openWatches(match?: FaultMatch): readonly ApiRequest[];
  /** Cuts the connections of the watches that match. */
  cutWatches(match?: FaultMatch): void;
  /** Ends them in good order, as a server does when their time is up. */
  endWatches(match?: FaultMatch): void;
  /** They deliver nothing any more, but stay open. */
  freezeWatches(match?: FaultMatch): void;
  /** Forgets the history: versions from before are too old from now on, told as an ERROR event or as HTTP 410. */
  compact(options?: { readonly gone?: 'event' | 'http' }): void;
  /** An etcd that lost everything: no objects but the namespaces, versions from 1, all watches cut. */
  resetStore(): void;
  /** An etcd restored from a backup: the same objects under other, usually lower versions, all watches cut. */
  newResourceVersions(start?: number): void;
}

const BOOKMARK_INTERVAL = 60_000;
const HISTORY_LIMIT = 2000;
const JSON_HEADERS = { 'content-type': 'application/json' };

const refuse = (answer: Answer, fault: Extract<Fault, { kind: 'status' }>): void => {
  const { code, message = 'scripted failure', retryAfter } = fault;
  answer.start(code, { ...JSON_HEADERS, ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }) });
  answer.write(JSON.stringify(failure(code, '', message).body));
  answer.end();
};

export const createFakeKubernetes = (options: FakeKubernetesOptions = {}): FakeKubernetes => {
  const now = options.now ?? (() => Date.now());
  const store: Store = createStore(options.historyLimit ?? HISTORY_LIMIT);
  const [faults, journal, streams] = [createFaults(), createJournal(), new Set<WatchStream>()];
  let gone: 'event' | 'http' = 'event';
  const api: KubernetesApi = createKubernetesApi({ store, now, tokens: options.tokens ?? {}, gone: () => gone });
  const script = createScript(store, now);
  script.seed();

  const verbOf = (request: ApiRequest) => {
    const route = parseRoute(request.method, request.url);
    return typeof route === 'string' ? undefined : route.verb;
  };
  const matching = (match: FaultMatch = {}): WatchStream[] =>
    [...streams].filter(({ request }) => matchesRequest(match, request, 'watch', api.userOf(request) ?? ''));

  const reply = (answer: Answer, { status, body }: ApiResponse): void => {
    answer.start(status, body === 'ok' ? { 'content-type': 'text/plain' } : JSON_HEADERS);
    answer.write(body);
    answer.end();
  };

  const openWatch = (request: ApiRequest, answer: Answer, fault: Fault | undefined): (() => void) => {
    let open: WatchStream | undefined;
    const onClosed = (): void => {
      if (open !== undefined) streams.delete(open);
    };
    const bookmarkInterval = options.bookmarkInterval ?? BOOKMARK_INTERVAL;
    let ended = false;
    const started = streamWatch(api, request, answer, {
      bookmarkInterval,
      onClosed: () => {
        ended = true;
        onClosed();
      },
    });
    if ('status' in started) {
      reply(answer, started);
      return () => {};
    }
    open = started;
    if (!ended) streams.add(started);
    if (fault?.kind === 'half-open') started.freeze();
    if (fault?.kind === 'partial-line') started.breakNextLine();
    if (fault?.kind === 'duplicate') started.repeat();
    return started.stop;
  };

  const serve = (request: ApiRequest, answer: Answer, fault: Fault | undefined): (() => void) => {
    if (verbOf(request) === 'watch') return openWatch(request, answer, fault);
    const response = api.handle(request);
    if (fault?.kind === 'reset') answer.reset();
    else reply(answer, response);
    return () => {};
  };

  const exchange = (request: ApiRequest, answer: Answer): (() => void) => {
    const [verb, user] = [verbOf(request), api.userOf(request) ?? ''];
    const { method, url: path, body, headers } = request;
    journal.add({ at: now(), user, userAgent: headers['user-agent'] ?? '', method, path, verb, body });
    const fault = faults.take(request, verb, user);
    if (fault?.kind === 'hang') return () => {};
    if (fault?.kind === 'status') refuse(answer, fault);
    else if (fault?.kind === 'answer') reply(answer, { status: 200, body: fault.body });
    else if (fault?.kind === 'reset' && fault.after !== true) answer.reset();
    else if (fault?.kind === 'delay') {
      let cancel = (): void => clearTimeout(timer);
      const timer = setTimeout(() => {
        cancel = serve(request, answer, undefined);
      }, fault.ms);
      return () => cancel();
    } else if (fault?.kind === 'late') {
      let left = false;
      setTimeout(() => (left ? api.handle(request) : serve(request, answer, undefined)), fault.ms);
      return () => {
        left = true;
      };
    } else return serve(request, answer, fault);
    return () => {};
  };

  const cutWatches = (match?: FaultMatch): void => {
    for (const stream of matching(match)) stream.cut();
  };

  return {
    ...script,
    faults,
    journal,
    handle: api.handle,
    watch: api.watch,
    exchange,
    openWatches: match => matching(match).map(({ request }) => request),
    cutWatches,
    endWatches: match => {
      for (const stream of matching(match)) stream.end();
    },
    freezeWatches: match => {
      for (const stream of matching(match)) stream.freeze();
    },
    compact: (how = {}) => {
      gone = how.gone ?? 'event';
      store.compact();
    },
    resetStore: () => {
      store.reset({ revision: 1, keepObjects: false });
      script.seed();
      cutWatches();
    },
    newResourceVersions: (start = 1) => {
      store.reset({ revision: start, keepObjects: true });
      cutWatches();
    },
  };
};

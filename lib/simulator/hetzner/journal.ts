import type { ActionRecord } from './actions.ts';
import type { FakeRequest } from './wire.ts';

/** One request that reached the fake. */
export interface RequestEntry {
  /** Instant of arrival, ms since the epoch. */
  readonly at: number;
  readonly method: string;
  /** Path without `/v1`; Robot's begin with `/robot`. */
  readonly path: string;
  readonly query: string;
  /** Template of the route; the path itself where there is none. */
  readonly route: string;
  readonly status: number;
  /** Error code of the answer, if it has one. */
  readonly code: string | undefined;
  /** Header `X-Client`, else the user agent. */
  readonly client: string;
  /** Who writes, for mutating requests: `X-Client`, else the user agent with the connection's peer. */
  readonly writer: string | undefined;
  /** Action started by the request. */
  readonly action: ActionRecord | undefined;
  readonly fault: string | undefined;
}

export interface CountFilter {
  readonly method?: string;
  /** Template, as in `RequestEntry.route`. */
  readonly route?: string;
  /** Instant in ms; earlier requests are left out. */
  readonly since?: number;
}

export interface Journal {
  /** The newest `keep` requests, oldest first. */
  readonly requests: readonly RequestEntry[];
  count(filter?: CountFilter): number;
  /** Number of requests by "METHOD route". */
  counts(filter?: CountFilter): Record<string, number>;
  clear(): void;
  record(entry: RequestEntry): void;
}

/** Names of the client and, for a mutating request, of the writer. */
export function identify(request: FakeRequest): Pick<RequestEntry, 'client' | 'writer'> {
  const named = request.headers['x-client'];
  const agent = request.headers['user-agent'] ?? 'unknown';
  const writer = named ?? (request.client === undefined ? agent : `${agent} ${request.client}`);
  return { client: named ?? agent, writer: request.method === 'GET' ? undefined : writer };
}

export function createJournal(keep: number): Journal {
  const requests: RequestEntry[] = [];
  const select = ({ method, route, since = 0 }: CountFilter): RequestEntry[] =>
    requests.filter(
      one =>
        one.at >= since &&
        (method === undefined || one.method === method) &&
        (route === undefined || one.route === route),
    );
  return {
    requests,
    count: (filter = {}) => select(filter).length,
    counts(filter = {}) {
      const totals: Record<string, number> = {};
      for (const { method, route } of select(filter))
        totals[`${method} ${route}`] = (totals[`${method} ${route}`] ?? 0) + 1;
      return totals;
    },
    clear: () => requests.splice(0),
    record(entry) {
      requests.push(entry);
      if (requests.length > keep) requests.splice(0, requests.length - keep);
    },
  };
}

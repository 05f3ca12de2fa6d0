import { Dispatcher } from 'undici';
import type { ApiRequest } from './api.ts';
import type { Answer } from './stream.ts';

/** What answers: a fake Kubernetes, or anything that plays one HTTP exchange and returns what to call when the client goes away. */
export interface Exchanger {
  exchange(request: ApiRequest, answer: Answer): () => void;
}

/** How undici says that a peer cut the connection, so that clients treat both alike. */
const connectionReset = (): Error => Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });

/** How undici says that an answer did not begin in time. */
const headersTimeout = (): Error =>
  Object.assign(new Error('Headers Timeout Error'), { code: 'UND_ERR_HEADERS_TIMEOUT' });

const bodyText = (body: unknown): string => {
  if (body === null || body === undefined) return '';
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  throw new TypeError('the in-process API takes bodies as text or bytes only');
};

const flatHeaders = (headers: unknown): Record<string, string> => {
  const flat: Record<string, string> = {};
  const pairs: [unknown, unknown][] = [];
  if (Array.isArray(headers)) for (let i = 0; i + 1 < headers.length; i += 2) pairs.push([headers[i], headers[i + 1]]);
  else if (typeof headers === 'object' && headers !== null) pairs.push(...Object.entries(headers));
  for (const [name, value] of pairs) if (value !== undefined) flat[String(name).toLowerCase()] = String(value);
  return flat;
};

const withQuery = (path: string, query: Record<string, unknown> | undefined): string => {
  if (query === undefined) return path;
  const search = new URLSearchParams(
    Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]),
  );
  return `${path}?${search}`;
};

/**
 * An undici dispatcher that talks to the fake without a socket, so that a client under test runs in virtual time:
 * everything happens in microtasks and in the timers that the fake and the client set.
 */
export class InProcessDispatcher extends Dispatcher {
  readonly #fake: Exchanger;
  readonly #latency: number;
  readonly #aborts = new Set<(reason: Error) => void>();

  /** @param latency ms until a request reaches the fake. With 0 a client that asks in a loop never lets a timer fire. */
  constructor(fake: Exchanger, latency = 0) {
    super();
    this.#fake = fake;
    this.#latency = latency;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    let [state, gone] = ['open' as 'open' | 'ended', (): void => {}];
    const finish = (): boolean => {
      if (state === 'ended') return false;
      state = 'ended';
      this.#aborts.delete(fail);
      clearTimeout(timer);
      return true;
    };
    const fail = (reason: Error): void => {
      if (!finish()) return;
      controller.reason = reason;
      gone();
      handler.onResponseError?.(controller, reason);
    };
    const controller = {
      aborted: false,
      paused: false,
      reason: null as Error | null,
      rawHeaders: null,
      rawTrailers: null,
      pause: () => {},
      resume: () => {},
      abort: (reason: Error) => {
        controller.aborted = true;
        fail(reason);
      },
    };
    this.#aborts.add(fail);
    const limit = options.headersTimeout ?? 0;
    const timer = limit > 0 ? setTimeout(() => fail(headersTimeout()), limit) : undefined;
    handler.onRequestStart?.(controller, {});
    const arrive = (): void => {
      if (state === 'ended') return;
      const { method, path, query, headers, body } = options;
      gone = this.#fake.exchange(
        { method, url: withQuery(path, query), headers: flatHeaders(headers), body: bodyText(body) },
        {
          start: (status, answered) => {
            clearTimeout(timer);
            handler.onResponseStart?.(controller, status, { ...answered }, '');
          },
          write: chunk => {
            if (state === 'open') handler.onResponseData?.(controller, Buffer.from(chunk));
          },
          end: () => {
            if (finish()) handler.onResponseEnd?.(controller, {});
          },
          reset: () => fail(connectionReset()),
        },
      );
      if (controller.aborted) gone();
    };
    if (this.#latency === 0) queueMicrotask(arrive);
    else setTimeout(arrive, this.#latency);
    return true;
  }

  override close(): Promise<void> {
    return this.destroy();
  }

  override destroy(): Promise<void> {
    for (const abort of [...this.#aborts]) abort(connectionReset());
    return Promise.resolve();
  }
}

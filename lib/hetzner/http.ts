import type { Dispatcher } from 'undici';
import type { Logger } from '../observability/logger.ts';
import { type Clock, systemClock } from '../streams/clock.ts';
import type { Credentials } from './credentials.ts';
import { directDispatcher } from './dispatcher.ts';
import { faultOfAnswer, type HetznerAPI, HetznerError } from './errors.ts';
import { type Answer, ExchangeError, exchange } from './exchange.ts';
import { createTrace } from './trace.ts';

export interface HetznerRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the endpoint, such as `/servers/42`. */
  readonly path: string;
  /** In order; a key may repeat. */
  readonly query?: ReadonlyArray<readonly [string, string]>;
  /** Sent as JSON; without it neither a body nor a content type is sent. */
  readonly body?: unknown;
}

/** The RateLimit headers of one answer; what was absent or no number is undefined. */
export interface RateLimit {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  /** Unix seconds at which the quota would be full again. */
  readonly reset: number | undefined;
}

/** What metrics learn about a finished request. */
export interface RequestReport {
  readonly method: string;
  readonly route: string;
  /** HTTP status, or the code of the error when there was no answer. */
  readonly code: number | string;
  readonly durationMs: number;
}

export interface HetznerHTTPOptions {
  readonly api?: HetznerAPI;
  /** Without a trailing slash, may have a path. */
  readonly endpoint: string;
  /** Asked for each request. */
  readonly credentials: () => Credentials;
  readonly userAgent: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** ms for one try. */
  readonly timeout?: number;
  /** Closed by `close`. */
  readonly dispatcher?: Dispatcher;
  /** Writes headers and bodies to the log, at info (HCLOUD_DEBUG). */
  readonly debug?: boolean;
  readonly onRequest?: (report: RequestReport) => void;
  readonly onInFlight?: (count: number) => void;
  readonly onHeaders?: (limit: RateLimit) => void;
}

export interface HetznerHTTP {
  /** One try. Parsed JSON of a 2xx answer, undefined for an empty one; rejects with a HetznerError or the signal's reason. */
  request(request: HetznerRequest, signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}

/** A page of 50 servers is about 250 kB. */
const maxBytes = 8 * 1024 * 1024;

/** Template of a path for metrics and logs: `/servers/42` is `/servers/-`. */
export const routeOf = (path: string): string => path.replace(/\/\d+(?=\/|$)/g, '/-');

/** The HTTP side of Hetzner's JSON API: no retries, no budget. */
export const createHetznerHTTP = (options: HetznerHTTPOptions): HetznerHTTP => {
  const { api = 'cloud', logger, clock = systemClock, timeout = 15_000, debug = false } = options;
  const dispatcher = options.dispatcher ?? directDispatcher({ connectTimeout: timeout });
  const { origin, pathname } = new URL(options.endpoint);
  const base = pathname.replace(/\/+$/, '');
  const trace = createTrace(logger, debug);
  let inFlight = 0;

  const request = async ({ method, path, query, body }: HetznerRequest, signal: AbortSignal): Promise<unknown> => {
    const route = routeOf(path);
    const { authorization, secrets } = options.credentials();
    // Nothing that an answer or an error echoes may carry a secret on.
    const redact = (text: string): string =>
      secrets.reduce((rest, secret) => (secret === '' ? rest : rest.replaceAll(secret, '[redacted]')), text);
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      accept: 'application/json',
      'user-agent': options.userAgent,
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const search =
      query === undefined
        ? ''
        : new URLSearchParams(query.map(([key, value]): [string, string] => [key, value])).toString();
    const startedAt = clock.monotonic();
    const report = (code: number | string, answer?: Answer): void => {
      const durationMs = Math.round(clock.monotonic() - startedAt);
      options.onRequest?.({ method, route, code, durationMs });
      trace({ method, route, code, durationMs, requestHeaders: headers, requestBody: payload, answer, redact });
    };

    options.onInFlight?.(++inFlight);
    let answer: Answer;
    try {
      answer = await exchange(dispatcher, {
        origin,
        path: `${base}${path}${search === '' ? '' : `?${search}`}`,
        method,
        headers: { ...headers, authorization },
        ...(payload === undefined ? {} : { body: payload }),
        timeout,
        maxBytes,
        signal,
      });
    } catch (err) {
      if (!(err instanceof ExchangeError)) {
        report('aborted');
        throw err;
      }
      report(err.code);
      const { code, sent } = err;
      throw new HetznerError({ api, status: 0, code, message: redact(err.message), method, route, sent });
    } finally {
      options.onInFlight?.(--inFlight);
    }

    options.onHeaders?.(rateLimitOf(answer));
    report(answer.status, answer);
    const correlationID = headerOf(answer, 'x-correlation-id');
    if (answer.status >= 300) {
      const { value } = parse(redact(answer.text));
      const fault = faultOfAnswer(answer.status, value);
      // Not an answer of Hetzner's API: what gave it is the question.
      const message = fault.code.startsWith('http_')
        ? `${fault.message} of ${origin} to ${method} ${route}`
        : fault.message;
      throw new HetznerError({ api, ...fault, message, correlationID, method, route });
    }
    // As it is: a secret that is a word of its own must not change what was answered.
    const parsed = parse(answer.text);
    if (parsed.broken) {
      const message = `the answer of ${origin} to ${method} ${route} is not valid JSON`;
      throw new HetznerError({
        api,
        status: answer.status,
        code: 'invalid_response',
        message,
        correlationID,
        method,
        route,
      });
    }
    return parsed.value;
  };

  return { request, close: () => dispatcher.destroy() };
};

const parse = (text: string): { readonly value: unknown; readonly broken: boolean } => {
  if (text.trim() === '') return { value: undefined, broken: false };
  try {
    return { value: JSON.parse(text), broken: false };
  } catch {
    return { value: undefined, broken: true };
  }
};

const headerOf = (answer: Answer, name: string): string | undefined => {
  const value = answer.headers[name];
  return Array.isArray(value) ? value[0] : value;
};

const rateLimitOf = (answer: Answer): RateLimit => {
  const number = (name: string): number | undefined => {
    const text = headerOf(answer, name);
    return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  };
  return {
    limit: number('ratelimit-limit'),
    remaining: number('ratelimit-remaining'),
    reset: number('ratelimit-reset'),
  };
};

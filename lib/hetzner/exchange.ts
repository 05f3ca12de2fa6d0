import type { Dispatcher } from 'undici';

export interface Exchange {
  readonly origin: string;
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers: Record<string, string>;
  readonly body?: string;
  /** ms for everything: connecting, sending and reading the whole answer. */
  readonly timeout: number;
  /** A longer answer is an error. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** There was no whole answer. `code` is `timeout`, `answer_too_large` or the code of the network error. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  readonly code: string;
  /** False only when it is certain that not a byte of the request was sent. */
  readonly sent: boolean;

  constructor(code: string, message: string, sent: boolean) {
    super(message);
    this.code = code;
    this.sent = sent;
  }
}

/**
 * One HTTP request and its whole answer as text. Redirects are not followed. Rejects with an ExchangeError, or with
 * the signal's reason.
 *
 * Speaks to the dispatcher's own handler interface: that tells whether a request was started, which decides if a write
 * may be sent again, and it needs neither undici's `request` nor a stream.
 */
export const exchange = (dispatcher: Dispatcher, request: Exchange): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { signal } = request;
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    let controller: Dispatcher.DispatchController | undefined;
    let settled = false;
    let size = 0;
    let status = 0;
    let headers: Answer['headers'] = {};
    const chunks: Buffer[] = [];

    const settle = (end: () => void): boolean => {
      if (settled) return false;
      settled = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      end();
      return true;
    };
    const abandon = (err: unknown): void => {
      if (settle(() => reject(err))) controller?.abort(new Error('abandoned'));
    };
    const fail = (code: string, message: string): void =>
      abandon(new ExchangeError(code, message, controller !== undefined));
    const onAbort = (): void => abandon(signal.reason);
    const timer = setTimeout(() => fail('timeout', `no answer within ${request.timeout} ms`), request.timeout);
    signal.addEventListener('abort', onAbort);

    const { origin, path, method, body } = request;
    try {
      dispatcher.dispatch(
        { origin, path, method, headers: request.headers, body: body ?? null, headersTimeout: 0, bodyTimeout: 0 },
        {
          onRequestStart: started => {
            // A request given up while it waited for a connection is dropped here, unsent.
            if (settled) started.abort(new Error('abandoned'));
            else controller = started;
          },
          onResponseStart: (_, code, received) => {
            status = code;
            headers = received;
          },
          onResponseData: (_, chunk) => {
            size += chunk.length;
            if (size > request.maxBytes) fail('answer_too_large', `answer is longer than ${request.maxBytes} bytes`);
            else chunks.push(chunk);
          },
          onResponseEnd: () => {
            settle(() => resolve({ status, headers, text: Buffer.concat(chunks).toString('utf8') }));
          },
          onResponseError: (_, err) => fail(codeOf(err), messageOf(err)),
        },
      );
    } catch (err) {
      fail(codeOf(err), messageOf(err));
    }
  });

const codeOf = (err: unknown): string => {
  const { code, cause } = (err ?? {}) as { code?: unknown; cause?: unknown };
  // undici wraps what the socket reported; its own code says less.
  const inner = (cause as { code?: unknown } | undefined)?.code;
  const found = [inner, code].find(value => typeof value === 'string' && value !== '');
  if (found === 'ETIMEDOUT' || found === 'UND_ERR_CONNECT_TIMEOUT') return 'timeout';
  return typeof found === 'string' ? found : 'network_error';
};

const messageOf = (err: unknown): string => (err instanceof Error && err.message !== '' ? err.message : codeOf(err));

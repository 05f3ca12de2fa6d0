/** What crosses the boundary of the fake: requests in, answers out. No sockets here, so a Dispatcher can call it in virtual time. */

/** One HTTP request. Header names are lower case. */
export interface FakeRequest {
  readonly method: string;
  /** Path as on the wire and without the query, such as `/v1/servers`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: string | undefined;
  /** Who is at the other end of the connection, such as a remote port. Tells writers apart that send the same headers. */
  readonly client?: string | undefined;
}

/**
 * What becomes of an answer on the wire; delays are ms from the arrival of the request.
 *
 * - `send`: whole.
 * - `truncate`: the head announces the whole body, half of it arrives, the connection ends.
 * - `hang`: nothing arrives and the connection stays open.
 * - `reset`: the connection is reset before any byte.
 */
export type Disposition =
  | { readonly kind: 'send' | 'truncate' | 'reset'; readonly delay: number }
  | { readonly kind: 'hang' };

export interface FakeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for 204. */
  readonly body: string;
  readonly disposition: Disposition;
}

/** Builds a request from a request target such as `/v1/servers?page=2`, as a socket or an undici Dispatcher has it. */
export function toRequest(
  method: string,
  target: string,
  rest: Pick<FakeRequest, 'headers' | 'body' | 'client'>,
): FakeRequest {
  const cut = target.indexOf('?');
  const path = cut < 0 ? target : target.slice(0, cut);
  const query = new URLSearchParams(cut < 0 ? '' : target.slice(cut + 1));
  return { method: method.toUpperCase(), path, query, ...rest };
}

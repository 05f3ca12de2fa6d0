import { directDispatcher } from './dispatcher.ts';
import { type Answer, ExchangeError, exchange } from './exchange.ts';

/** The metadata service could not be asked, or gave no usable answer. */
export class MetadataError extends Error {
  override readonly name = 'MetadataError';
  /** `unreachable`: not a Hetzner server, or blocked; `answer`: it answered something else. */
  readonly code: 'unreachable' | 'answer';

  constructor(code: MetadataError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export interface MetadataOptions {
  /** Base URL without a trailing slash. */
  readonly endpoint: string;
  /** ms */
  readonly timeout?: number;
  readonly signal: AbortSignal;
}

/**
 * Ids of the networks that the server this process runs on is attached to, by its metadata service. Never through a
 * proxy: the address is link-local. Rejects with a MetadataError or the signal's reason.
 */
export const attachedNetworks = async (options: MetadataOptions): Promise<readonly number[]> => {
  const { endpoint, timeout = 5_000, signal } = options;
  const { origin, pathname } = new URL(`${endpoint}/private-networks`);
  const dispatcher = directDispatcher({ connectTimeout: timeout, connections: 1 });
  let answer: Answer;
  try {
    answer = await exchange(dispatcher, {
      origin,
      path: pathname,
      method: 'GET',
      headers: {},
      timeout,
      maxBytes: 1024 * 1024,
      signal,
    });
  } catch (err) {
    if (!(err instanceof ExchangeError)) throw err;
    throw new MetadataError('unreachable', `metadata service at ${origin} is not reachable: ${err.message}`);
  } finally {
    await dispatcher.destroy();
  }
  if (answer.status !== 200) {
    throw new MetadataError('answer', `metadata service at ${origin} answered with HTTP status ${answer.status}`);
  }
  return networkIDsOf(answer.text);
};

/** Reads the `network_id` of each entry of the YAML list; nothing else of it is needed. */
export const networkIDsOf = (yaml: string): readonly number[] =>
  [...yaml.matchAll(/^\s*(?:-\s+)?["']?network_id["']?\s*:\s*["']?(\d+)["']?\s*(?:#.*)?$/gm)].map(match =>
    Number(match[1]),
  );

import { Agent, request } from 'undici';
import type { ApiRequest } from '../../lib/simulator/kubernetes/api.ts';

/** Loosely typed on purpose: specs look at single fields of real answers. */
export interface KubeObject {
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
    readonly creationTimestamp?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>>;
  /** Events only, these five. */
  readonly involvedObject?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
}

/** An answer: an object, a list or a Status. */
export interface KubeAnswer {
  readonly status: number;
  readonly body: KubeObject & {
    readonly items: readonly KubeObject[];
    readonly reason?: string;
    readonly message?: string;
    readonly code?: number;
    readonly details?: Readonly<Record<string, unknown>>;
  };
  readonly text: string;
}

export interface WatchLine {
  readonly type: string;
  readonly object: KubeAnswer['body'];
}

export interface RunningWatch {
  /** The next event; undefined when the server ended the watch. Rejects after `timeout` ms (default 5 s). */
  next(timeout?: number): Promise<WatchLine | undefined>;
  close(): void;
}

export const JSON_PATCH = 'application/json-patch+json';
export const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC_PATCH = 'application/strategic-merge-patch+json';

/** A small client for specs, independent of lib/kubernetes: HTTP/1.1, no retries. */
export interface KubeClient {
  send(method: string, path: string, body?: unknown, contentType?: string): Promise<KubeAnswer>;
  /** `send`, and an error unless the answer is 2xx. */
  must(method: string, path: string, body?: unknown, contentType?: string): Promise<KubeAnswer['body']>;
  /** Starts a watch; rejects when it is refused (status other than 200). */
  watch(path: string): Promise<RunningWatch>;
  close(): Promise<void>;
}

/** What it takes to read and write objects: a cluster, or the virtual one. */
export interface KubeAccess {
  readonly client: Pick<KubeClient, 'send' | 'must'>;
}

const parse = (text: string): KubeAnswer['body'] => {
  try {
    return JSON.parse(text);
  } catch {
    return {} as KubeAnswer['body'];
  }
};

const readWatch = (body: AsyncIterable<Buffer>, abort: () => void): RunningWatch => {
  const ready: (WatchLine | undefined)[] = [];
  let waiting: ((line: WatchLine | undefined) => void) | undefined;
  let ended = false;
  const emit = (line: WatchLine | undefined): void => {
    if (waiting === undefined) ready.push(line);
    else waiting(line);
    waiting = undefined;
  };
  const pump = async (): Promise<void> => {
    let rest = '';
    try {
      for await (const chunk of body) {
        const lines = (rest + chunk.toString()).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) emit(JSON.parse(line));
      }
    } catch {
      // A watch that is cut ends like one that is closed.
    }
    ended = true;
    emit(undefined);
  };
  void pump();
  return {
    next: (timeout = 5000) => {
      if (ready.length > 0) return Promise.resolve(ready.shift());
      if (ended) return Promise.resolve(undefined);
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting = undefined;
          reject(new Error(`no watch event within ${timeout} ms`));
        }, timeout);
        waiting = line => {
          clearTimeout(timer);
          resolve(line);
        };
      });
    },
    close: abort,
  };
};

/** `send`, and an error unless the answer is 2xx. */
const mustOf =
  (send: KubeClient['send']): KubeClient['must'] =>
  async (method, path, body, contentType) => {
    const answer = await send(method, path, body, contentType);
    if (answer.status >= 200 && answer.status <= 299) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 500)}`);
  };

/** The same client without a socket: `handle` answers at once. */
export const inProcessClient = (
  handle: (request: ApiRequest) => { readonly status: number; readonly body: string },
  token: string,
): KubeAccess['client'] => {
  const send: KubeClient['send'] = (method, path, body, contentType = 'application/json') => {
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
    const headers = { authorization: `Bearer ${token}`, 'content-type': contentType };
    const answer = handle({ method, url: path, headers, body: text });
    return Promise.resolve({ status: answer.status, body: parse(answer.body), text: answer.body });
  };
  return { send, must: mustOf(send) };
};

/** @param ca PEM, for https */
export const createKubeClient = (url: string, token: string, ca?: string): KubeClient => {
  const dispatcher = new Agent({ allowH2: false, connect: ca === undefined ? {} : { ca } });
  const headers = { authorization: `Bearer ${token}`, 'user-agent': 'spec' };

  const send: KubeClient['send'] = async (method, path, body, contentType = 'application/json') => {
    const answer = await request(url + path, {
      dispatcher,
      method: method as 'GET',
      headers: body === undefined ? headers : { ...headers, 'content-type': contentType },
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, body: parse(text), text };
  };

  return {
    send,
    must: mustOf(send),
    watch: async path => {
      const abort = new AbortController();
      const { statusCode, body } = await request(url + path, { dispatcher, headers, signal: abort.signal });
      if (statusCode === 200) return readWatch(body, () => abort.abort());
      throw new Error(`watch ${path}: ${statusCode} ${await body.text()}`);
    },
    close: () => dispatcher.destroy(),
  };
};

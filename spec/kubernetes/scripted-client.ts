import type { KubeClient, KubeRequest } from '../../lib/kubernetes/client.ts';
import { rawNode } from './support.ts';

export interface OpenStream {
  readonly request: KubeRequest;
  send(...lines: unknown[]): void;
  sendRaw(text: string): void;
  end(): void;
  fail(err: unknown): void;
  readonly aborted: boolean;
}

/** A byte stream that is written by hand and ends with the signal's reason when that aborts. */
const openStream = (request: KubeRequest): { stream: OpenStream; bytes: AsyncIterable<Uint8Array> } => {
  const chunks: Uint8Array[] = [];
  let outcome: { err?: unknown } | undefined;
  let wake = (): void => undefined;
  const finish = (how: { err?: unknown }): void => {
    outcome ??= how;
    wake();
  };
  request.signal.addEventListener('abort', () => finish({ err: request.signal.reason }));
  const sendRaw = (text: string): void => {
    chunks.push(Buffer.from(text));
    wake();
  };
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) yield chunk;
      else if (outcome !== undefined) {
        if ('err' in outcome) throw outcome.err;
        return;
      } else {
        await new Promise<void>(resolve => {
          wake = resolve;
        });
      }
    }
  }
  const stream: OpenStream = {
    request,
    send: (...lines) => {
      for (const line of lines) sendRaw(`${JSON.stringify(line)}\n`);
    },
    sendRaw,
    end: () => finish({}),
    fail: err => finish({ err }),
    get aborted() {
      return request.signal.aborted;
    },
  };
  return { stream, bytes: bytes() };
};

/** The question whether the server still has the history a view was made from. */
export const isCheck = (request: KubeRequest): boolean => request.query?.resourceVersionMatch !== undefined;

/** The object that a check asks for. */
const askedFor = (request: KubeRequest): unknown => {
  const name = /metadata\.name=([^,]+)/.exec(String(request.query?.fieldSelector))?.[1] ?? '';
  return rawNode(name, { rv: String(request.query?.resourceVersion) });
};

/**
 * A client without sockets, for specs in virtual time. `list` answers each list, `check` (all is well by default) each check;
 * streams stay open until the spec ends them. `refuse` may throw instead of opening a stream.
 */
export const scriptedClient = (script: {
  list: (request: KubeRequest, nth: number) => unknown;
  check?: (request: KubeRequest) => unknown;
  refuse?: (request: KubeRequest, nth: number) => void;
}) => {
  const log: KubeRequest[] = [];
  const streams: OpenStream[] = [];
  let lists = 0;
  let watches = 0;
  let inFlight = 0;
  let mostInFlight = 0;
  const client: KubeClient = {
    request: async <T>(request: KubeRequest) => {
      log.push(request);
      const { check = () => ({ items: [askedFor(request)] }) } = script;
      if (!isCheck(request)) lists += 1;
      inFlight += 1;
      mostInFlight = Math.max(mostInFlight, inFlight);
      try {
        return (await (isCheck(request) ? check(request) : script.list(request, lists))) as T;
      } finally {
        inFlight -= 1;
      }
    },
    stream: async request => {
      log.push(request);
      watches += 1;
      mostInFlight = Math.max(mostInFlight, inFlight + 1);
      script.refuse?.(request, watches);
      const { stream, bytes } = openStream(request);
      inFlight += 1;
      streams.push(stream);
      const counted = async function* () {
        try {
          yield* bytes;
        } finally {
          inFlight -= 1;
        }
      };
      return counted();
    },
    close: async () => undefined,
  };
  return { client, log, streams, mostInFlight: () => mostInFlight };
};

/** Lets everything run that waits for no timer (setImmediate stays real). */
export const settle = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise(resolve => setImmediate(resolve));
};

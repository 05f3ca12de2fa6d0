import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FakeHetzner } from './fake.ts';
import { type FakeAnswer, toRequest } from './wire.ts';

/** The fake on a loopback socket. */
export interface Listening {
  /** Base URL of the Cloud API, such as `http://127.0.0.1:40001/v1`. */
  readonly url: string;
  /** Base URL of the metadata service. */
  readonly metadataUrl: string;
  /** Base URL of the Robot web service. */
  readonly robotUrl: string;
  /** Ends all connections, also hanging ones. */
  close(): Promise<void>;
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const headersOf = (incoming: IncomingMessage): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );

function send(answer: FakeAnswer, outgoing: ServerResponse): void {
  const { status, headers, body, disposition } = answer;
  if (disposition.kind === 'reset') {
    outgoing.req.socket.resetAndDestroy();
    return;
  }
  const bytes = Buffer.from(body);
  outgoing.writeHead(status, status === 204 ? headers : { ...headers, 'Content-Length': String(bytes.length) });
  if (disposition.kind === 'truncate') {
    const half = bytes.subarray(0, Math.floor(bytes.length / 2));
    outgoing.write(half, () => outgoing.destroy());
  } else outgoing.end(bytes);
}

/** Serves the fake on 127.0.0.1. Port 0 takes a free one. `client` names whoever comes through here in the log of requests. */
export async function listenHetzner(fake: FakeHetzner, port = 0, client?: string): Promise<Listening> {
  const timers = new Set<NodeJS.Timeout>();
  const after = (delay: number, run: () => void): void => {
    if (delay <= 0) {
      run();
      return;
    }
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, delay);
    timers.add(timer);
  };

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const body = await readBody(incoming);
    const request = toRequest(incoming.method ?? 'GET', incoming.url ?? '/', {
      headers: client === undefined ? headersOf(incoming) : { ...headersOf(incoming), 'x-client': client },
      body,
      client: `${incoming.socket.remoteAddress}:${incoming.socket.remotePort}`,
    });
    const answer = fake.handle(request);
    const { disposition } = answer;
    if (disposition.kind === 'hang') return;
    after(disposition.delay, () => {
      if (!outgoing.destroyed) send(answer, outgoing);
    });
  };

  const server = createServer((incoming, outgoing) => {
    // A client that goes away while it sends its body is not the fake's business; a defect of the fake answers 500.
    serve(incoming, outgoing).catch((err: unknown) => {
      if (outgoing.headersSent || outgoing.destroyed) outgoing.destroy();
      else outgoing.writeHead(500, { 'Content-Type': 'text/plain' }).end(`simulator: ${String(err)}`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/v1`,
    metadataUrl: `${origin}/hetzner/v1/metadata`,
    robotUrl: `${origin}/robot`,
    close: () =>
      new Promise(resolve => {
        for (const timer of timers) clearTimeout(timer);
        timers.clear();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

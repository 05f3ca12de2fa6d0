import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { FakeKubernetes } from './fake.ts';

/** A fake that answers on a socket. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Stops listening and cuts what is open; the fake itself stays as it is. */
  close(): Promise<void>;
}

const readBody = async (message: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

const flatHeaders = (message: IncomingMessage): Record<string, string> => {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(message.headers)) headers[name] = [value ?? ''].flat().join(', ');
  return headers;
};

const serve = async (fake: FakeKubernetes, message: IncomingMessage, response: ServerResponse): Promise<void> => {
  const body = await readBody(message);
  const gone = fake.exchange(
    { method: message.method ?? 'GET', url: message.url ?? '/', headers: flatHeaders(message), body },
    {
      start: (status, headers) => {
        response.writeHead(status, headers);
        response.flushHeaders();
      },
      write: chunk => void response.write(chunk),
      end: () => void response.end(),
      reset: () => void response.socket?.resetAndDestroy(),
    },
  );
  response.on('close', gone);
};

/** Serves the fake over HTTP/1.1 on 127.0.0.1; port 0 takes a free one. */
export const listenKubernetes = async (fake: FakeKubernetes, port = 0): Promise<Listening> => {
  const server = createServer((message, response) => {
    // A client that leaves while it is still sending its body needs no answer.
    serve(fake, message, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

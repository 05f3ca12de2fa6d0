import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy on loopback that can misbehave like a network. TLS passes through it. */
export interface TCPProxy {
  readonly port: number;
  /** Forwards nothing any more in either direction and closes nothing: half-open. New connections are accepted and starve too. */
  freeze(): void;
  /** Forwards what was held back, and goes on. */
  thaw(): void;
  /** Present connections carry nothing any more, for good, and stay open; new ones work. */
  strand(): void;
  /** Resets all connections. */
  cut(): void;
  /** New connections are refused (nobody listens); present ones go on. */
  refuse(): Promise<void>;
  /** Listens again, on the same port. */
  accept(): Promise<void>;
  /** Forwards each chunk `ms` later. */
  delay(ms: number): void;
  /** Open connections from clients. */
  connections(): number;
  /** Connections accepted so far. */
  accepted(): number;
  /** Bytes that came from both sides so far. */
  bytes(): number;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  /** Chunks held back while frozen. */
  readonly held: (() => void)[];
  stranded: boolean;
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });

/** Starts a proxy to 127.0.0.1:`target`. */
export const startProxy = async (target: number): Promise<TCPProxy> => {
  const pairs = new Set<Pair>();
  const timers = new Set<NodeJS.Timeout>();
  let [frozen, wait, accepted, bytes] = [false, 0, 0, 0];

  const later = (run: () => void): void => {
    if (wait === 0) {
      run();
      return;
    }
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, wait);
    timers.add(timer);
  };

  const forward = (pair: Pair, from: Socket, to: Socket): void => {
    const pass = (run: () => void): void => {
      if (frozen || pair.stranded) pair.held.push(run);
      else later(run);
    };
    from.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      pass(() => void to.write(chunk));
    });
    from.on('end', () => pass(() => void to.end()));
    from.on('error', () => pass(() => void to.destroy()));
    from.on('close', () =>
      pass(() => {
        to.destroy();
        pairs.delete(pair);
      }),
    );
  };

  const server = createServer({ allowHalfOpen: true }, client => {
    accepted += 1;
    const pair: Pair = {
      client,
      upstream: connect({ port: target, host: '127.0.0.1', allowHalfOpen: true }),
      held: [],
      stranded: false,
    };
    pairs.add(pair);
    forward(pair, pair.client, pair.upstream);
    forward(pair, pair.upstream, pair.client);
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;

  const cut = (): void => {
    for (const { client, upstream } of pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
    pairs.clear();
  };
  const refuse = (): Promise<void> => {
    // close() stops listening at once; its callback waits for the connections, so it is not waited for.
    if (server.listening) server.close();
    return Promise.resolve();
  };

  return {
    port,
    freeze: () => {
      frozen = true;
    },
    thaw: () => {
      frozen = false;
      for (const pair of pairs) if (!pair.stranded) for (const run of pair.held.splice(0)) run();
    },
    strand: () => {
      for (const pair of pairs) pair.stranded = true;
    },
    cut,
    refuse,
    accept: async () => {
      if (!server.listening) await listen(server, port);
    },
    delay: ms => {
      wait = ms;
    },
    connections: () => pairs.size,
    accepted: () => accepted,
    bytes: () => bytes,
    close: async () => {
      await refuse();
      for (const timer of timers) clearTimeout(timer);
      cut();
    },
  };
};

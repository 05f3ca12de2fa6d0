import type { AddressInfo, Server, Socket } from 'node:net';

export interface ListenAddress {
  /** Undefined = all interfaces, IPv4 and IPv6. */
  readonly host: string | undefined;
  readonly port: number;
}

/** A listener could not be opened; the message names the setting, the address and a way out. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** As in Go, the unspecified address of either family means all interfaces of both. */
const hostOf = (host: string): string | undefined => (['', '0.0.0.0', '::'].includes(host) ? undefined : host);

/** Reads `host:port`, `[v6]:port` or `:port`. Throws a ListenError that names the setting. */
export const parseListenAddress = (setting: string, address: string): ListenAddress => {
  const match = /^(?:\[([0-9a-f:.%]+)\]|([^:[\]]*)):(\d{1,5})$/i.exec(address);
  const port = Number(match?.[3] ?? Number.NaN);
  if (match === null || port > 65_535) {
    throw new ListenError(
      `${setting}: "${address}" is no listen address, host:port is expected, such as ":8233" or "127.0.0.1:8233"`,
      'EINVAL',
    );
  }
  return { host: hostOf(match[1] ?? match[2] ?? ''), port };
};

/** The listen address of a host and a port that are set separately. */
export const listenAddress = (host: string, port: number): ListenAddress => ({
  host: hostOf(host.replace(/^\[(.*)\]$/, '$1')),
  port,
});

const show = ({ host, port }: ListenAddress): string =>
  host === undefined ? `:${port}` : `${host.includes(':') ? `[${host}]` : host}:${port}`;

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process has this port',
  EACCES: 'this process may not use this port',
  EADDRNOTAVAIL: 'this machine does not have this address',
};

export interface Listener {
  readonly port: number;
  /** Ends at once: connections in use are cut. */
  close(): Promise<void>;
}

/**
 * Opens `server` on an address. Failure is a ListenError in words of `setting` (BUG-083: on the host network the ports
 * are shared with every other program), with `remedy` as the way out.
 */
export const listen = async (
  server: Server,
  address: ListenAddress,
  setting: string,
  remedy: string,
): Promise<Listener> => {
  // HTTP's own closeAllConnections misses sockets whose TLS handshake is not done.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    const failed = (err: NodeJS.ErrnoException) => {
      const code = err.code ?? 'unknown error';
      const reason = reasons[code] ?? 'the system refused';
      reject(new ListenError(`${setting}: cannot listen on ${show(address)}, ${reason} (${code}); ${remedy}`, code));
    };
    server.once('error', failed);
    const { host, port } = address;
    server.listen(host === undefined ? { port } : { host, port }, () => {
      server.off('error', failed);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
};

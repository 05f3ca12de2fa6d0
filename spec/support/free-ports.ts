import { type AddressInfo, createServer } from 'node:net';

/** Ports of 127.0.0.1 that nobody uses at this moment. */
export const freePorts = async (count: number): Promise<number[]> => {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      server =>
        new Promise<number>(resolve =>
          server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
        ),
    ),
  );
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))));
  return ports;
};

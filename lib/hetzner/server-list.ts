import type { Server } from './types.ts';

/** One answered list of all servers of the project, with look-ups. */
export interface ServerList {
  /** Monotonic ms; the list speaks for this instant at the earliest. */
  readonly requestedAt: number;
  readonly servers: readonly Server[];
  byID(id: number): Server | undefined;
  /** Names are unique in a project. */
  byName(name: string): Server | undefined;
  /** The server with this own address in the network; alias addresses don't count. */
  byPrivateIP(networkID: number, ip: string): Server | undefined;
}

/** The look-up of a machine, which is all that much needs of a list. */
export type ServerLookup = Pick<ServerList, 'byID'>;

/** Of a list that nobody has asked for. */
export const noServers: ServerLookup = { byID: () => undefined };

export const createServerList = (servers: readonly Server[], requestedAt: number): ServerList => {
  const ids = new Map(servers.map(server => [server.id, server]));
  const names = new Map(servers.map(server => [server.name, server]));
  let addresses: Map<string, Server> | undefined;
  const byAddress = (): Map<string, Server> => {
    addresses ??= new Map(
      servers.flatMap(server => server.privateNets.map(({ network, ip }) => [`${network} ${ip}`, server] as const)),
    );
    return addresses;
  };
  return {
    requestedAt,
    servers,
    byID: id => ids.get(id),
    byName: name => names.get(name),
    byPrivateIP: (networkID, ip) => byAddress().get(`${networkID} ${ip}`),
  };
};

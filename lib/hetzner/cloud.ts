import { decodeAction, decodeNetwork, decodeServer } from './decode.ts';
import { pageSize } from './paging.ts';
import { createResourceCalls } from './resource-calls.ts';
import type { Call } from './retry.ts';
import type { Action, CallOptions, Network, Route, Server } from './types.ts';

/** Hetzner Cloud, as far as it is used. Everything rejects with a HetznerError or the signal's reason. */
export interface Cloud {
  /** All servers of the project, or an error; never a part of them. */
  listServers(o: CallOptions): Promise<readonly Server[]>;
  /** False only when Hetzner says that there is no such server. */
  hasServer(id: number, o: CallOptions): Promise<boolean>;
  /** All networks of the project, or an error; never a part of them. */
  listNetworks(o: CallOptions): Promise<readonly Network[]>;
  /** A network by its numeric id, or else by its name. Undefined when Hetzner says there is none. */
  findNetwork(idOrName: string, o: CallOptions): Promise<Network | undefined>;
  getNetwork(id: number, o: CallOptions): Promise<Network | undefined>;
  addRoute(networkID: number, route: Route, o: CallOptions): Promise<Action>;
  deleteRoute(networkID: number, route: Route, o: CallOptions): Promise<Action>;
  /** The present state of actions; what Hetzner does not know is missing. No request for no ids. */
  getActions(ids: readonly number[], o: CallOptions): Promise<readonly Action[]>;
}

export const createCloud = ({ call }: { readonly call: Call }): Cloud => {
  const { list, get, act } = createResourceCalls(call);

  const getNetwork = (id: number, o: CallOptions): Promise<Network | undefined> =>
    get(`/networks/${id}`, 'network', decodeNetwork, o);

  const changeRoute =
    (verb: 'add_route' | 'delete_route') =>
    (networkID: number, { destination, gateway }: Route, o: CallOptions): Promise<Action> =>
      act(`/networks/${networkID}/actions/${verb}`, { destination, gateway }, o);

  return {
    listServers: o => list('/servers', 'servers', [['sort', 'id:asc']], decodeServer, o),
    hasServer: async (id, o) => (await get(`/servers/${id}`, 'server', decodeServer, o)) !== undefined,
    listNetworks: o => list('/networks', 'networks', [['sort', 'id:asc']], decodeNetwork, o),
    getNetwork,
    findNetwork: async (idOrName, o) => {
      const id = /^[1-9]\d{0,15}$/.test(idOrName) ? Number(idOrName) : undefined;
      const network = id === undefined ? undefined : await getNetwork(id, o);
      if (network !== undefined) return network;
      const found = await list('/networks', 'networks', [['name', idOrName]], decodeNetwork, o);
      return found.find(({ name }) => name === idOrName);
    },
    addRoute: changeRoute('add_route'),
    deleteRoute: changeRoute('delete_route'),
    getActions: async (ids, o) => {
      const actions: Action[] = [];
      for (let from = 0; from < ids.length; from += pageSize) {
        const query = ids.slice(from, from + pageSize).map(id => ['id', `${id}`] as const);
        actions.push(...(await list('/actions', 'actions', query, decodeAction, o)));
      }
      return actions;
    },
  };
};

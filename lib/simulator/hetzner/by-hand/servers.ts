import type { PrivateNet, Server } from '../../../hetzner/types.ts';
import { isShown, type NetworkRecord, type ServerRecord } from '../records.ts';
import {
  addServer,
  attachmentTo,
  dropAttachment,
  freeServerName,
  promiseAliases,
  promiseAttachment,
  removeServer,
} from '../server-state.ts';
import { timestamp } from '../views.ts';
import type { World } from '../world.ts';

/** Servers as specs and the demo change them: at once, without an action and without a request. */

export interface ServerByHand {
  readonly id?: number;
  readonly name: string;
  /** Default cx23. */
  readonly type?: string;
  /** Default fsn1. */
  readonly location?: string;
  /** null: none. Default: the next free one. */
  readonly ipv4?: string | null;
  /** The /64 in CIDR notation; null: none. Default: the next free one. */
  readonly ipv6?: string | null;
  /** Attached to this network from the start. */
  readonly network?: number;
  readonly ip?: string;
  readonly aliasIPs?: readonly string[];
  /** Default running. */
  readonly status?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly protected?: boolean;
}

/** A server with what is not on the controller's list. */
export interface SeenServer extends Server {
  readonly labels: Readonly<Record<string, string>>;
  /** RFC 3339. */
  readonly created: string;
}

/** All throw an Error that says what is wrong, such as an unknown id or a taken address. */
export interface ServersByHand {
  create(server: ServerByHand): SeenServer;
  remove(id: number): void;
  rename(id: number, name: string): void;
  setStatus(id: number, status: string): void;
  setLabels(id: number, labels: Readonly<Record<string, string>>): void;
  /** undefined leaves an address as it is, null removes it. */
  setPublicIPs(id: number, addresses: { ipv4?: string | null; ipv6?: string | null }): void;
  attach(id: number, network: number, wish?: { ip?: string; aliasIPs?: readonly string[] }): PrivateNet;
  detach(id: number, network: number): void;
  setAliasIPs(id: number, network: number, aliasIPs: readonly string[]): void;
  get(id: number): SeenServer | undefined;
  byName(name: string): SeenServer | undefined;
  list(): SeenServer[];
}

function seen(server: ServerRecord): SeenServer {
  return {
    id: server.id,
    name: server.name,
    status: server.status,
    type: server.type.name,
    location: server.location.name,
    ipv4: server.ipv4?.ip,
    ipv6: server.ipv6?.ip.replace(/\/\d+$/, '1'),
    privateNets: server.attachments
      .filter(isShown)
      .map(({ network, ip, aliasIPs }) => ({ network, ip, aliasIPs: [...aliasIPs] })),
    labels: server.labels,
    created: timestamp(server.created),
  };
}

export function serversByHand(world: World): ServersByHand {
  const known = (id: number): ServerRecord => {
    world.settle();
    const server = world.servers.get(id);
    if (server === undefined)
      throw new Error(`no server ${id}; there are ${[...world.servers.keys()].join(', ') || 'none'}`);
    return server;
  };
  const knownNetwork = (id: number): NetworkRecord => {
    const network = world.networks.get(id);
    if (network === undefined)
      throw new Error(`no network ${id}; there are ${[...world.networks.keys()].join(', ') || 'none'}`);
    return network;
  };
  const attach: ServersByHand['attach'] = (id, network, wish = {}) => {
    const attachment = promiseAttachment(world, known(id), knownNetwork(network), wish);
    attachment.phase = 'present';
    return attachment;
  };
  const remove: ServersByHand['remove'] = id => removeServer(world, known(id));

  return {
    create(wish) {
      const at = world.settle();
      const server = addServer(world, at, {
        id: wish.id,
        name: wish.name,
        type: wish.type ?? 'cx23',
        location: wish.location ?? 'fsn1',
        status: wish.status ?? 'running',
        ipv4: wish.ipv4 === undefined ? true : (wish.ipv4 ?? false),
        ipv6: wish.ipv6 === undefined ? true : (wish.ipv6 ?? false),
        labels: { ...wish.labels },
      });
      server.protected = wish.protected ?? false;
      try {
        if (wish.network !== undefined) attach(server.id, wish.network, wish);
      } catch (problem) {
        remove(server.id);
        throw problem;
      }
      return seen(server);
    },
    remove,
    rename(id, name) {
      const server = known(id);
      server.name = freeServerName(world, name, server);
    },
    setStatus(id, status) {
      known(id).status = status;
    },
    setLabels(id, labels) {
      known(id).labels = { ...labels };
    },
    setPublicIPs(id, { ipv4, ipv6 }) {
      const server = known(id);
      const changed = (ip: string | null): ServerRecord['ipv4'] =>
        ip === null ? undefined : { id: world.mintId('primary_ip'), ip };
      if (ipv4 !== undefined) server.ipv4 = changed(ipv4);
      if (ipv6 !== undefined) server.ipv6 = changed(ipv6);
    },
    attach,
    detach(id, network) {
      const server = known(id);
      dropAttachment(world, server, attachmentTo(server, network));
    },
    setAliasIPs(id, network, aliasIPs) {
      const server = known(id);
      promiseAliases(world, server, attachmentTo(server, network), aliasIPs).commit();
    },
    get(id) {
      world.settle();
      const server = world.servers.get(id);
      return server && seen(server);
    },
    byName(name) {
      world.settle();
      const server = world.servers.values().find(one => one.name === name);
      return server && seen(server);
    },
    list() {
      world.settle();
      return [...world.servers.values()].map(seen);
    },
  };
}

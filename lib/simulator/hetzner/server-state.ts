import { knownCidr, overlaps } from './addresses.ts';
import { locations } from './catalogue/locations.ts';
import { serverTypes } from './catalogue/server-types.ts';
import { type AddressWish, addAliases, admit, expel } from './ipam.ts';
import { forgetPrivateServer, forgetServer } from './lb-upkeep.ts';
import { ApiProblem, invalidInput, nameTaken, notFound, overLimit } from './problem.ts';
import type { Attachment, Holder, NetworkRecord, ServerRecord } from './records.ts';
import type { World } from './world.ts';

/** Changes of servers that the API and the scripting have in common. */

/** Networks of one server (well known, not documented). */
const maxNetworks = 3;

const hostname = /^[A-Za-z0-9](?:[-A-Za-z0-9]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[-A-Za-z0-9]{0,61}[A-Za-z0-9])?)*$/;

export const holderOf = (server: ServerRecord): Holder => ({ type: 'server', id: server.id });

/** A name of RFC 1123 that no other server has. */
export function freeServerName(world: World, name: string, except?: ServerRecord): string {
  if (!hostname.test(name) || name.length > 253)
    throw invalidInput('name', 'Must be a valid hostname as per RFC 1123.');
  for (const other of world.servers.values())
    if (other.name === name && other !== except) throw nameTaken('server name is already used');
  return name;
}

/** An entry of a catalogue. Throws `not_found`. */
export const byIdOrName = <T extends { readonly id: number; readonly name: string }>(
  all: readonly T[],
  text: string,
  what: string,
): T => {
  const found = all.find(one => one.name === text || String(one.id) === text);
  if (found === undefined) throw notFound(what);
  return found;
};

export interface ServerWish {
  readonly id?: number | undefined;
  readonly name: string;
  readonly type: string;
  readonly location: string;
  readonly image?: string;
  readonly status: string;
  /** true: the next free address; false: none. */
  readonly ipv4: string | boolean;
  readonly ipv6: string | boolean;
  readonly labels: Record<string, string>;
}

/** Adds a server. Throws what `POST /servers` answers. */
export function addServer(world: World, at: number, wish: ServerWish): ServerRecord {
  const address = (wanted: string | boolean, mint: () => string): ServerRecord['ipv4'] => {
    if (wanted === false) return undefined;
    return { id: world.mintId('primary_ip'), ip: wanted === true ? mint() : wanted };
  };
  const name = freeServerName(world, wish.name);
  const type = byIdOrName(serverTypes, wish.type, 'server type');
  const location = byIdOrName(locations, wish.location, 'location');
  const server: ServerRecord = {
    id: world.mintId('server', wish.id),
    name,
    created: at,
    status: wish.status,
    type,
    location,
    image: wish.image ?? 'ubuntu-24.04',
    ipv4: address(wish.ipv4, world.mintIPv4),
    ipv6: address(wish.ipv6, world.mintIPv6),
    attachments: [],
    labels: wish.labels,
    protected: false,
  };
  world.servers.set(server.id, server);
  return server;
}

/** Removes a server and frees its addresses. */
export function removeServer(world: World, server: ServerRecord): void {
  for (const network of world.networks.values()) expel(network, holderOf(server));
  server.attachments = [];
  world.servers.delete(server.id);
  forgetServer(world, server.id);
}

/** Promises the server its addresses in the network. The attachment is shown once its phase says so. */
export function promiseAttachment(
  world: World,
  server: ServerRecord,
  network: NetworkRecord,
  wish: AddressWish,
): Attachment {
  if (server.attachments.some(one => one.network === network.id))
    throw new ApiProblem(422, 'server_already_attached', 'server is already attached to this network');
  if (server.attachments.length >= maxNetworks)
    throw overLimit('server_networks', 'network limit of the server exceeded');
  const range = knownCidr(network.ipRange);
  for (const { network: id } of server.attachments) {
    const other = world.networks.get(id);
    if (other !== undefined && overlaps(range, knownCidr(other.ipRange)))
      throw new ApiProblem(422, 'networks_overlap', 'network ip range overlaps with another network of the server');
  }
  const ip = admit(network, holderOf(server), server.location.network_zone, wish);
  const attachment: Attachment = {
    network: network.id,
    ip,
    aliasIPs: [...(wish.aliasIPs ?? [])],
    mac: world.mintMac(),
    phase: 'arriving',
  };
  server.attachments.push(attachment);
  return attachment;
}

/** Ends an attachment, or takes back the promise of one. */
export function dropAttachment(world: World, server: ServerRecord, attachment: Attachment): void {
  const network = world.networks.get(attachment.network);
  if (network !== undefined) expel(network, holderOf(server));
  server.attachments = server.attachments.filter(one => one !== attachment);
  forgetPrivateServer(world, server.id, attachment.network);
}

/** The attachment of the server to the network. Throws `not_found`. */
export function attachmentTo(server: ServerRecord, networkId: number): Attachment {
  const found = server.attachments.find(one => one.network === networkId && one.phase === 'present');
  if (found === undefined) throw notFound('attachment to the network');
  return found;
}

/**
 * Replaces the aliases of an attachment: new ones are promised now; `commit` shows them and frees the old ones,
 * `revoke` takes the promise back.
 */
export function promiseAliases(
  world: World,
  server: ServerRecord,
  attachment: Attachment,
  aliasIPs: readonly string[],
): { commit: () => void; revoke: () => void } {
  const network = world.networks.get(attachment.network);
  const added = aliasIPs.filter(ip => !attachment.aliasIPs.includes(ip));
  const gone = attachment.aliasIPs.filter(ip => !aliasIPs.includes(ip));
  const kept = attachment.aliasIPs.length - gone.length;
  if (network !== undefined) addAliases(network, holderOf(server), server.location.network_zone, added, kept);
  const free = (ips: readonly string[]): void => {
    for (const ip of ips) network?.ledger.delete(ip);
  };
  return {
    commit: () => {
      free(gone);
      attachment.aliasIPs = [...aliasIPs];
    },
    revoke: () => free(added),
  };
}

/** Whether the API lists the server as a member of the network. */
export const isAttached = (world: World, networkId: number, serverId: number): boolean =>
  world.servers.get(serverId)?.attachments.some(one => one.network === networkId && one.phase !== 'arriving') ?? false;

import { isIP } from 'node:net';
import { isRecord } from './errors.ts';
import { firstAddress } from './first-address.ts';
import type { Action, Network, PrivateNet, Route, Server } from './types.ts';

/** An answer lacks what nothing can be done without. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** Fields of a Server that are read; throws a DecodeError when it has no id or name. */
export const decodeServer = (json: unknown): Server => {
  const server = identified('server', json);
  const publicNet = recordOf(server.fields.public_net);
  return {
    id: server.id,
    name: server.name,
    status: textOf(server.fields.status) ?? 'unknown',
    type: textOf(recordOf(server.fields.server_type).name) ?? '',
    location: textOf(recordOf(server.fields.location).name) ?? '',
    ipv4: addressOf(recordOf(publicNet.ipv4).ip),
    ipv6: firstAddress(textOf(recordOf(publicNet.ipv6).ip) ?? ''),
    privateNets: arrayOf(server.fields.private_net).flatMap(decodePrivateNet),
  };
};

const decodePrivateNet = (json: unknown): PrivateNet[] => {
  const { network, ip, alias_ips } = recordOf(json);
  const address = addressOf(ip);
  // While a server is being attached its address can still be missing: then it is not there yet.
  if (!isID(network) || address === undefined) return [];
  return [{ network, ip: address, aliasIPs: arrayOf(alias_ips).flatMap(alias => addressOf(alias) ?? []) }];
};

/** Fields of a Network that are read; throws a DecodeError when it has no id or name, or its routes are unreadable. */
export const decodeNetwork = (json: unknown): Network => {
  const network = identified('network', json);
  const { routes } = network.fields;
  // Absent routes must not be taken for none: they would all be written again.
  if (!Array.isArray(routes)) throw new DecodeError(`network ${network.id} has no list of routes`);
  return {
    id: network.id,
    name: network.name,
    ipRange: textOf(network.fields.ip_range) ?? '',
    routes: routes.map((route): Route => {
      const destination = textOf(recordOf(route).destination);
      const gateway = textOf(recordOf(route).gateway);
      if (destination === undefined || gateway === undefined) {
        throw new DecodeError(`network ${network.id} has a route without destination or gateway`);
      }
      return { destination, gateway };
    }),
    servers: arrayOf(network.fields.servers).filter(isID),
  };
};

/** Throws a DecodeError when it has no id. A state that is not known counts as running. */
export const decodeAction = (json: unknown): Action => {
  const { id, command, status, error, started, finished } = recordOf(json);
  if (!isID(id)) throw new DecodeError('action has no id');
  const ended = status === 'success' || status === 'error';
  const took = Date.parse(textOf(finished) ?? '') - Date.parse(textOf(started) ?? '');
  return {
    id,
    command: textOf(command) ?? '',
    status: ended ? status : 'running',
    // The docs' samples carry an error on successes as well.
    error:
      status === 'error'
        ? {
            code: textOf(recordOf(error).code) ?? 'action_failed',
            message: textOf(recordOf(error).message) ?? 'Action failed',
          }
        : undefined,
    ...(ended && took >= 0 ? { took } : {}),
  };
};

/** Id, name and all fields of an entity; throws a DecodeError when it lacks one of the first two. */
export const identified = (kind: string, json: unknown) => {
  const fields = recordOf(json);
  const { id, name } = fields;
  if (!isID(id)) throw new DecodeError(`${kind} has no numeric id`);
  if (typeof name !== 'string' || name === '') throw new DecodeError(`${kind} ${id} has no name`);
  return { id, name, fields };
};

export const isID = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
export const recordOf = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});
export const arrayOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const addressOf = (value: unknown): string | undefined => {
  const text = textOf(value);
  return text !== undefined && isIP(text) !== 0 ? text : undefined;
};

import { isIP } from 'node:net';
import { DecodeError } from './decode.ts';
import { isRecord } from './errors.ts';
import { firstAddress } from './first-address.ts';

/** The parts of a dedicated server that are read. */
export interface RobotServer {
  readonly number: number;
  /** May be empty, and other servers may have the same. */
  readonly name: string;
  /** Such as `AX41-NVMe` or `Server Auction`; empty when absent. */
  readonly product: string;
  /** Data centre such as `FSN1-DC14`; empty when absent. */
  readonly dc: string;
  /** Main IPv4 address, if the server has one. */
  readonly ipv4: string | undefined;
  /** First host address (…::1) of the IPv6 subnet, if the server has one. */
  readonly ipv6: string | undefined;
}

/** One answered list of all servers of the account, with look-ups. */
export interface RobotServerList {
  /** Monotonic ms; the list speaks for this instant at the earliest. */
  readonly requestedAt: number;
  readonly servers: readonly RobotServer[];
  byNumber(number: number): RobotServer | undefined;
  /** All of that name, as Robot does not keep names unique: of more than one nobody can tell which is meant. */
  byName(name: string): readonly RobotServer[];
}

export const createRobotServerList = (servers: readonly RobotServer[], requestedAt: number): RobotServerList => {
  const numbers = new Map(servers.map(server => [server.number, server]));
  const names = Map.groupBy(servers, server => server.name);
  return {
    requestedAt,
    servers,
    byNumber: number => numbers.get(number),
    byName: name => names.get(name) ?? [],
  };
};

/** Reads the bare array of wrapped servers; throws a DecodeError when it is none, or a server has no number. */
export const decodeRobotServers = (json: unknown): readonly RobotServer[] => {
  // An object, such as an error in an answer of status 200, must not be taken for an empty list.
  if (!Array.isArray(json)) throw new DecodeError('answer has no list of servers');
  return json.map(entry => decodeRobotServer(isRecord(entry) ? entry.server : undefined));
};

const decodeRobotServer = (json: unknown): RobotServer => {
  const fields = isRecord(json) ? json : {};
  const { server_number: number, server_ip, server_ipv6_net } = fields;
  if (!Number.isSafeInteger(number) || Number(number) <= 0) throw new DecodeError('server has no number');
  const ip = textOf(server_ip);
  return {
    number: Number(number),
    name: textOf(fields.server_name),
    product: textOf(fields.product),
    dc: textOf(fields.dc),
    ipv4: isIP(ip) === 4 ? ip : undefined,
    ipv6: firstAddress(textOf(server_ipv6_net)),
  };
};

/** The operating status of a reset answer; empty when the server does not tell. Throws a DecodeError for no reset answer. */
export const decodeOperatingStatus = (json: unknown): string => {
  const reset = isRecord(json) ? json.reset : undefined;
  if (!isRecord(reset)) throw new DecodeError('answer has no reset');
  return textOf(reset.operating_status);
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

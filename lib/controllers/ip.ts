import { isIP, SocketAddress } from 'node:net';

/**
 * IP arithmetic on text. Total: bad input gives undefined, never an exception.
 * CIDRs are IPv4 only, since private networks of Hetzner have no IPv6.
 */

/** An IPv4 CIDR as numbers: `first` and `last` address of the block. */
export interface Block {
  readonly first: number;
  readonly last: number;
  readonly prefix: number;
}

const ipv4Number = (text: string): number | undefined => {
  if (isIP(text) !== 4) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number);
  return ((a * 256 + b) * 256 + c) * 256 + d;
};

const ipv4Text = (n: number): string =>
  [n / 2 ** 24, n / 2 ** 16, n / 2 ** 8, n].map(part => Math.floor(part) % 256).join('.');

/** Reads `a.b.c.d/n`; undefined for anything else, IPv6 included. Host bits are cut off. */
export function parseIPv4CIDR(text: string): Block | undefined {
  const slash = text.indexOf('/');
  const address = ipv4Number(text.slice(0, slash));
  const digits = text.slice(slash + 1);
  if (slash < 0 || address === undefined || !/^\d{1,2}$/.test(digits)) return undefined;
  const prefix = Number(digits);
  if (prefix > 32) return undefined;
  const size = 2 ** (32 - prefix);
  const first = Math.floor(address / size) * size;
  return { first, last: first + size - 1, prefix };
}

/** The canonical text of a block. */
export const blockText = ({ first, prefix }: Block): string => `${ipv4Text(first)}/${prefix}`;

/** The canonical text of an IPv4 CIDR (host bits cut off); undefined when it is none. */
export function canonicalIPv4CIDR(text: string): string | undefined {
  const block = parseIPv4CIDR(text);
  return block && blockText(block);
}

/** True when the text is the block in canonical spelling: no host bits, no other way to write it. */
export const sameText = (block: Block, text: string): boolean => text === blockText(block);

/** True when the blocks have an address in common. */
export const overlaps = (one: Block, other: Block): boolean => one.first <= other.last && other.first <= one.last;

/** True when all of `inner` lies in `outer`. */
export const contains = (outer: Block, inner: Block): boolean => outer.first <= inner.first && inner.last <= outer.last;

/** Canonical text of an IP address of either family, so that two spellings compare equal; undefined when it is none. */
export function canonicalIP(text: string): string | undefined {
  const family = isIP(text);
  if (family === 4) return text;
  if (family !== 6 || text.includes('%')) return undefined;
  return new SocketAddress({ family: 'ipv6', address: text }).address;
}

/** True for 0.0.0.0 and ::, which stand for a family rather than for an address. */
export const isUnspecified = (text: string): boolean => {
  const address = canonicalIP(text);
  return address === '0.0.0.0' || address === '::';
};

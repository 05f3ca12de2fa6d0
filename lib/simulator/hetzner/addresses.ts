/** IPv4 arithmetic of the fake. Its own, so that it can contradict the controller's. */

/** An IPv4 prefix; `first` and `last` are its lowest and highest address as unsigned 32-bit numbers. */
export interface Cidr {
  readonly first: number;
  readonly last: number;
  readonly prefix: number;
}

/** Address as an unsigned number, or undefined when it is not dotted decimal without leading zeros. */
export function parseIPv4(text: string): number | undefined {
  if (!/^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})$/.test(text)) return undefined;
  const parts = text.split('.').map(Number);
  return parts.some(part => part > 255) ? undefined : parts.reduce((sum, part) => sum * 256 + part, 0);
}

export const formatIPv4 = (value: number): string =>
  [24, 16, 8, 0].map(shift => Math.floor(value / 2 ** shift) % 256).join('.');

/** Prefix in canonical form, or undefined: host bits must be zero. */
export function parseCidr(text: string): Cidr | undefined {
  const found = /^([\d.]+)\/(0|[1-9]\d?)$/.exec(text);
  const first = parseIPv4(found?.[1] ?? '');
  const prefix = Number(found?.[2]);
  if (first === undefined || prefix > 32) return undefined;
  const size = 2 ** (32 - prefix);
  return first % size === 0 ? { first, last: first + size - 1, prefix } : undefined;
}

export const formatCidr = (cidr: Cidr): string => `${formatIPv4(cidr.first)}/${cidr.prefix}`;

export const contains = (outer: Cidr, inner: Cidr): boolean => outer.first <= inner.first && inner.last <= outer.last;

export const includes = (cidr: Cidr, address: number): boolean => cidr.first <= address && address <= cidr.last;

export const overlaps = (one: Cidr, other: Cidr): boolean => one.first <= other.last && other.first <= one.last;

/** Parses a prefix that was validated before it was stored. */
export function knownCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new Error(`not an IPv4 prefix in canonical form: ${text}`);
  return cidr;
}

const privateRanges = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'].map(knownCidr);

/** Whether the prefix lies inside one of the ranges of RFC 1918. */
export const isPrivate = (cidr: Cidr): boolean => privateRanges.some(range => contains(range, cidr));

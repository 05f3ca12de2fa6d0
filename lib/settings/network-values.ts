import { isIP, isIPv4, isIPv6 } from 'node:net';
import type { Parsed } from './go-values.ts';

const hostName = /^[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?$/;

/** IPv4 or IPv6 address without zone. */
export function parseIPAddress(text: string): Parsed<string> {
  if (isIP(text) !== 0 && !text.includes('%')) return { value: text };
  return { allowed: 'must be an IPv4 or IPv6 address' };
}

/** 4 or 6 for a valid CIDR, undefined for anything else. Host bits may be set, as Go's net.ParseCIDR allows. */
export function familyOfCIDR(text: string): 4 | 6 | undefined {
  const [address = '', prefix = '', ...rest] = text.split('/');
  if (rest.length > 0 || !/^(?:0|[1-9]\d{0,2})$/.test(prefix) || address.includes('%')) return undefined;
  if (isIPv4(address)) return Number(prefix) <= 32 ? 4 : undefined;
  if (isIPv6(address)) return Number(prefix) <= 128 ? 6 : undefined;
  return undefined;
}

/** One CIDR, as written. */
export function parseCIDR(text: string): Parsed<string> {
  if (familyOfCIDR(text) !== undefined) return { value: text };
  return { allowed: 'must be a CIDR such as 10.0.0.0/16 or fd00:1::/48' };
}

/** One CIDR, or one of each family separated by a comma (dual-stack), as written. The rule is that of the upstream route controller. */
export function parseClusterCIDRs(text: string): Parsed<readonly string[]> {
  const value = text.split(',').map(part => part.trim());
  const families = value.map(familyOfCIDR);
  const valid = !families.includes(undefined) && families.length <= 2 && new Set(families).size === families.length;
  return valid ? { value } : { allowed: 'must be one CIDR, or one IPv4 and one IPv6 CIDR separated by a comma' };
}

/** What is cut off and searched later needs time by the square of it. */
const longestURL = 2_048;

/** Absolute http(s) URL without credentials, query and fragment; trailing slashes are removed. */
export function parseBaseURL(text: string): Parsed<string> {
  const allowed = 'must be a URL such as https://example.com/v1, without user name, password, query and fragment';
  if (text.length > longestURL || !/^https?:\/\/[^\s?#@]+$/i.test(text) || !URL.canParse(text)) return { allowed };
  return { value: text.replace(/\/+$/, '') };
}

/** Listen address host:port; the host may be empty (all interfaces), a name, an IPv4 address or a bracketed IPv6 address. */
export function parseHostPort(text: string): Parsed<string> {
  const [, bracketed, bare = '', port = ''] = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? bare;
  const validHost =
    bracketed !== undefined
      ? isIPv6(host) && !host.includes('%')
      : host === '' || isIPv4(host) || (hostName.test(host) && !/^[\d.]+$/.test(host));
  if (port !== '' && Number(port) <= 65_535 && validHost) return { value: text };
  return { allowed: 'must be host:port such as :8233, 127.0.0.1:9000 or [::1]:9000' };
}

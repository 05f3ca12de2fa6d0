import { parseLabelSelector } from '../kubernetes/label-selector.ts';
import { type ControllerList, parseControllerList } from './controller-list.ts';
import { type Parsed, parseBoolean, parseDuration, parseInteger } from './go-values.ts';
import { parseNamePattern } from './name-pattern.ts';
import { type NetworkGateway, parseNetworkGateways } from './network-gateways.ts';
import { type NetworkPodCIDR, parseNetworkPodCIDRs } from './network-pod-cidrs.ts';
import { parseBaseURL, parseCIDR, parseClusterCIDRs, parseHostPort, parseIPAddress } from './network-values.ts';
import type { ValueType } from './setting.ts';

export const boolean: ValueType<boolean> = { name: 'boolean', parse: parseBoolean, empty: 'refused', bare: 'true' };

export const text: ValueType<string> = { name: 'text', parse: value => ({ value }), empty: 'unset' };

/** Name of an object in Kubernetes, such as a Lease. */
export const objectName: ValueType<string> = {
  name: 'text',
  parse: value =>
    value.length <= 253 && /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(value)
      ? { value }
      : { allowed: 'must be small letters, digits, - and ., with a letter or digit at both ends, at most 253' },
  empty: 'unset',
};

/** Travels in an HTTP header, so only what a header can carry. */
export const token: ValueType<string> = {
  name: 'text',
  parse: value =>
    /^[\x21-\x7e]+$/.test(value) ? { value } : { allowed: 'must consist of ASCII characters without white space' },
  empty: 'unset',
};

const checkedDuration = (text: string, positive: boolean): Parsed<number> => {
  const parsed = parseDuration(text);
  if ('allowed' in parsed || parsed.value > 0 || (parsed.value === 0 && !positive)) return parsed;
  return { allowed: positive ? 'must be a duration above 0' : 'must be a duration that is not negative' };
};

/** ms, above 0. */
export const period: ValueType<number> = {
  name: 'duration',
  parse: value => checkedDuration(value, true),
  empty: 'refused',
};

/** ms, 0 allowed. */
export const age: ValueType<number> = { ...period, parse: value => checkedDuration(value, false) };

/** ms; 0 and empty mean "not set", as in the peer. */
export const optionalDuration: ValueType<number> = {
  name: 'duration',
  parse: value => {
    const parsed = checkedDuration(value, false);
    return 'value' in parsed && parsed.value === 0 ? { value: undefined } : parsed;
  },
  empty: 'unset',
};

/** Integer within bounds (inclusive). */
export const integer = (min: number, max: number = Number.MAX_SAFE_INTEGER): ValueType<number> => ({
  name: 'integer',
  parse: value => parseInteger(value, min, max),
  empty: 'refused',
});

export const port = integer(0, 65_535);

/** One of a few words; capitals do not matter and are stored small. */
export const oneOf = <const W extends string>(words: readonly W[], empty: 'unset' | 'refused'): ValueType<W> => ({
  name: words.join(' | '),
  parse: text => {
    const value = words.find(word => word === text.toLowerCase());
    return value === undefined ? { allowed: `must be one of ${words.join(', ')}` } : { value };
  },
  empty,
});

export const baseURL: ValueType<string> = { name: 'URL', parse: parseBaseURL, empty: 'unset' };
export const cidr: ValueType<string> = { name: 'CIDR', parse: parseCIDR, empty: 'unset' };
export const clusterCIDRs: ValueType<readonly string[]> = {
  name: 'one or two CIDRs',
  parse: parseClusterCIDRs,
  empty: 'unset',
};
export const networkPodCIDRs: ValueType<readonly NetworkPodCIDR[]> = {
  name: 'network=CIDR list',
  parse: parseNetworkPodCIDRs,
  empty: 'unset',
};
export const networkGateways: ValueType<readonly NetworkGateway[]> = {
  name: 'network/neighbour=address list',
  parse: parseNetworkGateways,
  empty: 'unset',
};
export const hostPort: ValueType<string> = { name: 'host:port', parse: parseHostPort, empty: 'unset' };
export const ipAddress: ValueType<string> = { name: 'IP address', parse: parseIPAddress, empty: 'unset' };
export const controllerList: ValueType<ControllerList> = {
  name: 'list',
  parse: parseControllerList,
  empty: 'refused',
  list: true,
};
export const labelSelector: ValueType<string> = {
  name: 'label selector',
  parse: value =>
    parseLabelSelector(value) === undefined
      ? { allowed: 'must be a label selector such as role=edge,zone in (a,b),!spot' }
      : { value },
  empty: 'unset',
};
export const namePattern: ValueType<string> = { name: 'regular expression', parse: parseNamePattern, empty: 'unset' };

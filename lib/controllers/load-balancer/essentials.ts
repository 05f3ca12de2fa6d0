import type { ServiceBody } from '../../hetzner/lb-types.ts';

/**
 * What of a listener traffic can't flow without, for when Hetzner refuses it as a whole because of an option: the way to
 * the targets, and a health check that finds them. Undefined when that is all of it, or nothing.
 */
export function essentialsOf(service: ServiceBody): ServiceBody | undefined {
  const { listenPort, protocol, destinationPort, proxyProtocol, healthCheck, http } = service;
  const check = pick({ protocol: healthCheck?.protocol, port: healthCheck?.port, http: healthCheck?.http });
  const essentials = {
    listenPort,
    ...pick({ protocol, destinationPort, proxyProtocol, healthCheck: check }),
    ...pick({ http: pick({ certificates: http?.certificates }) }),
  };
  const isSame = JSON.stringify(normal(essentials)) === JSON.stringify(normal(service));
  return isSame || Object.keys(essentials).length === 1 ? undefined : essentials;
}

/** Without what is undefined; undefined when nothing is left. */
const pick = <T extends object>(fields: T): T | undefined => {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as T);
};

/** With the keys in one order and without those that say nothing. */
const normal = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value)
    .filter(([, v]) => v !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, v]) => [key, normal(v)]));
};

import type { Server } from '../../hetzner/types.ts';
import type { KubeNode, NodeAddress } from '../../kubernetes/types.ts';
import type { AddressFamily } from '../../settings/settings.ts';
import { canonicalIP, isUnspecified } from '../ip.ts';

export interface AddressSettings {
  readonly family: AddressFamily;
  /** Network whose private addresses count as InternalIP; none = no InternalIP at all. */
  readonly networkID: number | undefined;
}

/**
 * Addresses of a Cloud server in the order Kubernetes clients rely on: Hostname, public IPv4 before public IPv6
 * (the API server dials the first ExternalIP), then private addresses, which are IPv4 whatever the family.
 */
export function serverAddresses(server: Server, settings: AddressSettings): NodeAddress[] {
  const { family, networkID } = settings;
  const addresses: NodeAddress[] = [{ type: 'Hostname', address: server.name }];
  if (family !== 'ipv6' && server.ipv4 !== undefined) addresses.push({ type: 'ExternalIP', address: server.ipv4 });
  if (family !== 'ipv4' && server.ipv6 !== undefined) addresses.push({ type: 'ExternalIP', address: server.ipv6 });
  for (const net of server.privateNets) {
    if (net.network === networkID) addresses.push({ type: 'InternalIP', address: net.ip });
  }
  return addresses;
}

/**
 * The node keeps the Hostname its kubelet registered with: what is resolved and logged by it must not change because
 * somebody renames the server.
 */
export function withHostname(
  addresses: readonly NodeAddress[],
  { name, addresses: present }: Pick<KubeNode, 'name' | 'addresses'>,
): readonly NodeAddress[] {
  const address = present.find(({ type }) => type === 'Hostname')?.address ?? name;
  return addresses.map(one => (one.type === 'Hostname' ? { ...one, address } : one));
}

/** Annotation in which kubelet announces --node-ip: one address, or one of each family. */
export const providedNodeIPAnnotation = 'alpha.kubernetes.io/provided-node-ip';

/** The addresses that kubelet announced. :: and 0.0.0.0 express a wish for a family, not an address, and are left out. */
export const announcedAddresses = ({ annotations }: Pick<KubeNode, 'annotations'>): string[] =>
  announcedIn(annotations[providedNodeIPAnnotation]);

const announcedIn = (annotation = ''): string[] =>
  annotation
    .split(',')
    .map(ip => ip.trim())
    .filter(ip => ip !== '' && !isUnspecified(ip));

/**
 * Applies what kubelet announced (k8s.io/cloud-provider, node helpers): each announced address must be among the
 * offered ones; it then becomes the only one of its type and comes first, addresses of other types follow.
 *
 * Returns the announced addresses that nobody offers as `missing`.
 */
export function preferProvided(
  offered: readonly NodeAddress[],
  annotation: string | undefined,
): { readonly addresses: readonly NodeAddress[] } | { readonly missing: readonly string[] } {
  const announced = announcedIn(annotation);
  if (announced.length === 0) return { addresses: offered };

  const matches = announced.map(ip => {
    const wanted = canonicalIP(ip);
    return offered.find(a => a.type !== 'Hostname' && wanted !== undefined && canonicalIP(a.address) === wanted);
  });
  const missing = announced.filter((_, i) => matches[i] === undefined);
  if (missing.length > 0) return { missing };

  const first = [...new Set(matches)].filter(a => a !== undefined);
  const types = new Set(first.map(a => a.type));
  return { addresses: [...first, ...offered.filter(a => !types.has(a.type))] };
}

/** Annotation by which users set the public IPv6 address of a node themselves, for Cloud and Robot servers. */
export const externalIPv6Annotation = 'instance.hetzner.cloud/external-ipv6';

/**
 * Applies that annotation: its address takes the place of the one derived from the server, or is added behind the other
 * public ones. It has no effect without IPv6 in the address family, or when it is no IPv6 address.
 */
export function withExternalIPv6(
  addresses: readonly NodeAddress[],
  annotation: string | undefined,
  family: AddressFamily,
): readonly NodeAddress[] {
  const wanted = canonicalIP((annotation ?? '').trim());
  if (wanted === undefined || !wanted.includes(':') || family === 'ipv4') return addresses;
  const address: NodeAddress = { type: 'ExternalIP', address: wanted };
  const derived = addresses.findIndex(a => a.type === 'ExternalIP' && a.address.includes(':'));
  const behind = addresses.findLastIndex(a => a.type === 'ExternalIP' || a.type === 'Hostname') + 1;
  return derived < 0 ? addresses.toSpliced(behind, 0, address) : addresses.with(derived, address);
}

/** True when both lists hold the same addresses in the same order. */
export const sameAddresses = (a: readonly NodeAddress[], b: readonly NodeAddress[]): boolean =>
  a.length === b.length && a.every((x, i) => x.type === b[i]?.type && x.address === b[i]?.address);

/** `type=address` list for logs and messages. */
export const addressesText = (addresses: readonly NodeAddress[]): string =>
  addresses.map(a => `${a.type}=${a.address}`).join(' ');

import { BlockList, isIPv6 } from 'node:net';
import { includes, isPrivate, knownCidr, parseIPv4 } from './addresses.ts';
import { parseLabelSelector } from './label-selector.ts';
import type { LoadBalancerRecord, ServerTargetRecord, ServiceRecord, TargetRecord } from './lb-records.ts';
import { isShown, type ServerRecord } from './records.ts';
import type { World } from './world.ts';

/** Who is behind a load balancer, and in what state. */

/** Whether the API shows the addresses: while a load balancer is being created it has none, or says so. */
export const hasAddresses = (world: World, lb: LoadBalancerRecord): boolean =>
  isShown(lb) || world.settings.addressesAtOnce;

/** Whether an address lies in the server's /64. */
export function isInSubnet(server: ServerRecord, ip: string): boolean {
  const [network, prefix] = server.ipv6?.ip.split('/') ?? [];
  if (network === undefined || !isIPv6(ip)) return false;
  const range = new BlockList();
  range.addSubnet(network, Number(prefix), 'ipv6');
  return range.check(ip, 'ipv6');
}

/** The server's own address in the network. */
export const privateIP = (server: ServerRecord, network: number | undefined): string | undefined =>
  server.attachments.find(one => one.network === network && isShown(one))?.ip;

export const isPrivateIP = (ip: string): boolean => {
  const address = parseIPv4(ip);
  return address !== undefined && isPrivate({ first: address, last: address, prefix: 32 });
};

/** Whether a subnet of the load balancer's network that couples a vSwitch holds the address. */
export const isBehindVSwitch = (world: World, lb: LoadBalancerRecord, ip: string): boolean =>
  world.networks
    .get(lb.attachment?.network ?? 0)
    ?.subnets.some(one => one.type === 'vswitch' && includes(knownCidr(one.ipRange), parseIPv4(ip) ?? -1)) ?? false;

/** Servers that a target stands for: itself, or what its selector selects and can be reached at all. */
export function serverTargets(
  world: World,
  lb: LoadBalancerRecord,
  target: TargetRecord,
  at: number,
): ServerTargetRecord[] {
  if (target.type === 'server') return [target];
  if (target.type === 'ip' || at < target.since + world.settings.selectorAfter) return [];
  const matches = parseLabelSelector(target.selector);
  const { usePrivateIP, since, phase } = target;
  return [...world.servers.values()].flatMap(server => {
    const ip = usePrivateIP ? privateIP(server, lb.attachment?.network) : server.ipv4?.ip;
    if (ip === undefined || !matches(server.labels)) return [];
    return [{ type: 'server' as const, server: server.id, ip, usePrivateIP, since, phase }];
  });
}

/** Whether traffic gets through to the target: the way is there, and at its end a server runs. */
export function isReachable(world: World, lb: LoadBalancerRecord, target: TargetRecord, at: number): boolean {
  if (target.type === 'label_selector')
    return serverTargets(world, lb, target, at).some(one => isReachable(world, lb, one, at));
  if (target.type === 'ip')
    return isPrivateIP(target.ip) ? isAttached(lb) && isBehindVSwitch(world, lb, target.ip) : lb.publicEnabled;
  const server = world.servers.get(target.server);
  if (server?.status !== 'running') return false;
  if (target.usePrivateIP) return isAttached(lb) && privateIP(server, lb.attachment?.network) !== undefined;
  return lb.publicEnabled && (server.ipv4?.ip === target.ip || isInSubnet(server, target.ip));
}

const isAttached = ({ attachment }: LoadBalancerRecord): boolean => attachment !== undefined && isShown(attachment);

/** What the health checks of one listener say about a target. */
export function healthOf(
  world: World,
  lb: LoadBalancerRecord,
  service: ServiceRecord,
  target: TargetRecord,
  at: number,
): 'unknown' | 'healthy' | 'unhealthy' {
  if (at < Math.max(service.since, target.since) + world.settings.healthAfter) return 'unknown';
  return isReachable(world, lb, target, at) ? 'healthy' : 'unhealthy';
}

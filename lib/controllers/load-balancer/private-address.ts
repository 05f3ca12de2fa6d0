import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import type { InstanceLists } from '../instances.ts';

/** Who has an address of the network, as far as the lists tell; undefined when nobody is known to. */
export function holderOf(
  ip: string,
  network: number,
  own: LoadBalancer | undefined,
  { loadBalancers, lists }: { readonly loadBalancers: readonly LoadBalancer[]; readonly lists: InstanceLists },
): string | undefined {
  const has = (net: {
    readonly network: number;
    readonly ip: string;
    readonly aliasIPs?: readonly string[];
  }): boolean => net.network === network && (net.ip === ip || net.aliasIPs?.includes(ip) === true);
  const server = lists.cloud?.servers.find(({ privateNets }) => privateNets.some(has));
  if (server !== undefined) return `server ${server.name} (${server.id})`;
  const other = loadBalancers.find(({ id, privateNets }) => id !== own?.id && privateNets.some(has));
  return other && `load balancer ${other.name} (${other.id})`;
}

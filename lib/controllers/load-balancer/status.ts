import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import type { IngressAddress } from '../../kubernetes/types.ts';
import type { LoadBalancerConfig } from './config.ts';

/**
 * What the status of the Service says of its load balancer. With the PROXY protocol, traffic from inside the cluster
 * has to go through the load balancer, too (ipMode Proxy); without, kube-proxy may take the short way (VIP).
 */
export function ingressOf(loadBalancer: LoadBalancer, config: LoadBalancerConfig): IngressAddress[] {
  if (config.hostname !== undefined) return [{ hostname: config.hostname }];
  const { enabled, ipv4, ipv6 } = loadBalancer.publicNet;
  const addresses = [
    ...(enabled && ipv4 !== undefined ? [ipv4.ip] : []),
    ...(enabled && ipv6 !== undefined && config.ipv6Ingress ? [ipv6.ip] : []),
    ...(config.privateIngress ? loadBalancer.privateNets.map(net => net.ip).filter(ip => ip !== '') : []),
  ];
  const ipMode = config.proxyProtocol === true ? 'Proxy' : 'VIP';
  return addresses.map(ip => ({ ip, ipMode }));
}

/**
 * Whether all addresses are known that the status should name. While a load balancer is being created, by whomever, the
 * API tells none of them, and after an attachment not the private one.
 */
export function tellsAddresses(
  { publicNet, privateNets }: LoadBalancer,
  { hostname, privateIngress }: LoadBalancerConfig,
  networkID: number | undefined,
): boolean {
  if (hostname !== undefined) return true;
  if (publicNet.enabled && publicNet.ipv4 === undefined) return false;
  return (
    !privateIngress || networkID === undefined || privateNets.some(net => net.network === networkID && net.ip !== '')
  );
}

/** True when both say the same in the same order. An API server without ipMode drops it, so absent equals anything. */
export const sameIngress = (present: readonly IngressAddress[], wanted: readonly IngressAddress[]): boolean =>
  present.length === wanted.length &&
  present.every((address, i) => {
    const other = wanted[i];
    const sameMode = address.ipMode === undefined || address.ipMode === other?.ipMode;
    return address.ip === other?.ip && address.hostname === other?.hostname && sameMode;
  });

/** True while Hetzner has not told yet which addresses the load balancer has. */
export const lacksAddress = ({ publicNet, privateNets }: LoadBalancer): boolean =>
  (publicNet.enabled && publicNet.ipv4 === undefined && publicNet.ipv6 === undefined) ||
  privateNets.some(({ ip }) => ip === '');

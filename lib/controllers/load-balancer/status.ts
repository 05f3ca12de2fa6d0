import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import type { IngressAddress, KubeService } from '../../kubernetes/types.ts';
import { contains, parseIPv4CIDR } from '../ip.ts';
import type { LoadBalancerConfig } from './config.ts';
import type { Wanted } from './wanted.ts';

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

/** True when both say the same in the same order. An API server without ipMode drops it, so absent equals anything. */
export const sameIngress = (present: readonly IngressAddress[], wanted: readonly IngressAddress[]): boolean =>
  present.length === wanted.length &&
  present.every((address, i) => {
    const other = wanted[i];
    const sameMode = address.ipMode === undefined || address.ipMode === other?.ipMode;
    return address.ip === other?.ip && address.hostname === other?.hostname && sameMode;
  });

/** True while Hetzner has not told yet which addresses the load balancer has that the status should name, or that should get a name. */
export function lacksAddress(loadBalancer: LoadBalancer, config: LoadBalancerConfig): boolean {
  if (lacksNamedAddress(loadBalancer, config)) return true;
  if (config.hostname !== undefined) return false;
  const { publicNet, privateNets } = loadBalancer;
  return (
    (publicNet.enabled && isUntold(publicNet)) || (config.privateIngress && privateNets.some(({ ip }) => ip === ''))
  );
}

/** True while reverse DNS is wanted and Hetzner has not told yet of which addresses. */
export const lacksNamedAddress = ({ publicNet }: LoadBalancer, { rdns }: LoadBalancerConfig): boolean =>
  (rdns.ipv4 !== undefined || rdns.ipv6 !== undefined) && isUntold(publicNet);

const isUntold = ({ ipv4, ipv6 }: LoadBalancer['publicNet']): boolean => ipv4 === undefined && ipv6 === undefined;

/** The status that has to be written; undefined when it is there. What is not known for sure takes nothing away. */
export function planStatus(
  { ingress: present }: Pick<KubeService, 'ingress'>,
  loadBalancer: LoadBalancer,
  { config, held }: Pick<Wanted, 'config' | 'held'>,
): IngressAddress[] | undefined {
  if (held.ingress) return undefined;
  const shows = (test: (ip: string) => boolean): boolean => present.some(({ ip }) => ip !== undefined && test(ip));
  const ingress = ingressOf(loadBalancer, {
    ...config,
    ...(held.privateIngress && { privateIngress: shows(isPrivateIP) }),
    ...(held.ipv6Ingress && { ipv6Ingress: shows(ip => ip.includes(':')) }),
  });
  const isUnsure = lacksAddress(loadBalancer, config);
  return sameIngress(present, ingress) || (isUnsure && present.length > 0) ? undefined : ingress;
}

/** Networks of Hetzner are within these. */
const privateBlocks = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'].flatMap(text => parseIPv4CIDR(text) ?? []);

const isPrivateIP = (ip: string): boolean => {
  const address = parseIPv4CIDR(`${ip}/32`);
  return address !== undefined && privateBlocks.some(block => contains(block, address));
};

import { isIP } from 'node:net';
import type { RobotServer } from '../../hetzner/robot-server.ts';
import type { NodeAddress } from '../../kubernetes/types.ts';
import type { AddressFamily } from '../../settings/settings.ts';
import { canonicalIP } from '../ip.ts';

export interface RobotAddressSettings {
  readonly family: AddressFamily;
  /** Keep the internal addresses that the kubelet announced: Robot knows nothing about vSwitches (BUG-061). */
  readonly forwardInternalIPs: boolean;
}

export interface RobotAddresses {
  readonly addresses: readonly NodeAddress[];
  /** Internal addresses of the node that are not kept, each with the reason in words. */
  readonly misconfigured: readonly { readonly address: string; readonly problem: string }[];
}

/**
 * Addresses of a Robot server in the peer's order: Hostname, public IPv6 before public IPv4 (the other way round than
 * for Cloud servers), then the internal addresses that the node has already.
 */
export function robotAddresses(
  server: RobotServer,
  { family, forwardInternalIPs }: RobotAddressSettings,
  present: readonly NodeAddress[],
): RobotAddresses {
  const addresses: NodeAddress[] = [{ type: 'Hostname', address: server.name }];
  if (family !== 'ipv4' && server.ipv6 !== undefined) addresses.push({ type: 'ExternalIP', address: server.ipv6 });
  if (family !== 'ipv6' && server.ipv4 !== undefined) addresses.push({ type: 'ExternalIP', address: server.ipv4 });
  const misconfigured: { address: string; problem: string }[] = [];
  if (!forwardInternalIPs) return { addresses, misconfigured };

  for (const { type, address } of present) {
    if (type !== 'InternalIP') continue;
    const problem = problemOf(address, family, addresses);
    if (problem === undefined) addresses.push({ type, address });
    else misconfigured.push({ address, problem });
  }
  return { addresses, misconfigured };
}

function problemOf(address: string, family: AddressFamily, others: readonly NodeAddress[]): string | undefined {
  const ip = canonicalIP(address);
  if (ip === undefined) return 'it is no IP address';
  if (family !== 'dualstack' && family !== `ipv${isIP(ip)}`) return `HCLOUD_INSTANCES_ADDRESS_FAMILY is ${family}`;
  const same = others.find(other => other.type !== 'Hostname' && canonicalIP(other.address) === ip);
  return same && `it is the ${same.type} of the node, too`;
}

import { cloudProviderID, robotProviderID } from '../../hetzner/provider-id.ts';
import type { Server } from '../../hetzner/types.ts';
import type { KubeNode, NodeAddress } from '../../kubernetes/types.ts';
import type { Machine } from '../instances.ts';
import { type NameOfNetwork, type NodeNetworks, networkText } from '../networks.ts';
import {
  type AddressSettings,
  addressesText,
  externalIPv6Annotation,
  preferProvided,
  providedNodeIPAnnotation,
  serverAddresses,
  withExternalIPv6,
  withHostname,
} from './addresses.ts';
import { type NodeLabels, robotLabels, serverLabels } from './labels.ts';
import { robotAddresses } from './robot-addresses.ts';

export interface NodeSettings extends AddressSettings {
  readonly zoneLabelEnabled: boolean;
  /** Keep the internal addresses that kubelets of Robot servers announced. */
  readonly forwardInternalIPs: boolean;
  /** Where the cluster has several networks: which one a node is in decides instead of `networkID`. */
  readonly networks?: NodeNetworks;
  readonly nameOfNetwork?: NameOfNetwork | undefined;
}

/** What a node should say about its machine. */
export interface DesiredNode {
  readonly providerID: string;
  readonly labels: NodeLabels;
  readonly addresses: readonly NodeAddress[];
}

/** Desired state, or the reason in words why it can't be told; the node then stays as it is. */
export type Desired =
  | {
      readonly node: DesiredNode;
      /** Internal addresses of a Robot server that are not kept, each with the reason in words. */
      readonly misconfigured: readonly { readonly address: string; readonly problem: string }[];
    }
  | { readonly problem: string };

/** What the node of a machine should look like. */
export function desiredNode(node: KubeNode, machine: Machine, settings: NodeSettings): Desired {
  const { own, misconfigured } = ownAddresses(node, machine, settings);
  const offered = withExternalIPv6(withHostname(own, node), node.annotations[externalIPv6Annotation], settings.family);
  const result = preferProvided(offered, node.annotations[providedNodeIPAnnotation]);
  if ('missing' in result) return { problem: missingAddressProblem(result.missing, offered, machine, settings) };
  const { server } = machine;
  const desired =
    'number' in server
      ? { providerID: robotProviderID(server.number), labels: robotLabels(server) }
      : { providerID: cloudProviderID(server.id), labels: serverLabels(server, settings.zoneLabelEnabled) };
  return { node: { ...desired, addresses: result.addresses }, misconfigured };
}

function ownAddresses(node: KubeNode, machine: Machine, settings: NodeSettings) {
  if (machine.kind === 'cloud') {
    const { family, networks } = settings;
    const networkID = networks === undefined ? settings.networkID : networks.homeOf(node, machine.server)?.network;
    return { own: serverAddresses(machine.server, { family, networkID }), misconfigured: [] };
  }
  const { addresses, misconfigured } = robotAddresses(machine.server, settings, node.addresses);
  return { own: addresses, misconfigured };
}

/** Names what was wanted, what there is, and the setting or the step that would bring them together. */
function missingAddressProblem(
  missing: readonly string[],
  offered: readonly NodeAddress[],
  machine: Machine,
  settings: NodeSettings,
): string {
  const wanted = missing.length === 1 ? `node IP ${missing[0]}` : `node IPs ${missing.join(', ')}`;
  const name = machine.kind === 'cloud' ? `server ${machine.server.id}` : `Robot server ${machine.server.number}`;
  return `kubelet announced ${wanted}, but ${name} offers ${addressesText(offered)}; ${hintOf(missing, machine, settings)}`;
}

function hintOf(missing: readonly string[], machine: Machine, settings: NodeSettings): string {
  if (machine.kind === 'robot') {
    return settings.forwardInternalIPs
      ? 'check --node-ip of the kubelet and HCLOUD_INSTANCES_ADDRESS_FAMILY'
      : 'ROBOT_FORWARD_INTERNAL_IPS is false, so internal addresses are not kept';
  }
  const { id, privateNets } = machine.server;
  const { networkID, networks, nameOfNetwork } = settings;
  if (networks !== undefined) return severalNetworksHint(machine.server, networks);
  if (networkID === undefined) return 'HCLOUD_NETWORK is not set, so private addresses are not offered';
  const elsewhere = privateNets.find(net => missing.includes(net.ip));
  if (elsewhere !== undefined) {
    return `the server has that address in network ${networkText(elsewhere.network, nameOfNetwork)}, HCLOUD_NETWORK is ${networkText(networkID, nameOfNetwork)}`;
  }
  return privateNets.some(net => net.network === networkID)
    ? 'check --node-ip of the kubelet and HCLOUD_INSTANCES_ADDRESS_FAMILY'
    : `server ${id} is not attached to the network of HCLOUD_NETWORK, ${networkText(networkID, nameOfNetwork)}`;
}

function severalNetworksHint({ id, privateNets }: Server, networks: NodeNetworks): string {
  const { all } = networks.current();
  const names = all.map(network => `${network.name} (${network.id})`).join(', ');
  return privateNets.some(({ network }) => all.some(one => one.id === network))
    ? `check --node-ip of the kubelet and HCLOUD_INSTANCES_ADDRESS_FAMILY; the networks of the cluster are ${names}`
    : `server ${id} is in none of the networks of the cluster: ${names}`;
}

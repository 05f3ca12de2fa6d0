import { cloudProviderID } from '../../hetzner/provider-id.ts';
import type { Server } from '../../hetzner/types.ts';
import type { KubeNode, NodeAddress } from '../../kubernetes/types.ts';
import {
  type AddressSettings,
  addressesText,
  preferProvided,
  providedNodeIPAnnotation,
  serverAddresses,
} from './addresses.ts';
import { type NodeLabels, serverLabels } from './labels.ts';

export interface NodeSettings extends AddressSettings {
  readonly zoneLabelEnabled: boolean;
}

/** What a node should say about its machine. */
export interface DesiredNode {
  readonly providerID: string;
  readonly labels: NodeLabels;
  readonly addresses: readonly NodeAddress[];
}

/** Desired state, or the reason in words why it can't be told; the node then stays as it is. */
export type Desired = { readonly node: DesiredNode } | { readonly problem: string };

/** What the node of `server` should look like. */
export function desiredNode(node: KubeNode, server: Server, settings: NodeSettings): Desired {
  const offered = serverAddresses(server, settings);
  const result = preferProvided(offered, node.annotations[providedNodeIPAnnotation]);
  if ('missing' in result) return { problem: missingAddressProblem(result.missing, offered, server, settings) };
  return {
    node: {
      providerID: cloudProviderID(server.id),
      labels: serverLabels(server, settings.zoneLabelEnabled),
      addresses: result.addresses,
    },
  };
}

/** Names what was wanted, what there is, and the setting or the step that would bring them together. */
function missingAddressProblem(
  missing: readonly string[],
  offered: readonly NodeAddress[],
  server: Server,
  settings: NodeSettings,
): string {
  const attached = server.privateNets.find(net => missing.includes(net.ip));
  const hint =
    settings.networkID === undefined
      ? 'HCLOUD_NETWORK is not set, so private addresses are not offered'
      : attached !== undefined
        ? `the server has that address in network ${attached.network}, HCLOUD_NETWORK is network ${settings.networkID}`
        : server.privateNets.some(net => net.network === settings.networkID)
          ? 'check --node-ip of the kubelet and HCLOUD_INSTANCES_ADDRESS_FAMILY'
          : `server ${server.id} is not attached to network ${settings.networkID} (HCLOUD_NETWORK)`;
  const wanted = missing.length === 1 ? `node IP ${missing[0]}` : `node IPs ${missing.join(', ')}`;
  return `kubelet announced ${wanted}, but server ${server.id} offers ${addressesText(offered)}; ${hint}`;
}

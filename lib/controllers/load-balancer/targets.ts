import type { TargetBody } from '../../hetzner/lb-types.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { type InstanceLists, locate } from '../instances.ts';
import { type NameOfNetwork, type NodeNetworks, networkText } from '../networks.ts';
import { type Notice, warning } from './wanted.ts';

export interface TargetRules {
  /** Through the private network. */
  readonly usePrivateIP: boolean;
  readonly networkID: number | undefined;
  /** Where the cluster has several networks. */
  readonly networks?: NodeNetworks | undefined;
  readonly nameOfNetwork?: NameOfNetwork | undefined;
  /** Whether Robot servers are targets at all. */
  readonly robotEnabled: boolean;
}

/** What a node should be in a load balancer. */
export type DesiredTarget =
  | { readonly kind: 'target'; readonly node: string; readonly target: TargetBody; readonly notice?: Notice }
  /** It can't be added, but what is there of it stays: nothing says that it is wrong. */
  | {
      readonly kind: 'skip';
      readonly node: string;
      readonly keep: TargetBody | undefined;
      readonly reason: SkipReason;
      readonly problem: string;
      /** Nothing is wrong with the node: it lives in another network of the cluster. */
      readonly isElsewhere?: true;
    };

/** Reasons of events about skipped nodes, as the peer names them where it has one. */
export type SkipReason =
  | 'UnknownProviderIDPrefix'
  | 'ServerNotFound'
  | 'InternalIPNotConfigured'
  | 'TargetNotReachable';

/**
 * What each eligible node should be: a Cloud server by its id, a Robot server by its address. Nodes that can't be
 * targets are told apart before a request is made for them, so that one of them never stops the others.
 */
export function desiredTarget(node: KubeNode, lists: InstanceLists, rules: TargetRules): DesiredTarget {
  const skip = (reason: SkipReason, problem: string, keep?: TargetBody): DesiredTarget & { kind: 'skip' } => ({
    kind: 'skip',
    node: node.name,
    keep,
    reason,
    problem: `node ${node.name}: ${problem}`,
  });
  if (node.providerID === '') return skip('UnknownProviderIDPrefix', 'it has no provider ID yet');
  if (node.providerID.startsWith('hrobot://') || node.providerID.startsWith('hcloud://bm-')) {
    return robotTarget(node, lists, rules, skip);
  }
  const located = locate(node, lists);
  if (located.kind === 'foreign' || located.kind === 'ambiguous')
    return skip('UnknownProviderIDPrefix', located.problem);
  if (located.kind === 'missing' || located.machine.kind !== 'cloud') {
    const id = Number(node.providerID.slice('hcloud://'.length));
    const keep = { type: 'server', serverID: id, usePrivateIP: rules.usePrivateIP } as const;
    return skip('ServerNotFound', located.kind === 'missing' ? located.problem : 'it is no Cloud server', keep);
  }
  const { server } = located.machine;
  const target = { type: 'server', serverID: server.id, usePrivateIP: rules.usePrivateIP } as const;
  if (rules.usePrivateIP && !server.privateNets.some(net => net.network === rules.networkID)) {
    const network = networkText(rules.networkID, rules.nameOfNetwork);
    const skipped = skip('TargetNotReachable', `its server is not attached to network ${network}`, target);
    return rules.networks?.homeOf(node, server) === undefined ? skipped : { ...skipped, isElsewhere: true };
  }
  if (!rules.usePrivateIP && server.ipv4 === undefined) {
    return skip(
      'TargetNotReachable',
      'its server has no public IPv4 address; use-private-ip reaches it without',
      target,
    );
  }
  return { kind: 'target', node: node.name, target };
}

/** Robot servers are told by address: the public IPv4 from Robot, or the InternalIP that kubelet reported. */
function robotTarget(
  node: KubeNode,
  lists: InstanceLists,
  { usePrivateIP, robotEnabled }: TargetRules,
  skip: (reason: SkipReason, problem: string) => DesiredTarget,
): DesiredTarget {
  if (!robotEnabled) return skip('UnknownProviderIDPrefix', 'it is a Robot server and ROBOT_ENABLED is not set');
  const target = (ip: string, notice?: Notice): DesiredTarget => ({
    kind: 'target',
    node: node.name,
    target: { type: 'ip', ip },
    ...(notice !== undefined && { notice }),
  });
  const internal = node.addresses.find(({ type }) => type === 'InternalIP')?.address;
  if (usePrivateIP && internal !== undefined) return target(internal);
  const located = locate(node, lists);
  const ip = located.kind === 'found' && located.machine.kind === 'robot' ? located.machine.server.ipv4 : undefined;
  if (ip !== undefined && !usePrivateIP) return target(ip);
  if (ip !== undefined) {
    const text = `node ${node.name} has no InternalIP, which use-private-ip needs: its public address ${ip} is used`;
    return target(ip, warning('InternalIPNotConfigured', text));
  }
  if (usePrivateIP) return skip('InternalIPNotConfigured', 'it has no InternalIP, which use-private-ip needs');
  return skip('ServerNotFound', 'its address is not known to the Robot account');
}

import type { LoadBalancer, LoadBalancerService, ServiceBody } from '../../hetzner/lb-types.ts';
import type { KubeNode, KubeService } from '../../kubernetes/types.ts';
import type { InstanceLists } from '../instances.ts';
import { type NameOfNetwork, type NodeNetworks, networkText } from '../networks.ts';
import type { LoadBalancerConfig } from './config.ts';
import type { Attachment, DesiredLoadBalancer } from './desired.ts';
import { desiredListeners, isLocalCheck, withoutLocalCheck } from './listeners.ts';
import { nodeTargets, presentTargets, targetsOfOthers } from './node-targets.ts';
import { placeNotices } from './place.ts';
import { holderOf } from './private-address.ts';
import { type Notice, type Wanted, warning } from './wanted.ts';

export interface DesiredInput {
  readonly service: KubeService;
  readonly wanted: Wanted;
  /** The wanted type, with its limits as far as they are known. */
  readonly type: DesiredLoadBalancer['type'];
  /** Those this instance looks after. */
  readonly nodes: readonly KubeNode[];
  /** Those that other instances look after. */
  readonly otherNodes?: readonly KubeNode[];
  readonly lists: InstanceLists;
  readonly networkID: number | undefined;
  /** Somebody named the network, so a load balancer in another one moves. */
  readonly networkIsNamed?: boolean;
  /** Where the cluster has several networks: nodes of others are none of this load balancer. */
  readonly networks?: NodeNetworks | undefined;
  readonly nameOfNetwork?: NameOfNetwork | undefined;
  readonly robotEnabled: boolean;
  /** Robot has not answered yet, so nobody knows which addresses are those of its servers. */
  readonly robotUnknown: boolean;
  readonly certificates: {
    readonly ids: readonly number[];
    /** False while some of those that are wanted can't be had: then those in use stay in use, too. */
    readonly complete: boolean;
  };
  /** The load balancer as it is; undefined before its creation. */
  readonly present: LoadBalancer | undefined;
  /** All of the project. */
  readonly loadBalancers: readonly LoadBalancer[];
  /** A private address that Hetzner refused for this load balancer. */
  readonly refusedIP: string | undefined;
  /** A network that this load balancer could not move to. */
  readonly refusedNetwork?: number | undefined;
}

export interface DesiredResult {
  readonly desired: DesiredLoadBalancer;
  readonly notices: readonly Notice[];
}

/** The load balancer a Service should have. Held parts are taken from what is there. */
export function desiredLoadBalancer(asked: DesiredInput): DesiredResult {
  const { input, notices: refusedNotices } = withoutRefusedNetwork(asked);
  const { service, wanted, present, nodes, lists } = input;
  const { config, held } = wanted;
  const { attachment, notices: attachmentNotices } = desiredAttachment(input);
  const way = config.usePrivateIP ? attachment !== undefined : hasPublicWay(config, present);
  const targets =
    held.targets || !way
      ? presentTargets(present)
      : nodeTargets({
          config,
          nodes,
          lists,
          rules: { ...input, usePrivateIP: config.usePrivateIP },
        });
  // Hetzner refuses to switch it off under targets that need it, and they would serve nothing any more.
  const isNeeded =
    config.publicInterface === false && !config.usePrivateIP && targets.targets.length + targets.kept.length > 0;
  const keptIPs = input.robotUnknown ? presentTargets(present).kept.filter(({ type }) => type === 'ip') : [];
  const { listeners, heldPorts, problems } = allListeners(input);
  return {
    desired: {
      owner: service.uid,
      name: config.name,
      type: input.type,
      algorithm: config.algorithm,
      publicInterface: isNeeded && present !== undefined ? undefined : config.publicInterface,
      rdns: config.rdns,
      attachment,
      listeners,
      heldPorts,
      targets: targets.targets,
      keptTargets: [...targets.kept, ...keptIPs, ...targetsOfOthers(present, input.otherNodes ?? [], lists)],
    },
    notices: [
      ...placeNotices(config, present),
      ...refusedNotices,
      ...attachmentNotices,
      ...targets.notices,
      ...(config.usePrivateIP || (way && !isNeeded) ? [] : [warning('SyncLoadBalancerFailed', publicProblem)]),
      ...problems.map(({ reason = 'SyncLoadBalancerFailed', text }) => warning(reason, text)),
    ],
  };
}

const publicProblem =
  'targets are reached through the public interface, and that is off or to be switched off: set use-private-ip, or disable-public-network to false';

const hasPublicWay = ({ publicInterface }: LoadBalancerConfig, present: LoadBalancer | undefined): boolean =>
  present === undefined ? publicInterface !== false : present.publicNet.enabled || publicInterface === true;

/** Where Hetzner refused the network that is named, all is as if the present one were. */
function withoutRefusedNetwork(input: DesiredInput): {
  readonly input: DesiredInput;
  readonly notices: readonly Notice[];
} {
  const { networkID, refusedNetwork, present, nameOfNetwork } = input;
  const now = present?.privateNets[0];
  if (now === undefined || refusedNetwork === undefined || refusedNetwork !== networkID || now.network === networkID)
    return { input, notices: [] };
  const text = `the load balancer stays in network ${networkText(now.network, nameOfNetwork)}: it can't be attached to network ${networkText(networkID, nameOfNetwork)}, Hetzner refused it`;
  return { input: { ...input, networkID: now.network }, notices: [warning('SyncLoadBalancerFailed', text)] };
}

/** Where it should be in the network. A load balancer in another network stays there: that may be somebody's wish. */
function desiredAttachment(input: DesiredInput): {
  readonly attachment: Attachment | undefined;
  readonly notices: readonly Notice[];
} {
  const { wanted, networkID, present, refusedIP, nameOfNetwork } = input;
  const { config, held } = wanted;
  if (networkID === undefined) return { attachment: undefined, notices: [] };
  const other = present?.privateNets.find(({ network }) => network !== networkID);
  const now = present?.privateNets.find(({ network }) => network === networkID);
  const isMoved = input.networkIsNamed === true && !held.attachment;
  if (now === undefined && other !== undefined && isMoved) {
    const { network, ip: previousIP } = other;
    const from = { network, ip: previousIP };
    const wish = config.privateIPv4 === refusedIP ? undefined : config.privateIPv4;
    return { attachment: { networkID, ip: wish, subnet: config.privateSubnet, from }, notices: [] };
  }
  if (now === undefined && other !== undefined) {
    const text = `the load balancer is attached to network ${networkText(other.network, nameOfNetwork)} and stays there: detach it to have it attached to that of HCLOUD_NETWORK, ${networkText(networkID, nameOfNetwork)}`;
    return { attachment: undefined, notices: [warning('SyncLoadBalancerFailed', text)] };
  }
  const anyAddress = { networkID, ip: undefined, subnet: config.privateSubnet };
  if (held.attachment) return { attachment: now && anyAddress, notices: [] };
  const ip = config.privateIPv4;
  if (ip === undefined || ip === now?.ip) return { attachment: { ...anyAddress, ip }, notices: [] };
  const holder = holderOf(ip, networkID, present, input);
  if (holder === undefined && ip !== refusedIP) return { attachment: { ...anyAddress, ip }, notices: [] };
  const why = holder === undefined ? 'Hetzner refused it' : `${holder} has it`;
  const text = `private-ipv4 ${ip} can't be had: ${why}. The load balancer ${now === undefined ? 'gets another address' : `keeps ${now.ip}`}`;
  return { attachment: anyAddress, notices: [warning('SyncLoadBalancerFailed', text)] };
}

function allListeners({ service, wanted: { config, held }, certificates, present }: DesiredInput) {
  const there = new Map(present?.services.map(one => [one.listenPort, one]));
  if (held.listeners) return { listeners: onlyNodePorts(service, there), heldPorts: [], problems: [] };
  const inUse = certificates.complete ? [] : (present?.services ?? []).flatMap(({ http }) => http?.certificates ?? []);
  const { listeners, problems } = desiredListeners(service, config, [...new Set([...certificates.ids, ...inUse])]);
  const heldPorts = heldByProblem(service, listeners);
  const adjusted = listeners.flatMap((listener): ServiceBody[] => {
    const now = there.get(listener.listenPort);
    if (now === undefined) return held.newListeners ? [] : [held.healthCheck ? withoutCheck(listener) : listener];
    if (held.healthCheck) return [{ ...withoutCheck(listener), ...checkFollowing(now, listener.destinationPort) }];
    return [isLocalCheck(now.healthCheck) ? withoutLocalCheck(listener) : listener];
  });
  return { listeners: adjusted, heldPorts, problems };
}

const withoutCheck = ({ healthCheck: _, ...rest }: ServiceBody): ServiceBody => rest;

/** The port of a health check that looked at the node port, and so has to follow it. */
const checkFollowing = (now: LoadBalancerService, nodePort: number | undefined): Pick<ServiceBody, 'healthCheck'> =>
  now.healthCheck.port === now.destinationPort ? { healthCheck: { port: nodePort } } : {};

const onlyNodePorts = (service: KubeService, there: ReadonlyMap<number, LoadBalancerService>): ServiceBody[] =>
  service.ports.flatMap(({ protocol, port, nodePort }) => {
    const now = there.get(port);
    if (protocol !== 'TCP' || now === undefined) return [];
    if (nodePort === 0) return [{ listenPort: port }];
    return [{ listenPort: port, destinationPort: nodePort, ...checkFollowing(now, nodePort) }];
  });

/** A TCP port that can't be had right now keeps the listener it has, unless the API needs the port for a redirect. */
function heldByProblem(service: KubeService, listeners: readonly ServiceBody[]): number[] {
  const redirects = listeners.some(({ http }) => http?.redirectHTTP === true);
  return service.ports
    .filter(({ protocol, port }) => protocol === 'TCP' && !(port === 80 && redirects))
    .map(({ port }) => port)
    .filter(port => listeners.every(({ listenPort }) => listenPort !== port));
}

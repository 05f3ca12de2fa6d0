import type { LoadBalancer, ServiceBody, TargetBody } from '../../hetzner/lb-types.ts';
import type { DesiredLoadBalancer } from './desired.ts';
import { ownerLabel } from './identity.ts';
import { planListeners } from './plan-listeners.ts';
import { planTargets } from './plan-targets.ts';

/** One change of a load balancer; each is one call, but for those that take something away and put it back otherwise. */
export type LoadBalancerChange =
  | { readonly kind: 'update'; readonly name?: string; readonly labels?: Readonly<Record<string, string>> }
  | { readonly kind: 'changeDNSPtr'; readonly ip: string; readonly dnsPtr: string }
  | { readonly kind: 'changeAlgorithm'; readonly algorithm: string }
  | { readonly kind: 'changeType'; readonly type: NonNullable<DesiredLoadBalancer['type']> }
  | {
      readonly kind: 'attach';
      readonly network: number;
      readonly ip: string | undefined;
      readonly subnet: string | undefined;
    }
  /** Moves to another address of the same network; the old one comes back when the new one can't be had. */
  | {
      readonly kind: 'reattach';
      readonly network: number;
      readonly ip: string;
      readonly previousIP: string;
    }
  /** Moves to another network, and back when that one can't be had. */
  | {
      readonly kind: 'changeNetwork';
      readonly network: number;
      readonly ip: string | undefined;
      readonly subnet: string | undefined;
      readonly previous: { readonly network: number; readonly ip: string };
    }
  | { readonly kind: 'enablePublicInterface' | 'disablePublicInterface' }
  | { readonly kind: 'addService' | 'updateService'; readonly service: ServiceBody }
  | { readonly kind: 'deleteService'; readonly listenPort: number }
  | { readonly kind: 'addTarget' | 'removeTarget'; readonly target: TargetBody }
  /** Reaches a target another way; it comes back as it was when that can't be had. */
  | { readonly kind: 'flipTarget'; readonly target: TargetBody; readonly previous: TargetBody };

export interface LoadBalancerPlan {
  /** Stages one after the other; the changes of one stage don't depend on each other. */
  readonly stages: readonly (readonly LoadBalancerChange[])[];
  /** Targets the type has no room for. */
  readonly withoutRoom: readonly TargetBody[];
  /** Listen ports the type has no room for. */
  readonly portsWithoutRoom: readonly number[];
}

/**
 * The difference between a load balancer and what it should be, in the order that keeps traffic flowing: ways in and
 * targets are added before old ones go, and where there is no room for both they are exchanged one by one. Hetzner
 * changes networks, interfaces and the type one at a time, so these have stages of their own.
 *
 * @param nameIsTaken whether another load balancer of the project has that name
 */
export function planLoadBalancer(
  present: LoadBalancer,
  desired: DesiredLoadBalancer,
  nameIsTaken: (name: string) => boolean,
): LoadBalancerPlan {
  const attachment = planAttachment(present, desired);
  // A re-attachment drops the private targets, so they are planned as if they were gone.
  const left =
    attachment[0]?.kind === 'reattach' || attachment[0]?.kind === 'changeNetwork'
      ? present.targets.filter(target => target.type === 'ip' || !target.usePrivateIP)
      : present.targets;
  const type = planType(present, desired);
  const targets = planTargets(left, desired, type.maxTargets);
  const listeners = planListeners(present, desired, type.maxServices);
  const { enable, disable } = planPublicInterface(present, desired.publicInterface);
  const stages: LoadBalancerChange[][] = [
    planProperties(present, desired, nameIsTaken),
    type.early,
    attachment,
    enable,
    targets.additions,
    ...listeners.stages,
    ...targets.exchanges,
    type.late,
    disable,
  ];
  return {
    stages: stages.filter(stage => stage.length > 0),
    withoutRoom: targets.withoutRoom,
    portsWithoutRoom: listeners.withoutRoom,
  };
}

function planProperties(
  present: LoadBalancer,
  desired: DesiredLoadBalancer,
  nameIsTaken: (name: string) => boolean,
): LoadBalancerChange[] {
  const changes: LoadBalancerChange[] = [];
  const rename = desired.name !== undefined && desired.name !== present.name && !nameIsTaken(desired.name);
  const relabel = present.labels[ownerLabel] !== desired.owner;
  if (rename || relabel) {
    changes.push({
      kind: 'update',
      ...(rename && { name: desired.name as string }),
      ...(relabel && { labels: { ...present.labels, [ownerLabel]: desired.owner } }),
    });
  }
  for (const [family, dnsPtr] of Object.entries(desired.rdns) as ['ipv4' | 'ipv6', string | undefined][]) {
    const address = present.publicNet[family];
    if (dnsPtr === undefined || address === undefined || address.dnsPtr === dnsPtr) continue;
    changes.push({ kind: 'changeDNSPtr', ip: address.ip, dnsPtr });
  }
  if (desired.algorithm !== undefined && desired.algorithm !== present.algorithm) {
    changes.push({ kind: 'changeAlgorithm', algorithm: desired.algorithm });
  }
  return changes;
}

/**
 * A larger type comes first, for what it has room for; a smaller one last, when what it has no room for is gone. What is
 * there in the end has to fit.
 */
function planType({ type, services, targets }: LoadBalancer, desired: DesiredLoadBalancer) {
  const wanted = desired.type;
  if (wanted === undefined || wanted.name === type.name) return { ...roomOf(type), early: [], late: [] };
  const change: LoadBalancerChange[] = [{ kind: 'changeType', type: wanted }];
  const room = roomOf(wanted);
  const fits = services.length <= room.maxServices && targets.length <= room.maxTargets;
  return fits ? { ...room, early: change, late: [] } : { ...room, early: [], late: change };
}

const roomOf = ({ maxServices, maxTargets }: NonNullable<DesiredLoadBalancer['type']>) => ({
  maxServices: maxServices ?? Number.POSITIVE_INFINITY,
  maxTargets: maxTargets ?? Number.POSITIVE_INFINITY,
});

/** Only the wanted network is attached, and nothing is ever detached from another one: that may be somebody else's. */
function planAttachment({ privateNets }: LoadBalancer, { attachment }: DesiredLoadBalancer): LoadBalancerChange[] {
  if (attachment === undefined) return [];
  const { networkID: network, ip, subnet, from } = attachment;
  const present = privateNets.find(net => net.network === network);
  if (present === undefined && from !== undefined)
    return [{ kind: 'changeNetwork', network, ip, subnet, previous: from }];
  if (present === undefined) return [{ kind: 'attach', network, ip, subnet }];
  return ip === undefined || ip === present.ip ? [] : [{ kind: 'reattach', network, ip, previousIP: present.ip }];
}

function planPublicInterface({ publicNet }: LoadBalancer, wanted: boolean | undefined) {
  const differs = wanted !== undefined && wanted !== publicNet.enabled;
  return {
    enable: differs && wanted ? [{ kind: 'enablePublicInterface' } as const] : [],
    disable: differs && !wanted ? [{ kind: 'disablePublicInterface' } as const] : [],
  };
}

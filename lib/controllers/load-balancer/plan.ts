import { targetKey } from '../../hetzner/lb-changes.ts';
import type { LoadBalancer, LoadBalancerTarget, ServiceBody, TargetBody } from '../../hetzner/lb-types.ts';
import type { DesiredLoadBalancer } from './desired.ts';
import { ownerLabel } from './identity.ts';
import { listenerDifference } from './listener-difference.ts';

/** One change of a load balancer; each is one call, but for a re-attachment. */
export type LoadBalancerChange =
  | { readonly kind: 'update'; readonly name?: string; readonly labels?: Readonly<Record<string, string>> }
  | { readonly kind: 'changeDNSPtr'; readonly ip: string; readonly dnsPtr: string }
  | { readonly kind: 'changeAlgorithm'; readonly algorithm: string }
  | { readonly kind: 'changeType'; readonly type: string }
  | {
      readonly kind: 'attach';
      readonly network: number;
      readonly ip: string | undefined;
      readonly subnet: string | undefined;
    }
  /** Moves to another address of the same network; the old one comes back when the new one can't be had. */
  | { readonly kind: 'reattach'; readonly network: number; readonly ip: string; readonly previousIP: string }
  | { readonly kind: 'enablePublicInterface' | 'disablePublicInterface' }
  | { readonly kind: 'addService' | 'updateService'; readonly service: ServiceBody }
  | { readonly kind: 'deleteService'; readonly listenPort: number }
  | { readonly kind: 'addTarget' | 'removeTarget'; readonly target: TargetBody };

export interface LoadBalancerPlan {
  /** Stages one after the other; the changes of one stage don't depend on each other. */
  readonly stages: readonly (readonly LoadBalancerChange[])[];
  /** Targets the type has no room for. */
  readonly withoutRoom: readonly TargetBody[];
}

/**
 * The difference between a load balancer and what it should be, in the order that keeps traffic flowing: ways in and
 * targets are added before old ones go, and where there is no room for both they are exchanged one by one.
 *
 * @param nameIsTaken whether another load balancer of the project has that name
 */
export function planLoadBalancer(
  present: LoadBalancer,
  desired: DesiredLoadBalancer,
  nameIsTaken: (name: string) => boolean,
): LoadBalancerPlan {
  const { attachment } = desired;
  const attached = planAttachment(present, desired);
  // A re-attachment drops the private targets, so they are planned as if they were gone.
  const targets =
    attached[0]?.kind === 'reattach'
      ? present.targets.filter(t => t.type === 'ip' || !t.usePrivateIP)
      : present.targets;
  const planned = planTargets(targets, desired, present.type.maxTargets);
  const { enable, disable } = planPublicInterface(present, desired.publicInterface);
  const stages: LoadBalancerChange[][] = [
    planProperties(present, desired, nameIsTaken),
    attachment === undefined ? [] : attached,
    enable,
    ...planListeners(present, desired),
    ...planned.stages,
    disable,
  ];
  return { stages: stages.filter(stage => stage.length > 0), withoutRoom: planned.withoutRoom };
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
  if (desired.type !== undefined && desired.type !== present.type.name) {
    changes.push({ kind: 'changeType', type: desired.type });
  }
  return changes;
}

/** Only the wanted network is attached, and nothing is ever detached from another one: that may be somebody else's. */
function planAttachment({ privateNets }: LoadBalancer, { attachment }: DesiredLoadBalancer): LoadBalancerChange[] {
  if (attachment === undefined) return [];
  const { networkID: network, ip, subnet } = attachment;
  const present = privateNets.find(net => net.network === network);
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

/** New ports come before old ones go, unless the type has no room, or a redirect needs port 80. */
function planListeners(present: LoadBalancer, desired: DesiredLoadBalancer): LoadBalancerChange[][] {
  const wanted = new Map(desired.listeners.map(service => [service.listenPort, service]));
  const add: LoadBalancerChange[] = [];
  const update: LoadBalancerChange[] = [];
  for (const service of desired.listeners) {
    const there = present.services.find(({ listenPort }) => listenPort === service.listenPort);
    if (there === undefined) add.push({ kind: 'addService', service });
    else {
      const difference = listenerDifference(service, there);
      if (difference !== undefined) update.push({ kind: 'updateService', service: difference });
    }
  }
  const remove: LoadBalancerChange[] = present.services
    .filter(({ listenPort }) => !wanted.has(listenPort) && !desired.heldPorts.includes(listenPort))
    .map(({ listenPort }) => ({ kind: 'deleteService', listenPort }));
  const needs80 = desired.listeners.some(service => service.http?.redirectHTTP === true);
  const frees80 = remove.some(change => change.kind === 'deleteService' && change.listenPort === 80);
  const { maxServices } = present.type;
  const noRoom = maxServices !== undefined && present.services.length + add.length > maxServices;
  return (needs80 && frees80) || noRoom ? [remove, update, add] : [update, add, remove];
}

interface PlannedTargets {
  readonly stages: readonly LoadBalancerChange[][];
  readonly withoutRoom: readonly TargetBody[];
}

/**
 * Targets that are there keep their place, so that the choice is the same after a restart. A server that is reached
 * another way than before is one target only and has to go before it comes back; this happens one by one, last of all.
 */
function planTargets(
  present: readonly LoadBalancerTarget[],
  { targets, keptTargets }: DesiredLoadBalancer,
  maxTargets = Number.POSITIVE_INFINITY,
): PlannedTargets {
  const there = new Map(present.map(target => [targetKey(target), target]));
  const isThere = (target: TargetBody): boolean => there.has(targetKey(target));
  const preferred = [...targets.filter(isThere), ...targets.filter(target => !isThere(target))];
  const wanted = new Set([...targets, ...keptTargets].map(targetKey));
  const selectors = present.filter(({ type }) => type === 'label_selector').length;
  const kept = keptTargets.filter(isThere).length;
  const chosen = preferred.slice(0, Math.max(0, maxTargets - selectors - kept));
  const stale = present.filter(
    (target): target is Exclude<LoadBalancerTarget, { type: 'label_selector' }> =>
      target.type !== 'label_selector' && !wanted.has(targetKey(target)),
  );
  const flipped = chosen.filter(target => {
    const old = there.get(targetKey(target));
    return old?.type === 'server' && target.type === 'server' && old.usePrivateIP !== target.usePrivateIP;
  });
  const missing = chosen.filter(target => !isThere(target));

  const stages: LoadBalancerChange[][] = [];
  const room = Math.max(0, maxTargets - present.length);
  stages.push(missing.slice(0, room).map(target => ({ kind: 'addTarget', target })));
  const waiting = missing.slice(room);
  const leaving = stale.map(bodyOf);
  for (const target of waiting) {
    const first = leaving.shift();
    if (first !== undefined) stages.push([{ kind: 'removeTarget', target: first }]);
    stages.push([{ kind: 'addTarget', target }]);
  }
  for (const target of flipped) {
    stages.push([{ kind: 'removeTarget', target }], [{ kind: 'addTarget', target }]);
  }
  stages.push(leaving.map(target => ({ kind: 'removeTarget', target })));
  return { stages, withoutRoom: preferred.slice(chosen.length) };
}

const bodyOf = (target: Exclude<LoadBalancerTarget, { type: 'label_selector' }>): TargetBody =>
  target.type === 'ip'
    ? { type: 'ip', ip: target.ip }
    : { type: 'server', serverID: target.serverID, usePrivateIP: target.usePrivateIP };

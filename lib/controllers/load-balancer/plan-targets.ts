import { targetKey } from '../../hetzner/lb-changes.ts';
import type { LoadBalancerTarget, TargetBody } from '../../hetzner/lb-types.ts';
import type { DesiredLoadBalancer } from './desired.ts';
import type { LoadBalancerChange } from './plan.ts';

export interface PlannedTargets {
  /** Those there is room for at once. */
  readonly additions: LoadBalancerChange[];
  /** What has to go before something else can come, one after the other, and what just goes. */
  readonly exchanges: readonly LoadBalancerChange[][];
  readonly withoutRoom: readonly TargetBody[];
}

/** Targets of somebody's selector are never touched. */
type OwnTarget = Exclude<LoadBalancerTarget, { type: 'label_selector' }>;

/**
 * Targets that are there keep their place, so that the choice is the same after a restart. A server that is reached
 * another way than before is one target only and has to go before it comes back; this happens one by one.
 */
export function planTargets(
  present: readonly LoadBalancerTarget[],
  { targets, keptTargets }: Pick<DesiredLoadBalancer, 'targets' | 'keptTargets'>,
  maxTargets: number,
): PlannedTargets {
  const there = new Map(present.map(target => [targetKey(target), target]));
  const isThere = (target: TargetBody): boolean => there.has(targetKey(target));
  const wanted = distinct(targets);
  const preferred = [...wanted.filter(isThere), ...wanted.filter(target => !isThere(target))];
  const selectors = present.filter(({ type }) => type === 'label_selector').length;
  const isWanted = new Set(wanted.map(targetKey));
  const kept = keptTargets.filter(target => isThere(target) && !isWanted.has(targetKey(target)));
  const chosen = preferred.slice(0, Math.max(0, maxTargets - selectors - kept.length));
  const stays = new Set([...chosen, ...kept].map(targetKey));
  const leaving = present
    .filter((target): target is OwnTarget => target.type !== 'label_selector' && !stays.has(targetKey(target)))
    .map(target => ({ kind: 'removeTarget', target: bodyOf(target) }) as const);

  const missing = chosen
    .filter(target => !isThere(target))
    .map(target => ({ kind: 'addTarget', target }) as const satisfies LoadBalancerChange);
  const room = Math.max(0, maxTargets - present.length);
  const exchanges: LoadBalancerChange[][] = [];
  for (const addition of missing.slice(room)) {
    const first = leaving.shift();
    if (first !== undefined) exchanges.push([first]);
    exchanges.push([addition]);
  }
  for (const target of chosen) {
    const previous = there.get(targetKey(target));
    if (previous?.type !== 'server' || target.type !== 'server') continue;
    if (previous.usePrivateIP === target.usePrivateIP) continue;
    exchanges.push([{ kind: 'flipTarget', target, previous: bodyOf(previous) }]);
  }
  exchanges.push(leaving);
  return { additions: missing.slice(0, room), exchanges, withoutRoom: preferred.slice(chosen.length) };
}

/** Each target once, whoever it stands for: two nodes may name one server. */
export const distinct = (targets: readonly TargetBody[]): TargetBody[] => [
  ...new Map(targets.map(target => [targetKey(target), target])).values(),
];

const bodyOf = (target: OwnTarget): TargetBody =>
  target.type === 'ip'
    ? { type: 'ip', ip: target.ip }
    : { type: 'server', serverID: target.serverID, usePrivateIP: target.usePrivateIP };

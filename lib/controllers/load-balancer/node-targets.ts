import type { LoadBalancer, TargetBody } from '../../hetzner/lb-types.ts';
import { cloudProviderID } from '../../hetzner/provider-id.ts';
import { everything, parseLabelSelector } from '../../kubernetes/label-selector.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { byAge } from '../by-age.ts';
import { type InstanceLists, locate } from '../instances.ts';
import { isUninitialized } from '../node/plan.ts';
import type { LoadBalancerConfig } from './config.ts';
import { eligibleNodes } from './eligible-nodes.ts';
import { type DesiredTarget, desiredTarget, type TargetRules } from './targets.ts';
import { type Notice, warning } from './wanted.ts';

export interface DesiredTargets {
  /** In order of preference, should the type not have room for all. */
  readonly targets: readonly TargetBody[];
  /** Targets that stay if they are there, but are not added. */
  readonly kept: readonly TargetBody[];
  readonly notices: readonly Notice[];
}

/** All that is there now, for when nobody can tell what is wanted. */
export const presentTargets = (present: LoadBalancer | undefined): DesiredTargets => ({
  targets: [],
  kept: (present?.targets ?? []).flatMap((target): TargetBody[] => {
    if (target.type === 'label_selector') return [];
    if (target.type === 'ip') return [{ type: 'ip', ip: target.ip }];
    return [{ type: 'server', serverID: target.serverID, usePrivateIP: target.usePrivateIP }];
  }),
  notices: [],
});

/** What is there of nodes that other instances look after. Another instance may have added it, so it stays as it is. */
export function targetsOfOthers(
  present: LoadBalancer | undefined,
  others: readonly KubeNode[],
  lists: InstanceLists,
): readonly TargetBody[] {
  if (others.length === 0) return [];
  const providerIDs = new Set(others.map(({ providerID }) => providerID));
  const addresses = new Set(others.flatMap(node => addressesOf(node, lists)));
  return presentTargets(present).kept.filter(
    target =>
      (target.type === 'ip' && addresses.has(target.ip)) ||
      (target.type === 'server' && providerIDs.has(cloudProviderID(target.serverID))),
  );
}

function addressesOf(node: KubeNode, lists: InstanceLists): string[] {
  const located = locate(node, lists);
  const ipv4 = located.kind === 'found' ? located.machine.server.ipv4 : undefined;
  return [...node.addresses.map(({ address }) => address), ...(ipv4 === undefined ? [] : [ipv4])];
}

export interface NodeTargetsInput {
  readonly config: Pick<LoadBalancerConfig, 'nodeSelector'>;
  readonly nodes: readonly KubeNode[];
  readonly lists: InstanceLists;
  readonly rules: TargetRules;
}

/** One target for each eligible node, the oldest first; those that can't be targets in one event on the Service, too. */
export function nodeTargets({ config: { nodeSelector }, nodes, lists, rules }: NodeTargetsInput): DesiredTargets {
  const selector = nodeSelector === undefined ? everything : (parseLabelSelector(nodeSelector) ?? everything);
  // A node that is only just joining becomes a target once it is initialised, without a word before.
  const known = nodes.filter(node => node.providerID !== '' || !isUninitialized(node));
  const eligible = eligibleNodes(known, selector);
  const results = [...eligible].sort(byAge).map(node => desiredTarget(node, lists, rules));
  const skipped = results.filter((r): r is DesiredTarget & { kind: 'skip' } => r.kind === 'skip');
  return {
    targets: results.flatMap(r => (r.kind === 'target' ? [r.target] : [])),
    kept: skipped.flatMap(({ keep }) => (keep === undefined ? [] : [keep])),
    notices: [
      ...skipped
        .filter(({ isElsewhere }) => isElsewhere !== true)
        .map(({ node, reason, problem }) => ({ ...warning(reason, `Not a target: ${problem}`), node })),
      ...results.flatMap(r => (r.kind === 'target' && r.notice !== undefined ? [r.notice] : [])),
      ...summary(eligible.length, skipped, nodeSelector),
    ],
  };
}

function summary(
  eligible: number,
  skipped: readonly { readonly problem: string }[],
  nodeSelector: string | undefined,
): Notice[] {
  if (eligible === 0) {
    const outside = nodeSelector === undefined ? '' : `, nor those outside of node-selector ${nodeSelector}`;
    const text = `There are no nodes that can be targets; nodes with the label node.kubernetes.io/exclude-from-external-load-balancers are none${outside}`;
    return [warning('UnAvailableLoadBalancer', text)];
  }
  if (skipped.length === 0) return [];
  const problems = skipped.slice(0, 5).map(({ problem }) => problem);
  return [
    warning(
      'SyncLoadBalancerFailed',
      `${skipped.length} of ${eligible} nodes are not targets: ${problems.join('; ')}${skipped.length > 5 ? '; ...' : ''}`,
    ),
  ];
}

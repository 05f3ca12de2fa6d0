import type { EventReason } from '../../kubernetes/event-reasons.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Located, Machine } from '../instances.ts';
import { desiredNode, type NodeSettings } from './desired.ts';
import { isUninitialized, type NodePlan, planLabels, planNode } from './plan.ts';

/** What becomes of a node by what is known of its machine. */
export type NodeDecision =
  | {
      readonly kind: 'apply';
      /** Undefined where the plan needed none. */
      readonly machine: Machine | undefined;
      readonly plan: NodePlan;
      /** Internal addresses that are not kept, each with the reason in words. */
      readonly misconfigured: readonly { readonly address: string; readonly problem: string }[];
    }
  /** Better news are needed: until then it stays as it is. The reason is that of an event. */
  | { readonly kind: 'wait'; readonly reason: EventReason; readonly problem: string }
  /** It waits to be initialised, but not by us. */
  | { readonly kind: 'leave'; readonly problem: string };

export function decideNode(node: KubeNode, located: Located, settings: NodeSettings): NodeDecision {
  const wait = (reason: EventReason, problem: string): NodeDecision => ({ kind: 'wait', reason, problem });
  switch (located.kind) {
    case 'foreign':
      return isUninitialized(node) ? { kind: 'leave', problem: located.problem } : labelsOnly(node);
    case 'ambiguous':
      return wait('InstanceLookupFailed', located.problem);
    case 'missing':
      return isUninitialized(node) ? wait('InstanceNotFound', located.problem) : labelsOnly(node);
    case 'found': {
      const desired = desiredNode(node, located.machine, settings);
      if ('problem' in desired) return wait('ProvidedNodeIPMismatch', desired.problem);
      const { misconfigured } = desired;
      return { kind: 'apply', machine: located.machine, plan: planNode(node, desired.node), misconfigured };
    }
  }
}

/** Label pairs need no machine. */
const labelsOnly = (node: KubeNode): NodeDecision => {
  const labels = planLabels(node);
  const changes = labels === undefined ? [] : [labels];
  return { kind: 'apply', machine: undefined, plan: { changes, keptLabels: [] }, misconfigured: [] };
};

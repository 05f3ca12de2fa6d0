import type { LabelSelector } from '../../kubernetes/label-selector.ts';
import type { KubeNode } from '../../kubernetes/types.ts';

/** Keeps a node out of load balancers (Kubernetes); a value that means false does not. */
export const excludeLabel = 'node.kubernetes.io/exclude-from-external-load-balancers';
/** Set by autoscalers on a node that is about to go. */
const leavingTaints = ['ToBeDeletedByClusterAutoscaler', 'karpenter.sh/disrupted'];

const falsehoods = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

/**
 * Nodes that may be targets, by Kubernetes' rules (service controller): not being deleted, not excluded by label, not
 * about to be deleted by an autoscaler. Whether a node is ready does not count: the health checks decide, so the set
 * stays stable. Cordoned nodes leave as long as others stay, for a cordon comes before a drain.
 */
export function eligibleNodes(nodes: readonly KubeNode[], selector: LabelSelector): readonly KubeNode[] {
  const eligible = nodes.filter(
    node =>
      !node.deleting &&
      !isExcluded(node) &&
      !node.taints.some(taint => leavingTaints.includes(taint.key)) &&
      selector(node.labels),
  );
  const open = eligible.filter(node => !node.unschedulable);
  return open.length > 0 ? open : eligible;
}

const isExcluded = ({ labels }: KubeNode): boolean => {
  const value = labels[excludeLabel];
  return value !== undefined && !falsehoods.includes(value);
};

import type { KubeNode, NodeAddress } from '../../kubernetes/types.ts';
import { sameAddresses } from './addresses.ts';
import type { DesiredNode } from './desired.ts';
import { labelsToSync } from './labels.ts';

/** Taint a kubelet with --cloud-provider=external registers with; removed by key, whatever its value or effect. */
export const uninitializedTaint = 'node.cloudprovider.kubernetes.io/uninitialized';

export const isUninitialized = (node: KubeNode): boolean => node.taints.some(t => t.key === uninitializedTaint);

/**
 * - `addresses`: replace status.addresses as a whole.
 * - `initialise`: provider ID (where absent), labels and the removal of the taint in one write.
 * - `labels`: labels alone, for nodes that were initialised before.
 */
export type NodeChange =
  | { readonly kind: 'addresses'; readonly addresses: readonly NodeAddress[] }
  | {
      readonly kind: 'initialise';
      readonly providerID: string | undefined;
      readonly labels: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'labels'; readonly labels: Readonly<Record<string, string>> };

export interface NodePlan {
  /** In the order they are applied: addresses go first, so that nothing is scheduled on a half-initialised node. */
  readonly changes: readonly NodeChange[];
  /** Labels the user set to something else than we would have; theirs stay. */
  readonly keptLabels: readonly string[];
}

/**
 * The difference between a node and what it should be. Labels and provider ID are written at initialisation only, as
 * Kubernetes' own node controller does; addresses whenever they differ as ordered lists.
 */
export function planNode(node: KubeNode, desired: DesiredNode): NodePlan {
  const changes: NodeChange[] = [];
  const keptLabels: string[] = [];
  if (!sameAddresses(node.addresses, desired.addresses)) {
    changes.push({ kind: 'addresses', addresses: desired.addresses });
  }
  if (isUninitialized(node)) {
    const labels: Record<string, string> = {};
    for (const [key, value] of Object.entries(desired.labels.wellKnown)) {
      if (node.labels[key] !== value) labels[key] = value;
    }
    for (const [key, value] of Object.entries(desired.labels.additional)) {
      const present = node.labels[key];
      if (present === undefined) labels[key] = value;
      else if (present !== value) keptLabels.push(key);
    }
    // A pair that Hetzner tells nothing about, so that the initialised node has none out of step.
    Object.assign(labels, labelsToSync({ ...node.labels, ...labels }));
    changes.push({ kind: 'initialise', providerID: node.providerID === '' ? desired.providerID : undefined, labels });
  } else {
    const labels = planLabels(node);
    if (labels !== undefined) changes.push(labels);
  }
  return { changes, keptLabels };
}

/** Brings the label pairs of an initialised node in step; needs no knowledge of its server. */
export function planLabels(node: KubeNode): Extract<NodeChange, { kind: 'labels' }> | undefined {
  if (isUninitialized(node)) return undefined;
  const labels = labelsToSync(node.labels);
  return Object.keys(labels).length === 0 ? undefined : { kind: 'labels', labels };
}

import type { KubeClient } from '../../kubernetes/client.ts';
import { type JSONPatchOp, replaceTaints, setLabels, setProviderID } from '../../kubernetes/json-patch.ts';
import { patchNode, patchNodeStatus } from '../../kubernetes/patches.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { type NodeChange, uninitializedTaint } from './plan.ts';

/** Makes one change of a node real, on condition that it is still the Node it was decided on. Resolves with it as it is now. */
export async function applyNode(
  client: KubeClient,
  node: KubeNode,
  change: NodeChange,
  signal: AbortSignal,
): Promise<KubeNode> {
  const written =
    change.kind === 'addresses'
      ? await patchNodeStatus(client, node, { addresses: change.addresses }, signal)
      : await patchNode(client, node, operations(node, change), signal);
  return written ?? node;
}

function operations(node: KubeNode, change: Exclude<NodeChange, { kind: 'addresses' }>): JSONPatchOp[] {
  const labels = setLabels(node, change.labels);
  if (change.kind === 'labels') return labels;
  const taints = node.taints.filter(taint => taint.key !== uninitializedTaint);
  const providerID = change.providerID === undefined ? [] : setProviderID(node, change.providerID);
  return [...providerID, ...labels, ...replaceTaints(node, taints)];
}

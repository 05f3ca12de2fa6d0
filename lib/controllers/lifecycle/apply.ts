import type { KubeClient } from '../../kubernetes/client.ts';
import { replaceTaints } from '../../kubernetes/json-patch.ts';
import { deleteNode, patchNode } from '../../kubernetes/patches.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { LifecycleChange } from './plan.ts';

/** Makes one change real, on condition that it still is the Node it was decided on, and unchanged where it is deleted. */
export async function applyLifecycle(
  client: KubeClient,
  node: KubeNode,
  change: LifecycleChange,
  signal: AbortSignal,
): Promise<void> {
  if (change.kind === 'delete') await deleteNode(client, node, signal);
  else await patchNode(client, node, replaceTaints(node, change.taints), signal);
}

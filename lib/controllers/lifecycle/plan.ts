import type { KubeNode, Taint } from '../../kubernetes/types.ts';
import type { DesiredNode } from './desired.ts';

/** Taint of a node whose machine is switched off (k8s.io/cloud-provider); its pods can be moved at once. */
export const shutdownTaint: Taint = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' };

const isShutdown = (taint: Taint): boolean => taint.key === shutdownTaint.key && taint.effect === shutdownTaint.effect;

/** True when kubelet reports the node as ready. Unknown, which is what a silent kubelet leads to, is not ready. */
export const isReady = (node: KubeNode): boolean => node.ready?.status === 'True';

/** One change of a node's life: its taints as they should be, others kept in order, or its deletion. */
export type LifecycleChange =
  | { readonly kind: 'taint' | 'untaint'; readonly taints: readonly Taint[] }
  | { readonly kind: 'delete' };

/** What a ready node needs: no shutdown taint. */
export function planReady(node: KubeNode): LifecycleChange | undefined {
  return node.taints.some(isShutdown)
    ? { kind: 'untaint', taints: node.taints.filter(taint => !isShutdown(taint)) }
    : undefined;
}

/** What a node that is not ready needs. The taint stays until the node is ready again, whatever its machine does. */
export function planNotReady(node: KubeNode, desired: DesiredNode): LifecycleChange | undefined {
  if (desired.kind === 'gone') return { kind: 'delete' };
  if (desired.kind !== 'tainted' || node.taints.some(isShutdown)) return undefined;
  return { kind: 'taint', taints: [...node.taints, shutdownTaint] };
}

import type { KubeNode } from '../../kubernetes/types.ts';
import { type Block, blockText, contains } from '../ip.ts';
import { needsPodCIDR } from './desired.ts';
import type { Pool } from './pool.ts';

/**
 * - `allocate`: gives the node a block that is free, or kept for it.
 * - `settle`: a write may still be under way that would give it a block of another range: that must not land any more.
 * - `exhausted`: the range has no free block.
 */
export type PodCIDRPlan =
  | { readonly kind: 'allocate'; readonly block: Block; readonly podCIDR: string }
  | { readonly kind: 'settle' }
  | { readonly kind: 'exhausted' };

/** What is to be done so that the node has a pod CIDR of the range; nothing where it has one or may have none. */
export function planPodCIDR(
  node: KubeNode,
  range: Block,
  pool: Pick<Pool, 'reservedFor' | 'next'>,
): PodCIDRPlan | undefined {
  if (!needsPodCIDR(node)) return undefined;
  const kept = pool.reservedFor(node.uid);
  const isRight = kept !== undefined && contains(range, kept.block);
  if (kept?.unsure && !isRight) return { kind: 'settle' };
  const block = isRight ? kept.block : pool.next(range);
  return block === undefined ? { kind: 'exhausted' } : { kind: 'allocate', block, podCIDR: blockText(block) };
}

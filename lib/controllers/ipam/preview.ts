import type { ServerLookup } from '../../hetzner/server-list.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { blockText } from '../ip.ts';
import type { PlannedChange, PlannedNote, Preview } from '../preview.ts';
import { desiredRange, type RangeSettings } from './desired.ts';
import { planPodCIDR } from './plan.ts';
import { createPool } from './pool.ts';

export interface PodCIDRsInput {
  readonly nodes: readonly KubeNode[];
  readonly servers: ServerLookup;
  readonly settings: RangeSettings;
  readonly maskSize: number;
}

/** Which pod CIDRs nodes would get, and the nodes as they would be then. */
export function previewPodCIDRs(input: PodCIDRsInput): Preview & { readonly after: readonly KubeNode[] } {
  const { nodes, servers, settings, maskSize } = input;
  const changes: PlannedChange[] = [];
  const notes: PlannedNote[] = [];
  const ignore = (): void => undefined;
  const pool = createPool({ maskSize, onUsage: ignore, onFreed: ignore, onShared: ignore });
  for (const node of nodes) pool.observe(node);
  const after = nodes.map(node => {
    const object = `Node ${node.name}`;
    const stays = (why: string): KubeNode => {
      notes.push({ object, text: `gets no pod CIDR: ${why}` });
      return node;
    };
    const desired = desiredRange(node, servers, settings);
    if (desired.kind === 'notAttached') return stays('its server is in none of the networks of the cluster');
    if (desired.kind === 'noRange') return stays(`no range is told for network ${desired.network.name}`);
    const plan = desired.kind === 'range' ? planPodCIDR(node, desired.range, pool) : undefined;
    if (desired.kind !== 'range' || plan === undefined || plan.kind === 'settle') return node;
    const range = blockText(desired.range);
    if (plan.kind === 'exhausted') return stays(`range ${range} is used up`);
    const { podCIDR } = plan;
    pool.reserve(node.uid, plan.block);
    const of = desired.network === undefined ? '' : ` of network ${desired.network.name}`;
    const why = `it has none, and this is free in the range ${range}${of}`;
    changes.push({ at: 'Kubernetes', object, action: 'set pod CIDR', details: { podCIDR }, why });
    return { ...node, podCIDRs: [podCIDR] };
  });
  return { changes, notes, after };
}

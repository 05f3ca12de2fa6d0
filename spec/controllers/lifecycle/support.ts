import type { InstanceLists } from '../../../lib/controllers/instances.ts';
import { createRobotServerList, type RobotServer } from '../../../lib/hetzner/robot-server.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import type { Server } from '../../../lib/hetzner/types.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { node } from '../../kubernetes/support.ts';

export const condition = (status: string): KubeNode['ready'] => ({ status, reason: 'spec' });
export const notReady = condition('False');

/** A Node of server `id` that is not ready. */
export const notReadyNode = (id: number, fields: Partial<KubeNode> = {}): KubeNode =>
  node(`w${id}`, { providerID: `hcloud://${id}`, ready: notReady, ...fields });

export const robotServer = (number: number, fields: Partial<RobotServer> = {}): RobotServer => ({
  number,
  name: `bm${number}`,
  product: 'AX41-NVMe',
  dc: 'FSN1-DC14',
  ipv4: `198.51.100.${number % 256}`,
  ipv6: undefined,
  ...fields,
});

export const lists = (
  servers: readonly Server[],
  { robots, at = 0 }: { readonly robots?: readonly RobotServer[]; readonly at?: number } = {},
): InstanceLists => ({
  cloud: createServerList(servers, at),
  robot: robots && createRobotServerList(robots, at),
});

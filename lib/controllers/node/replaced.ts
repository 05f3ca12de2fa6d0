import type { EventRecorder } from '../../kubernetes/events.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../streams/clock.ts';
import { type InstanceLists, locate, machineID } from '../instances.ts';
import { nodeTarget } from '../node-target.ts';
import { createReminders } from '../reminders.ts';
import type { Witness } from '../witness.ts';
import { isUninitialized } from './plan.ts';

export interface ReplacedDeps {
  readonly witness: Pick<Witness, 'trust'>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}

/** The machine that has the node's name now, where the one of its provider ID is gone. */
export function successorOf(node: KubeNode, lists: InstanceLists): number | undefined {
  if (node.providerID === '' || locate(node, lists).kind !== 'missing') return undefined;
  const named = locate({ ...node, providerID: '' }, lists);
  return named.kind === 'found' ? machineID(named.machine) : undefined;
}

/**
 * Tells of nodes that are ready although their server is gone, as another one was made under its name and its kubelet
 * goes on under the old Node. A provider ID can't be changed, so the Node has to be made anew; until then it has no
 * routes and is no target. Nodes that are not ready are the lifecycle controller's.
 */
export function createReplaced({ witness, events, clock, logger }: ReplacedDeps) {
  const reminders = createReminders(clock);
  const remedy = 'delete the Node and restart its kubelet, so that it joins anew';
  return (nodes: readonly KubeNode[], lists: InstanceLists): void => {
    for (const node of nodes) {
      if (node.ready?.status !== 'True' || node.deleting || isUninitialized(node)) continue;
      const serverID = successorOf(node, lists);
      if (serverID === undefined || witness.trust(node, lists) === 'none') continue;
      if (!reminders.isNews(node.uid, String(serverID))) continue;
      const { name, providerID } = node;
      logger.warn('Found the server of a ready node replaced by another of its name', {
        controller: 'node',
        node: name,
        providerID,
        serverID,
        hint: remedy,
      });
      const message = `${providerID} does not exist any more, and server ${serverID} has the name of this node: ${remedy}`;
      events.event(nodeTarget(node), 'Warning', 'ServerReplaced', message);
    }
  };
}

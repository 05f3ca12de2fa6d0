import { concatMap, defer, merge, type Observable } from 'rxjs';
import type { Store, StoreChange } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Trigger } from '../../streams/workqueue.ts';
import { type InstanceLists, locate } from '../instances.ts';
import { isReady, planReady } from './plan.ts';

export interface TriggerSources {
  readonly nodes: Store<KubeNode>;
  /** The newest answers of both clouds, whatever they were made for. */
  readonly lists$: Observable<InstanceLists>;
}

/**
 * What makes the life of a node be looked at: it turns not ready or ready, goes away, gets another provider ID or loses
 * its taints while it is not ready, or an answer shows that its machine is not running. Heartbeats trigger nothing.
 */
export function lifecycleTriggers({ nodes, lists$ }: TriggerSources): Observable<Trigger> {
  const nodes$ = defer(() => nodes.watch()).pipe(concatMap(triggersOf));
  const machines$ = lists$.pipe(
    concatMap(lists =>
      nodes
        .list()
        .filter(node => !isReady(node) && !node.deleting && isSuspicious(node, lists))
        .map(node => ({ key: node.name, reason: 'server list shows no running server' })),
    ),
  );
  return merge(nodes$, machines$);
}

function triggersOf({ type, object, previous, initial }: StoreChange<KubeNode>): Trigger[] {
  const trigger = (reason: string): Trigger[] => [{ key: object.name, reason }];
  if (type === 'deleted') return trigger('node deleted');
  if (isReady(object)) {
    const wasNotReady = previous !== undefined && !isReady(previous);
    return wasNotReady || planReady(object) !== undefined ? trigger('node is ready') : [];
  }
  if (type === 'updated' && previous !== undefined && !concernsLife(previous, object)) return [];
  return trigger(initial ? 'node not ready at start' : 'node is not ready');
}

const concernsLife = (before: KubeNode, after: KubeNode): boolean =>
  isReady(before) !== isReady(after) ||
  before.providerID !== after.providerID ||
  before.taints.length !== after.taints.length;

function isSuspicious(node: KubeNode, lists: InstanceLists): boolean {
  const located = locate(node, lists);
  if (located.kind === 'missing') return true;
  return located.kind === 'found' && located.machine.kind === 'cloud' && located.machine.server.status === 'off';
}

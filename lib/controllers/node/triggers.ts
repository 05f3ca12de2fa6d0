import { concatMap, defer, merge, type Observable } from 'rxjs';
import type { Store, StoreChange } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Trigger } from '../../streams/workqueue.ts';
import { type InstanceLists, locate } from '../instances.ts';
import { externalIPv6Annotation, providedNodeIPAnnotation } from './addresses.ts';
import { desiredNode, type NodeSettings } from './desired.ts';
import { isUninitialized, planLabels, planNode } from './plan.ts';

export interface TriggerSources {
  readonly nodes: Store<KubeNode>;
  /** The newest answers of both clouds, whatever they were made for. */
  readonly lists$: Observable<InstanceLists>;
  readonly settings: NodeSettings;
}

/**
 * What makes a node be looked at: it joins, something changes that initialisation or labels depend on, or a list of
 * servers shows that it differs from its machine (which appeared, was attached to the network, got another address).
 * Heartbeats trigger nothing.
 */
export function nodeTriggers({ nodes, lists$, settings }: TriggerSources): Observable<Trigger> {
  const nodes$ = defer(() => nodes.watch()).pipe(concatMap(change => triggersOf(change)));
  const machines$ = lists$.pipe(
    concatMap(lists =>
      nodes
        .list()
        .filter(node => differs(node, lists, settings))
        .map(node => ({ key: node.name, reason: 'server list differs from node' })),
    ),
  );
  return merge(nodes$, machines$);
}

function triggersOf({ type, object, previous, initial }: StoreChange<KubeNode>): Trigger[] {
  if (type === 'deleted') return [];
  if (!isUninitialized(object) && planLabels(object) === undefined) return [];
  if (type === 'updated' && previous !== undefined && !concernsInitialisation(previous, object)) return [];
  return [{ key: object.name, reason: initial ? 'node present at start' : `node ${type}` }];
}

const concernsInitialisation = (before: KubeNode, after: KubeNode): boolean =>
  isUninitialized(before) !== isUninitialized(after) ||
  before.providerID !== after.providerID ||
  before.annotations[providedNodeIPAnnotation] !== after.annotations[providedNodeIPAnnotation] ||
  before.annotations[externalIPv6Annotation] !== after.annotations[externalIPv6Annotation] ||
  planLabels(after) !== undefined;

/** True when the list tells something about the node that the node doesn't say yet. */
function differs(node: KubeNode, lists: InstanceLists, settings: NodeSettings): boolean {
  if (node.deleting) return false;
  const located = locate(node, lists);
  if (located.kind !== 'found') return false;
  const desired = desiredNode(node, located.machine, settings);
  return 'node' in desired && planNode(node, desired.node).changes.length > 0;
}

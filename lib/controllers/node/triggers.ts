import { concatMap, defer, merge, type Observable } from 'rxjs';
import type { ServerList } from '../../hetzner/servers.ts';
import type { Store, StoreChange } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Trigger } from '../../streams/workqueue.ts';
import { providedNodeIPAnnotation } from './addresses.ts';
import { desiredNode, type NodeSettings } from './desired.ts';
import { lookUpServer } from './lookup.ts';
import { isUninitialized, planLabels, planNode } from './plan.ts';

export interface TriggerSources {
  readonly nodes: Store<KubeNode>;
  /** Each answered list of servers, whatever it was made for. */
  readonly servers$: Observable<ServerList>;
  readonly settings: NodeSettings;
}

/**
 * What makes a node be looked at: it joins, something changes that initialisation or labels depend on, or a list of
 * servers shows that it differs from its machine (which appeared, was attached to the network, got another address).
 * Heartbeats trigger nothing.
 */
export function nodeTriggers({ nodes, servers$, settings }: TriggerSources): Observable<Trigger> {
  const nodes$ = defer(() => nodes.watch()).pipe(concatMap(change => triggersOf(change)));
  const servers$$ = servers$.pipe(
    concatMap(servers =>
      nodes
        .list()
        .filter(node => differs(node, servers, settings))
        .map(node => ({ key: node.name, reason: 'server list differs from node' })),
    ),
  );
  return merge(nodes$, servers$$);
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
  planLabels(after) !== undefined;

/** True when the list tells something about the node that the node doesn't say yet. */
function differs(node: KubeNode, servers: ServerList, settings: NodeSettings): boolean {
  if (node.deleting) return false;
  const found = lookUpServer(node, servers);
  if (found.kind !== 'found') return false;
  const desired = desiredNode(node, found.server, settings);
  return 'node' in desired && planNode(node, desired.node).changes.length > 0;
}

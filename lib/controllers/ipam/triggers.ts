import { concatMap, defer, filter, merge, type Observable } from 'rxjs';
import type { Store, StoreChange } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Trigger } from '../../streams/workqueue.ts';
import { fenceAnnotation } from './apply.ts';
import { desiredRange, needsPodCIDR, needsServer, type RangeSettings, type ServerLookup } from './desired.ts';

export interface TriggerSources {
  readonly nodes: Store<KubeNode>;
  /** Each answered list of servers. */
  readonly servers$: Observable<ServerLookup>;
  readonly settings: RangeSettings;
}

/**
 * What makes a node be looked at that has no pod CIDR: it joins, is initialised or fenced, or a list of servers shows in
 * which network it is. Heartbeats trigger nothing.
 */
export function podCIDRTriggers({ nodes, servers$, settings }: TriggerSources): Observable<Trigger> {
  const nodes$ = defer(() => nodes.watch()).pipe(
    filter(concernsPodCIDR),
    concatMap(({ type, object, initial }) => [
      { key: object.name, reason: initial ? 'node present at start' : `node ${type}` },
    ]),
  );
  const isPlaced = (node: KubeNode, servers: ServerLookup): boolean =>
    needsPodCIDR(node) && needsServer(node, settings) && desiredRange(node, servers, settings).kind === 'range';
  const servers$$ = servers$.pipe(
    concatMap(servers => nodes.list().filter(node => isPlaced(node, servers))),
    concatMap(({ name }) => [{ key: name, reason: 'server list shows the network of the node' }]),
  );
  return merge(nodes$, servers$$);
}

const concernsPodCIDR = ({ type, object, previous }: StoreChange<KubeNode>): boolean => {
  if (type === 'deleted' || !needsPodCIDR(object)) return false;
  return (
    previous === undefined ||
    !needsPodCIDR(previous) ||
    previous.providerID !== object.providerID ||
    previous.annotations[fenceAnnotation] !== object.annotations[fenceAnnotation]
  );
};

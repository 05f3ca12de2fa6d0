import { concatMap, defer, filter, map, merge, type Observable, pairwise, startWith } from 'rxjs';
import type { ServerLookup } from '../../hetzner/server-list.ts';
import type { Store, StoreChange } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Trigger } from '../../streams/workqueue.ts';
import { fenceAnnotation } from './apply.ts';
import { desiredRange, needsPodCIDR, needsServer, type RangeSettings } from './desired.ts';

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
  /** By name the network that a list shows a waiting node in. A trigger is only what the list before did not show. */
  const placesBy = (servers: ServerLookup): ReadonlyMap<string, number | undefined> => {
    const waiting = nodes.list().filter(node => needsPodCIDR(node) && needsServer(node, settings));
    return new Map(
      waiting.flatMap(node => {
        const desired = desiredRange(node, servers, settings);
        return desired.kind === 'range' ? [[node.name, desired.network?.id] as const] : [];
      }),
    );
  };
  const placed$ = servers$.pipe(
    map(placesBy),
    startWith(new Map<string, number | undefined>()),
    pairwise(),
    concatMap(([before, now]) => [...now].filter(([name, network]) => before.get(name) !== network)),
    map(([key]) => ({ key, reason: 'server list shows the network of the node' })),
  );
  return merge(nodes$, placed$);
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

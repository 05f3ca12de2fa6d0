import { defer, EMPTY, ignoreElements, merge, type Observable, tap } from 'rxjs';
import { cloudProviderID } from '../../hetzner/provider-id.ts';
import type { Server } from '../../hetzner/types.ts';
import type { Store } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { allClaims, type Claims, routableCIDRs } from './desired.ts';

/** What an instance has to do with the routes of a network it may share with other instances. */
export interface RouteShare extends Claims {
  /** All nodes: the pod CIDRs of those that other instances look after are taken, too. */
  readonly all: Pick<Store<KubeNode>, 'list'>;
}

/** A share that learns from what happens to the nodes while it is subscribed to. */
export type RunningShare = RouteShare & { readonly run$: Observable<never> };

/** The share of an instance that looks after all nodes. */
export const wholeShare = (nodes: Pick<Store<KubeNode>, 'list'>): RunningShare => ({
  ...allClaims,
  all: nodes,
  run$: EMPTY,
});

export interface SelectedShareDeps {
  readonly all: Store<KubeNode>;
  /** Those of `all` that this instance looks after. */
  readonly nodes: Store<KubeNode>;
  /** The newest list of servers, if there is one. */
  readonly servers: () => readonly Server[] | undefined;
  readonly networkID: number;
  /** A node came from another instance, which may have changed its route. */
  readonly onHandedOver: () => void;
}

/**
 * The share of an instance that looks after some of the nodes. Routes carry no owner, so one that no node claims is
 * deleted only if its node was seen as ours until its end, if it leads to a server of a node of ours, or if it leads to no
 * server at all, which is of no use to anybody. All else may be another instance's to delete.
 */
export function selectedShare(deps: SelectedShareDeps): RunningShare {
  const { all, nodes, servers, networkID, onHandedOver } = deps;
  /** Pod CIDRs whose last node was ours. */
  const ours = new Set<string>();
  const isOurs = ({ name, uid }: KubeNode): boolean => nodes.get(name)?.uid === uid;

  const leadsToUsOrNowhere = (gateway: string): boolean => {
    const list = servers();
    const server = list?.find(one => one.privateNets.some(net => net.network === networkID && net.ip === gateway));
    if (server === undefined) return list !== undefined;
    const id = cloudProviderID(server.id);
    return nodes.list().some(({ providerID }) => providerID === id);
  };
  const others$ = defer(() => all.watch()).pipe(
    tap(({ type, object }) => {
      if (type !== 'deleted' && !isOurs(object)) for (const cidr of routableCIDRs(object)) ours.delete(cidr);
    }),
  );
  const ours$ = defer(() => nodes.watch()).pipe(
    tap(({ type, object, initial }) => {
      const isHandedAway = type === 'deleted' && all.get(object.name)?.uid === object.uid;
      for (const cidr of routableCIDRs(object)) {
        if (isHandedAway) ours.delete(cidr);
        else ours.add(cidr);
      }
      const isNewToUs = (nodes.observedAt(object.name) ?? 0) > (all.observedAt(object.name) ?? 0);
      if (type === 'added' && !initial && isNewToUs) onHandedOver();
    }),
  );
  return {
    all,
    isOurs,
    isLeftOver: (destination, gateway) => ours.has(destination) || leadsToUsOrNowhere(gateway),
    run$: merge(others$, ours$).pipe(ignoreElements()),
  };
}

import { catchError, concatMap, from, map, merge, type Observable, of, skip } from 'rxjs';
import { fromAbortable } from '../streams/from-abortable.ts';
import type { Cloud } from './cloud.ts';
import type { ServerList, Servers } from './servers.ts';
import { createSharedList, type SharedList, type SharedListTiming } from './shared-list.ts';
import type { CallOptions, Network } from './types.ts';

/** One answered list of all networks of the project. */
export interface NetworkList {
  /** Monotonic ms; the list speaks for this instant at the earliest. */
  readonly requestedAt: number;
  readonly networks: readonly Network[];
}

/** All networks of the project. */
export type Networks = SharedList<NetworkList>;

export const createNetworks = ({
  cloud,
  ...timing
}: SharedListTiming & { readonly cloud: Pick<Cloud, 'listNetworks'> }): Networks =>
  createSharedList({
    ...timing,
    fetch: cloud.listNetworks,
    build: (networks, requestedAt) => ({ requestedAt, networks }),
  });

/**
 * The same list of servers, told only when the networks of all its servers are known: a server in a network that was made
 * meanwhile is what networks are listed again for. A new list of networks tells the servers once more.
 */
export function serversInNetworks(servers: Servers, networks: Networks): Servers {
  /** Networks that a server was in while no list had them, which is asked for once. */
  const asked = new Set<number>();

  const unknownIn = ({ servers: all }: ServerList): number[] => {
    const known = new Set(networks.latest()?.networks.map(({ id }) => id));
    const ids = all.flatMap(({ privateNets }) => privateNets.map(({ network }) => network));
    return [...new Set(ids)].filter(id => !known.has(id) && !asked.has(id));
  };
  /** The newest pair that was compared and fits: each run asks again. */
  let covered: { readonly list: ServerList; readonly networks: NetworkList | undefined } | undefined;
  const cover = async (list: ServerList, o: CallOptions): Promise<ServerList> => {
    const known = networks.latest();
    if (covered?.list === list && covered.networks === known) return list;
    const unknown = unknownIn(list);
    if (unknown.length === 0) {
      covered = { list, networks: known };
      return list;
    }
    await networks.notBefore(list.requestedAt, o);
    for (const id of unknown) asked.add(id);
    return list;
  };
  const told = (list: ServerList): Observable<ServerList> => {
    if (unknownIn(list).length === 0) return of(list);
    // Whoever needs the list itself hears of the failure; here it only comes later.
    return fromAbortable(signal => cover(list, { priority: 'refresh', signal })).pipe(catchError(() => of(list)));
  };
  const again$ = networks.changes$.pipe(
    skip(1),
    map(() => servers.latest()),
    concatMap(list => (list === undefined ? [] : from([list]))),
  );
  return {
    notBefore: async (instant, o) => cover(await servers.notBefore(instant, o), o),
    latest: servers.latest,
    changes$: merge(servers.changes$.pipe(concatMap(told)), again$),
  };
}

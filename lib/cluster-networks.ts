import {
  catchError,
  distinctUntilChanged,
  EMPTY,
  exhaustMap,
  filter,
  ignoreElements,
  map,
  mergeMap,
  type Observable,
  scan,
  takeUntil,
} from 'rxjs';
import { type ChosenNetworks, type NodeNetworks, nodeNetworks } from './controllers/networks.ts';
import type { NetworkList, Networks } from './hetzner/networks.ts';
import type { Network } from './hetzner/types.ts';
import { gatewaysOf, rangesOf } from './network-ranges.ts';
import type { Logger } from './observability/logger.ts';
import { nameMatcher } from './settings/name-pattern.ts';
import type { Settings } from './settings/settings.ts';
import type { Clock } from './streams/clock.ts';
import { fromAbortable } from './streams/from-abortable.ts';
import type { Snapshot } from './streams/snapshot.ts';

/** Where nodes live in several networks: which ones, of those that the settings describe. */
export interface ClusterNetworks extends NodeNetworks {
  current(): ChosenNetworks<Network>;
  /** Which networks there are now, and on each difference. */
  readonly chosen$: Observable<Snapshot<ChosenNetworks<Network>>>;
}

type Wanted = Pick<Settings['hcloud'], 'network' | 'furtherNetworks'>;

/** Why a list of networks does not fit the settings, in words. */
export interface NetworksProblem {
  readonly problem: string;
  /** The name or id that no network has. */
  readonly missing?: string | undefined;
}

/** What the settings choose of a list of networks; in words what is missing. */
export function chooseNetworks(
  { network: primaryName, furtherNetworks }: Wanted,
  { networks }: NetworkList,
): ChosenNetworks<Network> | NetworksProblem {
  const find = (wanted: string | undefined): Network | undefined =>
    networks.find(({ id }) => String(id) === wanted) ?? networks.find(({ name }) => name === wanted);
  const missing = (setting: string, wanted: string | undefined) => ({
    problem: `${setting}: no network with the name or id ${JSON.stringify(wanted)} in the Hetzner Cloud project`,
    missing: wanted,
  });
  const {
    controlPlane: controlPlaneName,
    workerRegex,
    workerPrefix,
    podCIDRs = [],
    gateways = [],
  } = furtherNetworks ?? {};
  const controlPlane = find(controlPlaneName);
  if (controlPlaneName !== undefined && controlPlane === undefined)
    return missing('HCLOUD_CONTROL_PLANE_NETWORK', controlPlaneName);
  const primary = find(primaryName);
  if (primary === undefined) return missing('HCLOUD_NETWORK', primaryName);
  const isWorker =
    workerRegex === undefined
      ? (name: string) => workerPrefix !== undefined && name.startsWith(workerPrefix)
      : nameMatcher(workerRegex);
  const others = networks
    .filter(network => network !== primary && (network === controlPlane || isWorker(network.name)))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const all = [primary, ...others];
  const names = { find, all, isWorker };
  const ranges = rangesOf(podCIDRs, names);
  if ('problem' in ranges) return ranges;
  const rules = gatewaysOf(gateways, names);
  if ('problem' in rules) return rules;
  return {
    primary,
    controlPlane: controlPlane === primary ? undefined : controlPlane,
    all,
    podCIDRs: ranges,
    gateways: rules,
  };
}

/** What a list of networks tells that users should know. Told at each list that shows it. */
export interface NetworkListReport {
  /** Of a network that must be there and is not; undefined where all are. */
  readonly onProblem: (problem: NetworksProblem | undefined) => void;
  /** Networks that go by another name than when they became ones of the cluster. */
  readonly onRenamed: (networks: readonly Network[], nameBefore: (id: number) => string) => void;
}

/**
 * Follows the list of networks. A list that lacks a network that must be there changes nothing: such a setting stops the next
 * start. A network stays what it is under another name, as routes and nodes in it do, unless another one takes its name.
 */
export function clusterNetworks(wanted: Wanted, networks: Networks, report?: NetworkListReport): ClusterNetworks {
  let known: { readonly list: NetworkList; readonly chosen: ChosenNetworks<Network> } | undefined;
  let heard: NetworkList | undefined;
  const update = (list: NetworkList): Snapshot<ChosenNetworks<Network>> => {
    if (heard !== list) {
      heard = list;
      const names = new Map(known?.chosen.all.map(({ id, name }) => [id, name]));
      const renamed = renamedIn(list, names);
      report?.onRenamed(renamed, id => names.get(id) ?? '');
      const before = list.networks.map(one =>
        renamed.includes(one) ? { ...one, name: names.get(one.id) ?? '' } : one,
      );
      const chosen = chooseNetworks(wanted, { ...list, networks: before });
      report?.onProblem('problem' in chosen ? chosen : undefined);
      if (!('problem' in chosen)) known = { list, chosen };
    }
    if (known === undefined) throw new Error('the networks of the cluster are not known');
    return { value: known.chosen, requestedAt: known.list.requestedAt };
  };
  const current = (): ChosenNetworks<Network> => {
    const list = networks.latest() ?? known?.list;
    if (list === undefined) throw new Error('the networks of the cluster are not known yet');
    return update(list).value;
  };
  const signature = ({ all }: ChosenNetworks): string => all.map(({ id, name }) => `${id} ${name}`).join('\n');
  return {
    ...nodeNetworks(current),
    current,
    chosen$: networks.changes$.pipe(
      map(update),
      distinctUntilChanged((a, b) => signature(a.value) === signature(b.value)),
    ),
  };
}

/** The networks of the cluster that go by another name by now, which no other network has taken. */
function renamedIn({ networks }: NetworkList, names: ReadonlyMap<number, string>): readonly Network[] {
  const taken = new Set(networks.map(({ name }) => name));
  return networks.filter(({ id, name }) => {
    const before = names.get(id);
    return before !== undefined && before !== name && !taken.has(before);
  });
}

/** Runs something for each network for as long as it is one of the cluster. */
export function forEachNetwork<T>(
  { chosen$ }: Pick<ClusterNetworks, 'chosen$'>,
  run: (network: Snapshot<Network>) => Observable<T>,
): Observable<T> {
  const isGone =
    (id: number) =>
    ({ value }: Snapshot<ChosenNetworks>) =>
      !value.all.some(one => one.id === id);
  return chosen$.pipe(
    scan((before, { value, requestedAt }) => {
      const known = new Set(before.now.map(({ id }) => id));
      const added = value.all.filter(({ id }) => !known.has(id)).map(network => ({ value: network, requestedAt }));
      return { now: value.all, added };
    }, nothingYet),
    mergeMap(({ added }) => added),
    mergeMap(network => run(network).pipe(takeUntil(chosen$.pipe(filter(isGone(network.value.id)))))),
  );
}

const nothingYet: { readonly now: readonly Network[]; readonly added: readonly Snapshot<Network>[] } = {
  now: [],
  added: [],
};

/** Networks that are made, renamed or deleted while no server is in them are noticed in time, too. */
export function listedAgain(
  networks: Networks,
  /** The safety pass, and whenever Hetzner says that one is not there. */
  due$: Observable<unknown>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Observable<never> {
  const read = (signal: AbortSignal) => networks.notBefore(clock.monotonic(), { priority: 'refresh', signal });
  return due$.pipe(
    exhaustMap(() =>
      fromAbortable(read).pipe(
        catchError(err => {
          logger.warn('Failed to list the networks, will try again', { err });
          return EMPTY;
        }),
      ),
    ),
    ignoreElements(),
  );
}

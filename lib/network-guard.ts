import { exhaustMap, filter, map, merge, type Observable, pairwise, startWith } from 'rxjs';
import type { Project } from './controllers/project.ts';
import type { Cloud } from './hetzner/cloud.ts';
import type { Servers } from './hetzner/servers.ts';
import type { CallOptions, Network } from './hetzner/types.ts';
import type { EventReason } from './kubernetes/event-reasons.ts';
import { wait } from './kubernetes/wait.ts';
import type { Logger } from './observability/logger.ts';
import type { Clock } from './streams/clock.ts';
import { fromAbortable } from './streams/from-abortable.ts';
import type { Snapshot } from './streams/snapshot.ts';

export interface NetworkGuardDeps {
  /** The network as the term of leadership found it. */
  readonly network: Network;
  /** HCLOUD_NETWORK. */
  readonly wanted: string;
  readonly cloud: Pick<Cloud, 'findNetwork' | 'getNetwork'>;
  readonly servers: Pick<Servers, 'changes$'>;
  /** Of somebody else's project nothing is taken over. */
  readonly project: Pick<Project, 'doubt'>;
  /** Somebody who read the network was told that there is none. */
  readonly missed$: Observable<unknown>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  /** Tells users about the controller itself. */
  readonly warn: (reason: EventReason, message: string) => void;
  /** Told whether the network is missing. */
  readonly onMissing: (isMissing: boolean) => void;
  /** ms to wait after the n-th look in a row, n from 0. */
  readonly backoff: (attempt: number) => number;
}

/** The network has become another one: all that was made for the old one has to be made anew. */
export class NetworkReplaced extends Error {
  override readonly name = 'NetworkReplaced';
  /** The other one as read now: no second look may come to another end. */
  readonly network: Snapshot<Network>;

  constructor(network: Snapshot<Network>) {
    super();
    this.network = network;
  }
}

/**
 * Notices that the network was deleted, tells of it once, and looks for one of the same name or id ever more rarely.
 * Emits when there is another one. No request while nothing speaks for a loss: a reader found none, or suddenly no
 * server is in it.
 */
export function networkGuard(deps: NetworkGuardDeps): Observable<Snapshot<Network>> {
  const { network, servers, missed$ } = deps;
  const emptied$ = servers.changes$.pipe(
    map(list => list.servers.some(({ privateNets }) => privateNets.some(net => net.network === network.id))),
    startWith(false),
    pairwise(),
    filter(([before, now]) => before && !now),
  );
  return merge(missed$, emptied$).pipe(
    exhaustMap(() => fromAbortable(signal => lookFor(deps, signal))),
    filter(found => found !== undefined),
    filter(({ value }) => value.id !== network.id),
  );
}

/** Looks until there is one; undefined where the signal ends it. */
async function lookFor(deps: NetworkGuardDeps, signal: AbortSignal): Promise<Snapshot<Network> | undefined> {
  const { network, cloud, project, clock, logger, warn, onMissing, backoff } = deps;
  const o: CallOptions = { priority: 'refresh', signal };
  const fields = { network: network.name, networkID: network.id };
  /** One that was renamed is still there. */
  const find = async (): Promise<Network | 'unknown' | undefined> => {
    const found = (await cloud.findNetwork(deps.wanted, o)) ?? (await cloud.getNetwork(network.id, o));
    return found?.id === network.id || (await project.doubt(o)) === undefined ? found : 'unknown';
  };
  let told = false;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    const requestedAt = clock.monotonic();
    const found = await find().catch(err => {
      signal.throwIfAborted();
      logger.warn('Failed to look for the network, will try again', { ...fields, err });
      return 'unknown' as const;
    });
    if (found !== undefined && found !== 'unknown') {
      onMissing(false);
      if (found.id !== network.id)
        logger.info('Found another network under the name, starting anew with it', {
          network: found.name,
          networkID: found.id,
        });
      else if (told) logger.info('Found the network again', fields);
      return { value: found, requestedAt };
    }
    if (found === undefined && !told) {
      told = true;
      onMissing(true);
      const hint =
        'make a network of this name again, which is taken over without a restart, or set HCLOUD_NETWORK to another one';
      logger.error('Found the network gone', { ...fields, setting: 'HCLOUD_NETWORK', hint });
      warn('NetworkNotFound', `The network ${network.name} (${network.id}) does not exist any more: ${hint}`);
    }
    await wait(backoff(attempt), signal);
  }
  return undefined;
}

import { defer, type Observable, retry, throwError, timer } from 'rxjs';
import { chooseNetworks } from './cluster-networks.ts';
import type { ChosenNetworks } from './controllers/networks.ts';
import { FatalError } from './fatal-error.ts';
import type { Cloud } from './hetzner/cloud.ts';
import { classOf } from './hetzner/errors.ts';
import { attachedNetworks, MetadataError } from './hetzner/metadata.ts';
import type { Networks } from './hetzner/networks.ts';
import type { Servers } from './hetzner/servers.ts';
import type { CallOptions, Network } from './hetzner/types.ts';
import type { Logger } from './observability/logger.ts';
import type { Settings } from './settings/settings.ts';
import type { Clock } from './streams/clock.ts';
import { fromAbortable } from './streams/from-abortable.ts';
import type { Snapshot } from './streams/snapshot.ts';

export interface FirstContactDeps {
  readonly settings: Settings;
  readonly cloud: Pick<Cloud, 'findNetwork'>;
  /** Needed where nodes live in several networks. */
  readonly networks?: Pick<Networks, 'notBefore'>;
  readonly servers: Pick<Servers, 'notBefore'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** ms to wait after the n-th failure in a row, n from 0. */
  readonly backoff: (attempt: number) => number;
}

export interface Contact {
  /** The configured network as read now; undefined when none is configured. */
  readonly network: Snapshot<Network> | undefined;
  /** All of them, where nodes live in several. */
  readonly networks?: ChosenNetworks<Network>;
}

/**
 * What a term of leadership starts with: the reads all controllers need anyway (servers and the network by its name or
 * id), which also prove token and settings. Outages are waited out; a wrong token or network is a FatalError.
 */
export function firstContact(deps: FirstContactDeps): Observable<Contact> {
  const { logger, backoff } = deps;
  return defer(() => fromAbortable(signal => contactOnce(deps, signal))).pipe(
    retry({
      delay: (err, count) => {
        if (err instanceof FatalError) return throwError(() => err);
        const after = backoff(count - 1);
        logger.warn('Failed to reach Hetzner, will try again', { after, err });
        return timer(after);
      },
    }),
  );
}

/** One try. */
export async function contactOnce(deps: Omit<FirstContactDeps, 'backoff'>, signal: AbortSignal): Promise<Contact> {
  const { settings, cloud, servers, networks, clock, logger } = deps;
  const { network: wanted, furtherNetworks } = settings.hcloud;
  const requestedAt = clock.monotonic();
  const o = { priority: 'initialise', signal } as const;
  try {
    if (furtherNetworks !== undefined && networks !== undefined) return await contactSeveral({ ...deps, networks }, o);
    const [network] = await Promise.all([
      wanted === undefined ? undefined : cloud.findNetwork(wanted, o),
      servers.notBefore(requestedAt - settings.serverCache.maxAge, o),
    ]);
    if (wanted === undefined) return { network: undefined };
    if (network === undefined) {
      throw new FatalError(
        `HCLOUD_NETWORK: no network with the name or id ${JSON.stringify(wanted)} in the Hetzner Cloud project`,
      );
    }
    if (settings.hcloud.networkAttachedCheck) await checkAttached(settings, network, signal, logger);
    return { network: { value: network, requestedAt } };
  } catch (err) {
    if (classOf(err) !== 'unauthorized') throw err;
    throw new FatalError(`HCLOUD_TOKEN: Hetzner refused the token: ${(err as Error).message}`, { cause: err });
  }
}

/** One list of networks tells them all. */
async function contactSeveral(
  {
    settings,
    servers,
    networks,
    clock,
    logger,
  }: Omit<FirstContactDeps, 'backoff'> & { readonly networks: Pick<Networks, 'notBefore'> },
  o: CallOptions,
): Promise<Contact> {
  const instant = clock.monotonic() - settings.serverCache.maxAge;
  // Servers first: their networks are then known from the same moment.
  const [, list] = await Promise.all([servers.notBefore(instant, o), networks.notBefore(instant, o)]);
  const chosen = chooseNetworks(settings.hcloud, list);
  if ('problem' in chosen) throw new FatalError(chosen.problem);
  const { primary, controlPlane } = chosen;
  if (settings.hcloud.networkAttachedCheck) await checkAttached(settings, controlPlane ?? primary, o.signal, logger);
  return { network: { value: primary, requestedAt: list.requestedAt }, networks: chosen };
}

/**
 * Routes and private load balancer targets need this machine's network to be the configured one, so a server that is in
 * another network points to a wrong setting. Where nobody answers this is no Cloud server (or its firewall says no),
 * and nothing can be told.
 */
async function checkAttached(settings: Settings, network: Network, signal: AbortSignal, logger: Logger): Promise<void> {
  const fields = { network: network.name, networkID: network.id };
  try {
    const attached = await attachedNetworks({ endpoint: settings.hcloud.metadataEndpoint, signal });
    if (attached.includes(network.id)) return;
  } catch (err) {
    if (!(err instanceof MetadataError)) throw err;
    logger.warn('Skipped the check that this machine is in the network, as the metadata service did not tell', {
      ...fields,
      setting: 'HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK',
      err,
    });
    return;
  }
  const setting =
    settings.hcloud.furtherNetworks?.controlPlane === undefined ? 'HCLOUD_NETWORK' : 'HCLOUD_CONTROL_PLANE_NETWORK';
  throw new FatalError(
    `${setting}: this server is not attached to network ${network.name} (${network.id}); attach it, or set HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK=true to run elsewhere`,
  );
}

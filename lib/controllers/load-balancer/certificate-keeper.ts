import type { Actions } from '../../hetzner/actions.ts';
import { isNotFound } from '../../hetzner/errors.ts';
import type { CertificateList } from '../../hetzner/lb-snapshot.ts';
import type { Certificate } from '../../hetzner/lb-types.ts';
import type { LoadBalancers } from '../../hetzner/load-balancers.ts';
import { createOwnWrites } from '../../hetzner/own-writes.ts';
import type { SharedList } from '../../hetzner/shared-list.ts';
import type { CallOptions } from '../../hetzner/types.ts';
import type { KubeService } from '../../kubernetes/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../streams/clock.ts';
import { desiredCertificates, needsCertificates } from './certificates.ts';
import type { LoadBalancerConfig } from './config.ts';
import { ownerLabel } from './identity.ts';
import type { ServiceReport } from './report.ts';
import { isSlowToChange } from './report.ts';

export interface ResolvedCertificates {
  readonly ids: readonly number[];
  readonly obsolete: readonly Certificate[];
  /** Why a managed certificate can't be had for now; what is in use stays in use. */
  readonly problem: unknown;
}

/** Finds and makes the certificates of Services, from one list for all of them. */
export interface CertificateKeeper {
  resolve(
    service: KubeService,
    config: LoadBalancerConfig,
    tell: ServiceReport,
    o: CallOptions,
  ): Promise<ResolvedCertificates>;
  /** Deletes certificates of ours; one that is still in use is left for the next time. */
  cleanUp(obsolete: readonly Certificate[], o: CallOptions): Promise<void>;
  /** Deletes all certificates that were made for a Service. */
  cleanUpAll(service: KubeService, o: CallOptions): Promise<void>;
}

export interface CertificateKeeperDeps {
  readonly api: Pick<LoadBalancers, 'createCertificate' | 'deleteCertificate'>;
  readonly snapshot: SharedList<CertificateList>;
  readonly actions: Actions;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How old the list may be that says which certificates there are, in ms. Names don't change much. */
const maxAge = 60_000;
/** After a limit of the account, or a refusal of the CA, no certificate of a Service is asked for during this, in ms. */
const limitPause = 3_600_000;

export function createCertificateKeeper({
  api,
  snapshot,
  actions,
  clock,
  logger,
}: CertificateKeeperDeps): CertificateKeeper {
  const writes = createOwnWrites<Certificate>();
  const pausedUntil = new Map<string, { readonly until: number; readonly err: unknown }>();
  let needed = Number.NEGATIVE_INFINITY;

  const load = async (instant: number, o: CallOptions): Promise<readonly Certificate[]> => {
    const list = await snapshot.notBefore(Math.max(instant, needed), o);
    return writes.over(list.certificates, list.requestedAt);
  };

  const remove = async (certificate: Certificate, o: CallOptions): Promise<void> => {
    try {
      await api.deleteCertificate(certificate.id, o);
    } catch (err) {
      if (o.signal.aborted) throw err;
      if (!isNotFound(err)) {
        logger.debug('Could not delete certificate yet', { certificateID: certificate.id, err });
        return;
      }
    }
    writes.forget(certificate.id, clock.monotonic());
    logger.info('Deleted certificate', { certificateID: certificate.id, subject: certificate.name });
  };

  return {
    resolve: async (service, config, tell, o) => {
      if (!needsCertificates(config)) return { ids: [], obsolete: [], problem: undefined };
      const all = await load(clock.monotonic() - maxAge, o);
      const { ids, create, obsolete, problems } = desiredCertificates(service, config, all);
      for (const problem of problems) tell.failed(problem);
      const inUse = obsolete.map(({ id }) => id);
      if (create === undefined) return { ids, obsolete, problem: undefined };
      const paused = pausedUntil.get(service.uid);
      if (paused !== undefined && clock.monotonic() < paused.until)
        return { ids: inUse, obsolete: [], problem: paused.err };
      try {
        const made = await api.createCertificate({ type: 'managed', ...create }, o);
        if (made.action !== undefined) await actions.wait(made.action, o);
        writes.record(made.item, clock.monotonic());
        pausedUntil.delete(service.uid);
        logger.info('Created certificate', { certificateID: made.item.id, subject: create.name });
        return { ids: [made.item.id], obsolete, problem: undefined };
      } catch (err) {
        if (o.signal.aborted) throw err;
        needed = clock.monotonic();
        if (isSlowToChange(err)) pausedUntil.set(service.uid, { until: clock.monotonic() + limitPause, err });
        tell.failed(`managed certificate ${create.name}: ${err instanceof Error ? err.message : err}`);
        return { ids: inUse, obsolete: [], problem: err };
      }
    },
    cleanUp: async (obsolete, o) => {
      for (const certificate of obsolete) await remove(certificate, o);
    },
    cleanUpAll: async (service, o) => {
      pausedUntil.delete(service.uid);
      if (!Object.keys(service.annotations).some(key => key.includes('managed'))) return;
      const all = await load(clock.monotonic() - maxAge, o);
      for (const certificate of all) {
        if (certificate.type === 'managed' && certificate.labels[ownerLabel] === service.uid)
          await remove(certificate, o);
      }
    },
  };
}

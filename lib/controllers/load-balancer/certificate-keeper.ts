import type { Actions } from '../../hetzner/actions.ts';
import { isLimitExceeded, isNotFound } from '../../hetzner/errors.ts';
import type { CertificateList } from '../../hetzner/lb-snapshot.ts';
import type { Certificate } from '../../hetzner/lb-types.ts';
import type { LoadBalancers } from '../../hetzner/load-balancers.ts';
import { createOwnWrites } from '../../hetzner/own-writes.ts';
import type { SharedList } from '../../hetzner/shared-list.ts';
import type { Action, CallOptions } from '../../hetzner/types.ts';
import type { KubeService } from '../../kubernetes/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../streams/clock.ts';
import { codeOf } from './apply.ts';
import { desiredCertificates, type NewCertificate, needsCertificates } from './certificates.ts';
import type { LoadBalancerConfig } from './config.ts';
import { ownerLabel } from './identity.ts';
import type { ServiceReport } from './report.ts';

export interface ResolvedCertificates {
  readonly ids: readonly number[];
  /** False while some of those that are wanted can't be had: what is in use stays in use. */
  readonly complete: boolean;
  readonly obsolete: readonly Certificate[];
  /** Why some can't be had for now. */
  readonly problem: unknown;
  /** ms after which it is worth to look again; undefined leaves that to the queue. */
  readonly lookAgainIn: number | undefined;
}

/** A certificate that nobody needs and that could not be deleted; ms after which to look again, undefined for the queue's wait. */
export interface LeftOver {
  readonly err: unknown;
  readonly lookAgainIn: number | undefined;
}

/** Finds and makes the certificates of Services, from one list for all of them. */
export interface CertificateKeeper {
  resolve(
    service: KubeService,
    config: LoadBalancerConfig,
    tell: ServiceReport,
    o: CallOptions,
  ): Promise<ResolvedCertificates>;
  /** Deletes certificates of ours; resolves with why some are left. */
  cleanUp(obsolete: readonly Certificate[], o: CallOptions): Promise<LeftOver | undefined>;
  /** Deletes all certificates that were made for a Service. */
  cleanUpAll(service: KubeService, o: CallOptions): Promise<void>;
}

export interface CertificateKeeperDeps {
  readonly api: Pick<LoadBalancers, 'createCertificate' | 'deleteCertificate' | 'retryCertificate'>;
  readonly snapshot: SharedList<CertificateList>;
  readonly actions: Actions;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How old the list may be that says which certificates there are, in ms. Names don't change much. */
const maxAge = 60_000;
/** How long a run waits for a certificate, in ms: issuing takes minutes at times, and targets must not wait for it. */
const patience = 10_000;
/** How often is looked after that whether Hetzner has issued it, in ms. */
const pendingInterval = 30_000;
/** After a limit of the account, or a refusal of the CA, no certificate of a Service is asked for during this, in ms. */
const limitPause = 3_600_000;
/** A certificate that something else uses is tried again after this, in ms. */
const usedElsewhere = 3_600_000;

export function createCertificateKeeper({
  api,
  snapshot,
  actions,
  clock,
  logger,
}: CertificateKeeperDeps): CertificateKeeper {
  const writes = createOwnWrites<Certificate>();
  const pausedUntil = new Map<string, { readonly until: number; readonly err: unknown }>();
  /** Services, by uid, whose certificate was still being issued when it was last looked at. */
  const waiting = new Set<string>();
  let needed = Number.NEGATIVE_INFINITY;

  const load = async (instant: number, o: CallOptions): Promise<readonly Certificate[]> => {
    const list = await snapshot.notBefore(Math.max(instant, needed), o);
    return writes.over(list.certificates, list.requestedAt);
  };

  const remove = async (certificate: Certificate, o: CallOptions): Promise<LeftOver | undefined> => {
    try {
      await api.deleteCertificate(certificate.id, o);
    } catch (err) {
      if (o.signal.aborted) throw err;
      if (!isNotFound(err)) {
        const isUsed = codeOf(err) === 'service_error';
        // Of anything else the queue tells.
        if (isUsed) logger.warn('Left certificate that something else uses', { certificateID: certificate.id, err });
        return { err, lookAgainIn: isUsed ? usedElsewhere : undefined };
      }
    }
    writes.forget(certificate.id, clock.monotonic());
    logger.info('Deleted certificate', { certificateID: certificate.id, subject: certificate.name });
    return undefined;
  };

  /** Waits a while until Hetzner has issued it; resolves with the certificate as it is known then. */
  const issued = async (certificate: Certificate, action: Action | undefined, o: CallOptions): Promise<Certificate> => {
    const record = (issuance: string): Certificate => {
      const status = certificate.status && { ...certificate.status, issuance, error: undefined };
      const known = { ...certificate, status };
      writes.record(known, clock.monotonic());
      return known;
    };
    record('pending');
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), patience);
    try {
      if (action !== undefined) await actions.wait(action, { ...o, signal: AbortSignal.any([o.signal, limit.signal]) });
      return record('completed');
    } catch (err) {
      if (!limit.signal.aborted || o.signal.aborted) throw err;
      return record('pending');
    } finally {
      clearTimeout(timer);
    }
  };

  const create = async (wanted: NewCertificate, o: CallOptions): Promise<Certificate> => {
    const { item, action } = await api.createCertificate({ type: 'managed', ...wanted }, o);
    logger.info('Created certificate', { certificateID: item.id, subject: item.name });
    return issued(item, action, o);
  };

  const retry = async (broken: Certificate, o: CallOptions): Promise<Certificate> => {
    const action = await api.retryCertificate(broken.id, o);
    logger.info('Asked for certificate again', { certificateID: broken.id, subject: broken.name });
    return issued(broken, action, o);
  };

  return {
    resolve: async (service, config, tell, o) => {
      const nothing = { ids: [], complete: true, obsolete: [], problem: undefined, lookAgainIn: undefined };
      const later = (): ResolvedCertificates => {
        waiting.add(service.uid);
        return { ...nothing, complete: false, lookAgainIn: pendingInterval };
      };
      if (!needsCertificates(config)) return nothing;
      const age = waiting.delete(service.uid) ? pendingInterval / 2 : maxAge;
      const all = await load(clock.monotonic() - age, o);
      const desired = desiredCertificates(service, config, all);
      for (const problem of desired.problems) tell.failed(problem);
      const { ids, complete, obsolete, create: wanted, pending, broken } = desired;
      if (pending !== undefined) return later();
      if (wanted === undefined && broken === undefined) {
        const problem = complete ? undefined : new Error(desired.problems.join('; '));
        return { ...nothing, ids, complete, obsolete, problem };
      }
      const paused = pausedUntil.get(service.uid);
      const pauseLeft = (paused?.until ?? 0) - clock.monotonic();
      if (paused !== undefined && pauseLeft > 0)
        return { ...nothing, complete, problem: paused.err, lookAgainIn: pauseLeft };
      try {
        const made = wanted === undefined ? await retry(broken as Certificate, o) : await create(wanted, o);
        pausedUntil.delete(service.uid);
        if (made.status?.issuance === 'pending') return later();
        const own = all.filter(({ type, labels }) => type === 'managed' && labels[ownerLabel] === service.uid);
        return { ...nothing, ids: [made.id], obsolete: own.filter(({ id }) => id !== made.id) };
      } catch (err) {
        if (o.signal.aborted) throw err;
        needed = clock.monotonic();
        if (isSlowToChange(err)) pausedUntil.set(service.uid, { until: clock.monotonic() + limitPause, err });
        tell.failed(`managed certificate ${wanted?.name ?? broken?.name}: ${err instanceof Error ? err.message : err}`);
        const lookAgainIn = isSlowToChange(err) ? limitPause : undefined;
        return { ...nothing, complete, problem: err, lookAgainIn };
      }
    },
    cleanUp: async (obsolete, o) => {
      let left: LeftOver | undefined;
      for (const certificate of obsolete) left = (await remove(certificate, o)) ?? left;
      return left;
    },
    cleanUpAll: async (service, o) => {
      pausedUntil.delete(service.uid);
      waiting.delete(service.uid);
      const isOwn = ({ type, labels }: Certificate): boolean =>
        type === 'managed' && labels[ownerLabel] === service.uid;
      // Without a hint that there may be one this would cost each deletion a list.
      const isMentioned = Object.keys(service.annotations).some(key => key.includes('managed'));
      const isKnown = snapshot.latest()?.certificates.some(isOwn) === true;
      if (!isMentioned && !isKnown) return;
      for (const certificate of await load(clock.monotonic() - maxAge, o)) {
        if (isOwn(certificate)) await remove(certificate, o);
      }
    },
  };
}

/**
 * True when trying again soon is pointless: limits of an account change by the hour, and what a CA says about a domain
 * not much faster. Each try counts towards the limits.
 */
const isSlowToChange = (err: unknown): boolean =>
  isLimitExceeded(err) || /^(?:ca_|caa_|dns_zone_|could_not_verify_)/.test(codeOf(err) ?? '');

import { createHash } from 'node:crypto';
import type { Certificate } from '../../hetzner/lb-types.ts';
import type { KubeService } from '../../kubernetes/types.ts';
import type { LoadBalancerConfig } from './config.ts';
import { ownerLabel } from './identity.ts';

/** A managed certificate that has to be made. */
export interface NewCertificate {
  readonly name: string;
  readonly domainNames: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

export interface DesiredCertificates {
  /** Ids that are there and should be used. */
  readonly ids: readonly number[];
  /** False while some of those that are wanted can't be had. */
  readonly complete: boolean;
  /** A managed one that Hetzner is issuing. */
  readonly pending: Certificate | undefined;
  /** A managed one that Hetzner could not issue. */
  readonly broken: Certificate | undefined;
  readonly create: NewCertificate | undefined;
  /** Our own that are no longer wanted, to be deleted once nothing uses them. */
  readonly obsolete: readonly Certificate[];
  readonly problems: readonly string[];
}

/** True when https listeners of this Service need certificates. */
export const needsCertificates = ({ listener }: LoadBalancerConfig): boolean => listener.protocol === 'https';

/**
 * Certificates of a Service. A managed one is looked up first, by its owner and its domains, and made only where there
 * is none; other domains make a new one under another name, as a certificate can't be changed.
 */
export function desiredCertificates(
  service: KubeService,
  config: LoadBalancerConfig,
  all: readonly Certificate[],
): DesiredCertificates {
  const own = all.filter(({ type, labels }) => type === 'managed' && labels[ownerLabel] === service.uid);
  const nothing = {
    ids: [],
    complete: true,
    pending: undefined,
    broken: undefined,
    create: undefined,
    obsolete: own,
    problems: [],
  };
  if (!needsCertificates(config)) return nothing;
  if (config.listener['certificate-type'] !== 'managed') {
    const { ids, problems } = findUploaded(config.listener['http-certificates'] ?? [], all);
    const complete = problems.length === 0;
    return { ...nothing, ids, complete, problems, obsolete: complete ? own : [] };
  }
  const held = { ...nothing, complete: false, obsolete: [] };
  const domainNames = config.listener['http-managed-certificate-domains'] ?? [];
  if (domainNames.length === 0) {
    return { ...held, problems: ['certificate-type managed needs http-managed-certificate-domains'] };
  }
  const name = config.listener['http-managed-certificate-name'] ?? `ccm-managed-certificate-${service.uid}`;
  const names = [name, `${name.slice(0, 118)}-${hashOf(domainNames)}`];
  const fits = (certificate: Certificate): boolean =>
    certificate.type === 'managed' && sameDomains(certificate.domainNames, domainNames);
  const found = own.find(fits) ?? all.find(certificate => names.includes(certificate.name) && fits(certificate));
  if (found !== undefined) {
    const { issuance } = found.status ?? {};
    if (issuance === 'pending') return { ...held, pending: found };
    if (issuance === 'failed') return { ...held, broken: found };
    return { ...nothing, ids: [found.id], obsolete: own.filter(({ id }) => id !== found.id) };
  }
  const free = names.find(candidate => all.every(certificate => certificate.name !== candidate));
  if (free === undefined) {
    return { ...held, problems: [`certificates named ${names.join(' and ')} exist for other domains`] };
  }
  const staging = config.listener['http-managed-certificate-acme-staging'] === true;
  const labels = { [ownerLabel]: service.uid, ...(staging && { 'HC-Use-Staging-CA': 'true' }) };
  return { ...held, create: { name: free, domainNames, labels } };
}

function findUploaded(wanted: readonly string[], all: readonly Certificate[]) {
  const ids = new Set<number>();
  const problems: string[] = [];
  for (const item of wanted) {
    const byID = /^\d+$/.test(item) ? all.find(({ id }) => id === Number(item)) : undefined;
    const found = byID ?? all.find(({ name }) => name === item);
    if (found === undefined)
      problems.push(`http-certificates: there is no certificate with the name or id ${JSON.stringify(item)}`);
    else ids.add(found.id);
  }
  return { ids: [...ids], problems };
}

const sorted = (domains: readonly string[]): string[] => [...new Set(domains.map(one => one.toLowerCase()))].sort();

const sameDomains = (a: readonly string[], b: readonly string[]): boolean => sorted(a).join() === sorted(b).join();

const hashOf = (domains: readonly string[]): string =>
  createHash('sha256').update(sorted(domains).join()).digest('hex').slice(0, 8);

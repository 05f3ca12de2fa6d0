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
  const nothing = { ids: [], create: undefined, obsolete: own, problems: [] };
  if (!needsCertificates(config)) return nothing;
  if (config.listener['certificate-type'] !== 'managed') {
    const { ids, problems } = findUploaded(config.listener['http-certificates'] ?? [], all);
    return { ids, create: undefined, obsolete: own, problems };
  }
  const domainNames = config.listener['http-managed-certificate-domains'] ?? [];
  if (domainNames.length === 0) {
    return { ...nothing, obsolete: [], problems: ['certificate-type managed needs http-managed-certificate-domains'] };
  }
  const name = config.listener['http-managed-certificate-name'] ?? `ccm-managed-certificate-${service.uid}`;
  const names = [name, `${name.slice(0, 118)}-${hashOf(domainNames)}`];
  const fits = (certificate: Certificate): boolean =>
    certificate.type === 'managed' && sameDomains(certificate.domainNames, domainNames);
  const found = own.find(fits) ?? all.find(certificate => names.includes(certificate.name) && fits(certificate));
  if (found !== undefined) {
    return { ids: [found.id], create: undefined, obsolete: own.filter(({ id }) => id !== found.id), problems: [] };
  }
  const free = names.find(candidate => all.every(certificate => certificate.name !== candidate));
  if (free === undefined) {
    return {
      ...nothing,
      obsolete: [],
      problems: [`certificates named ${names.join(' and ')} exist for other domains`],
    };
  }
  const staging = config.listener['http-managed-certificate-acme-staging'] === true;
  const labels = { [ownerLabel]: service.uid, ...(staging && { 'HC-Use-Staging-CA': 'true' }) };
  return { ids: [], create: { name: free, domainNames, labels }, obsolete: own, problems: [] };
}

function findUploaded(wanted: readonly string[], all: readonly Certificate[]) {
  const ids: number[] = [];
  const problems: string[] = [];
  for (const item of wanted) {
    const byID = /^\d+$/.test(item) ? all.find(({ id }) => id === Number(item)) : undefined;
    const found = byID ?? all.find(({ name }) => name === item);
    if (found === undefined)
      problems.push(`http-certificates: there is no certificate with the name or id ${JSON.stringify(item)}`);
    else ids.push(found.id);
  }
  return { ids, problems };
}

const sameDomains = (a: readonly string[], b: readonly string[]): boolean =>
  [...a].sort().join() === [...b].sort().join();

const hashOf = (domains: readonly string[]): string =>
  createHash('sha256')
    .update([...domains].sort().join())
    .digest('hex')
    .slice(0, 8);

import type { Certificate } from '../../hetzner/lb-types.ts';
import type { KubeService } from '../../kubernetes/types.ts';
import type { PlannedChange } from '../preview.ts';
import { desiredCertificates, needsCertificates } from './certificates.ts';
import type { LoadBalancerConfig } from './config.ts';
import { ownerLabel } from './identity.ts';
import type { DesiredInput } from './resolve.ts';

export interface PreviewedCertificates {
  /** As the listeners would use them. */
  readonly wanted: DesiredInput['certificates'];
  /** Made before the listeners. */
  readonly made: readonly PlannedChange[];
  /** Deleted once no listener uses them. */
  readonly deleted: readonly PlannedChange[];
  readonly problems: readonly string[];
}

/** Stands for a certificate that is yet to be made. */
const futureID = 0;

/** What would become of the certificates of a Service. */
export function previewCertificates(
  object: string,
  service: KubeService,
  config: LoadBalancerConfig,
  all: readonly Certificate[],
): PreviewedCertificates {
  if (!needsCertificates(config)) return { wanted: { ids: [], complete: true }, made: [], deleted: [], problems: [] };
  const { ids, complete, obsolete, create, broken, problems } = desiredCertificates(service, config, all);
  const replaced = (certificates: readonly Certificate[]): PlannedChange[] =>
    certificates.map(one => deletion(object, one, 'another one takes its place'));
  if (create !== undefined) {
    const why = 'there is no managed certificate for these domains';
    const details = { certificate: create.name, domainNames: create.domainNames };
    const made = [{ at: 'Hetzner', object, action: 'create certificate', details, why } as const];
    return { wanted: { ids: [futureID], complete: true }, made, deleted: replaced(own(service, all)), problems };
  }
  const retried =
    broken === undefined
      ? []
      : [
          {
            at: 'Hetzner',
            object,
            action: 'ask for certificate again',
            details: { certificate: nameOf(broken) },
            why: 'Hetzner could not issue it',
          } as const,
        ];
  return { wanted: { ids, complete }, made: retried, deleted: replaced(obsolete), problems };
}

/** What would be deleted with a Service. */
export const deletedWith = (object: string, service: KubeService, all: readonly Certificate[]): PlannedChange[] =>
  own(service, all).map(one => deletion(object, one, 'it was made for this Service'));

const own = ({ uid }: KubeService, all: readonly Certificate[]): Certificate[] =>
  all.filter(({ type, labels }) => type === 'managed' && labels[ownerLabel] === uid);

const deletion = (object: string, certificate: Certificate, why: string): PlannedChange => ({
  at: 'Hetzner',
  object,
  action: 'delete certificate',
  details: { certificate: nameOf(certificate) },
  why,
});

const nameOf = ({ name, id }: Certificate): string => `${name} (${id})`;

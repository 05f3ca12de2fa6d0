import { decodeCertificate } from '../../../hetzner/lb-decode.ts';
import type { Certificate } from '../../../hetzner/lb-types.ts';
import { addManaged, addUploaded, failIssuance, issue, removeCertificate } from '../certificate-state.ts';
import type { CertificateProblem, CertificateRecord } from '../lb-records.ts';
import { certificateView } from '../lb-views.ts';
import type { World } from '../world.ts';

/** Certificates as specs and the demo change them: at once, without an action and without a request. */

export interface CertificateByHand {
  readonly id?: number;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Makes it a managed one, which is issued at once. Default: an uploaded one. */
  readonly domainNames?: readonly string[];
}

/** All throw an Error that says what is wrong, such as a name that is taken. */
export interface CertificatesByHand {
  create(certificate: CertificateByHand): Certificate;
  remove(id: number): void;
  setLabels(id: number, labels: Readonly<Record<string, string>>): void;
  /** The issuance of a managed certificate failed, or its renewal once it was issued. */
  fail(id: number, error: CertificateProblem): void;
  get(id: number): Certificate | undefined;
  byName(name: string): Certificate | undefined;
  list(): Certificate[];
}

/** Looks like a certificate, with `text` inside. */
const pemOf = (text: string): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(text).toString('base64')}\n-----END CERTIFICATE-----\n`;

export function certificatesByHand(world: World): CertificatesByHand {
  const known = (id: number): CertificateRecord => {
    world.settle();
    const certificate = world.certificates.get(id);
    if (certificate === undefined)
      throw new Error(`no certificate ${id}; there are ${[...world.certificates.keys()].join(', ') || 'none'}`);
    return certificate;
  };
  const seen = (certificate: CertificateRecord): Certificate => decodeCertificate(certificateView(world, certificate));
  const firstSeen = (test: (certificate: CertificateRecord) => boolean): Certificate | undefined => {
    world.settle();
    const found = world.certificates.values().find(test);
    return found && seen(found);
  };

  return {
    create({ id, name, labels = {}, domainNames }) {
      const at = world.settle();
      const wish = { id, name, labels: { ...labels } };
      if (domainNames === undefined)
        return seen(addUploaded(world, at, wish, pemOf(name), '-----BEGIN PRIVATE KEY-----'));
      const certificate = addManaged(world, at, wish, domainNames);
      issue(certificate, at);
      return seen(certificate);
    },
    remove: id => removeCertificate(world, known(id)),
    setLabels(id, labels) {
      known(id).labels = { ...labels };
    },
    fail: (id, error) => failIssuance(known(id), error),
    get: id => firstSeen(one => one.id === id),
    byName: name => firstSeen(one => one.name === name),
    list() {
      world.settle();
      return [...world.certificates.values()].map(seen);
    },
  };
}

import { createHash } from 'node:crypto';
import type { CertificateProblem, CertificateRecord } from './lb-records.ts';
import { usersOf } from './lb-views.ts';
import { ApiProblem, invalidInput, nameTaken, overLimit } from './problem.ts';
import type { World } from './world.ts';

/** Certificates (facts, section 11): rules and changes that the API and the scripting have in common. */

const hour = 3_600_000;
const lifetime = 90 * 24 * hour;
const domain = /^(?:\*\.)?(?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/i;

export function freeCertificateName(world: World, name: string, except?: CertificateRecord): string {
  if (name.length < 1 || name.length > 128) throw invalidInput('name', 'Length must be between 1 and 128.');
  for (const other of world.certificates.values())
    if (other.name === name && other !== except) throw nameTaken('name is already used');
  return name;
}

const contentOf = (pem: string, at: number): NonNullable<CertificateRecord['content']> => ({
  pem,
  fingerprint: (createHash('sha1').update(pem).digest('hex').match(/../g) ?? []).join(':'),
  from: at,
  to: at + lifetime,
});

export interface CertificateWish {
  readonly id?: number | undefined;
  readonly name: string;
  readonly labels: Record<string, string>;
}

function add(world: World, at: number, wish: CertificateWish, rest: Partial<CertificateRecord>): CertificateRecord {
  const certificate: CertificateRecord = {
    id: world.mintId('certificate', wish.id),
    name: freeCertificateName(world, wish.name),
    created: at,
    type: 'uploaded',
    labels: wish.labels,
    domainNames: [],
    content: undefined,
    issuance: 'pending',
    renewal: 'unavailable',
    error: undefined,
    ...rest,
  };
  world.certificates.set(certificate.id, certificate);
  return certificate;
}

/** Adds a certificate that somebody else issued. Its text is only looked at from outside. */
export function addUploaded(
  world: World,
  at: number,
  wish: CertificateWish,
  pem: string,
  key: string,
): CertificateRecord {
  const chain = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (chain.length === 0) throw invalidInput('certificate', 'Not a valid PEM certificate.');
  if (chain.length > 5) throw invalidInput('certificate', 'At most 5 certificates in the chain.');
  if (Buffer.byteLength(pem) > 30_000) throw invalidInput('certificate', 'At most 30000 bytes.');
  if (!/-----BEGIN (?:\w+ )?PRIVATE KEY-----/.test(key)) throw invalidInput('private_key', 'Not a valid PEM key.');
  if (Buffer.byteLength(key) > 5_000) throw invalidInput('private_key', 'At most 5000 bytes.');
  const content = contentOf(pem, at);
  if (world.certificates.values().some(one => one.content?.fingerprint === content.fingerprint))
    throw new ApiProblem(409, 'uniqueness_error', 'certificate already exists', { fields: [{ name: 'certificate' }] });
  return add(world, at, wish, { type: 'uploaded', content });
}

/** Counts one more issuance, or refuses it when the hour has had enough. */
function countIssuance(world: World, at: number): void {
  const { issuances, settings } = world;
  issuances.splice(0, issuances.length, ...issuances.filter(one => one > at - hour));
  if (issuances.length >= settings.managedCertificatesPerHour)
    throw overLimit('managed_certificates', 'limit of managed certificates per hour exceeded');
  issuances.push(at);
}

/** Adds a managed certificate that is to be issued. */
export function addManaged(
  world: World,
  at: number,
  wish: CertificateWish,
  domains: readonly string[],
): CertificateRecord {
  const names = [...new Set(domains)];
  if (names.length === 0 || !names.every(one => domain.test(one)))
    throw invalidInput('domain_names', 'Not valid domain names.');
  freeCertificateName(world, wish.name);
  countIssuance(world, at);
  return add(world, at, wish, { type: 'managed', domainNames: names });
}

/** Starts issuing it again. Only what failed can be tried again. */
export function retryIssuance(world: World, at: number, certificate: CertificateRecord): void {
  if (certificate.type !== 'managed' || (certificate.issuance !== 'failed' && certificate.renewal !== 'failed'))
    throw new ApiProblem(422, 'unsupported_error', 'certificate cannot be retried');
  countIssuance(world, at);
  if (certificate.issuance === 'failed') certificate.issuance = 'pending';
  else certificate.renewal = 'pending';
  certificate.error = undefined;
}

/** Why it can't be issued, if so: one of its domains is in no zone of the project. */
export function issuanceProblem(world: World, { domainNames }: CertificateRecord): CertificateProblem | undefined {
  const { zones } = world.settings;
  if (zones === 'any') return undefined;
  const lost = domainNames.find(name => !zones.some(zone => name === zone || name.endsWith(`.${zone}`)));
  return lost === undefined ? undefined : { code: 'dns_zone_not_found', message: `DNS zone of ${lost} not found` };
}

/** The certificate is there. */
export function issue(certificate: CertificateRecord, at: number): void {
  const text = Buffer.from(`${certificate.id} ${at} ${certificate.domainNames.join(' ')}`).toString('base64');
  certificate.content = contentOf(`-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`, at);
  certificate.issuance = 'completed';
  certificate.renewal = 'scheduled';
  certificate.error = undefined;
}

/** It was not issued, or not again: then the old one stays. */
export function failIssuance(certificate: CertificateRecord, error: CertificateProblem): void {
  if (certificate.content === undefined) certificate.issuance = 'failed';
  else certificate.renewal = 'failed';
  certificate.error = error;
}

export function removeCertificate(world: World, certificate: CertificateRecord): void {
  if (usersOf(world, certificate.id).length > 0) throw new ApiProblem(422, 'service_error', 'certificate still in use');
  world.certificates.delete(certificate.id);
}

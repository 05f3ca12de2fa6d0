import { Buffer } from 'node:buffer';
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** DER: tag, length, content (X.690 8.1). */
const der = (tag: number, ...content: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.of(tag, body.length), body]);
  const hex = body.length.toString(16);
  const size = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return Buffer.concat([Buffer.of(tag, 0x80 | size.length), size, body]);
};

const sequence = (...items: readonly Uint8Array[]): Buffer => der(0x30, ...items);
const setOf = (...items: readonly Uint8Array[]): Buffer => der(0x31, ...items);
const octets = (content: Uint8Array): Buffer => der(0x04, content);
/** Whole bytes only: no unused bits. */
const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.of(0), content);
/** Context-specific, constructed. */
const tagged = (number: number, content: Uint8Array): Buffer => der(0xa0 | number, content);
const boolean = (value: boolean): Buffer => der(0x01, Buffer.of(value ? 0xff : 0));

/** Dotted object identifier: base 128, all but the last byte of a number with the high bit (X.690 8.19). */
const oid = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap(number => {
    const digits = [number & 0x7f];
    for (let high = number >>> 7; high > 0; high >>>= 7) digits.unshift((high & 0x7f) | 0x80);
    return digits;
  });
  return der(0x06, Buffer.from(bytes));
};

/** UTCTime up to 2049, GeneralizedTime later (RFC 5280, 4.1.2.5). */
const time = (ms: number): Buffer => {
  const date = new Date(ms);
  const digits = date.toISOString().replace(/\.\d+|\D/g, '');
  return date.getUTCFullYear() < 2050
    ? der(0x17, Buffer.from(`${digits.slice(2)}Z`))
    : der(0x18, Buffer.from(`${digits}Z`));
};

/** ecdsa-with-SHA256 (RFC 5758). */
const signatureAlgorithm = sequence(oid('1.2.840.10045.4.3.2'));
const loopback4 = Buffer.of(127, 0, 0, 1);
const loopback6 = Buffer.concat([Buffer.alloc(15), Buffer.of(1)]);

const extension = (id: string, critical: boolean, value: Buffer): Buffer =>
  sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value));

const extensions = (dnsNames: readonly string[]): Buffer => {
  const names = [
    ...dnsNames.map(name => der(0x82, Buffer.from(name, 'ascii'))),
    ...[loopback4, loopback6].map(address => der(0x87, address)),
  ];
  return tagged(
    3,
    sequence(
      // basicConstraints: no CA, so the key cannot vouch for others.
      extension('2.5.29.19', true, sequence()),
      // keyUsage: digitalSignature, the first bit of one byte of which seven are unused.
      extension('2.5.29.15', true, der(0x03, Buffer.of(7, 0x80))),
      // extKeyUsage: serverAuth.
      extension('2.5.29.37', false, sequence(oid('1.3.6.1.5.5.7.3.1'))),
      extension('2.5.29.17', false, sequence(...names)),
    ),
  );
};

const isDNSName = (name: string): boolean =>
  name !== 'localhost' &&
  name.length <= 253 &&
  name.split('.').every(label => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(label));

const pem = (label: string, content: Buffer): string =>
  `-----BEGIN ${label}-----\n${content.toString('base64').replace(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`;

export interface KeyPair {
  /** PEM */
  readonly cert: string;
  /** PEM */
  readonly key: string;
}

const hour = 3_600_000;
export const validity = 365 * 24 * hour;

/**
 * A key and a self-signed X.509 v3 certificate for localhost, the loopback addresses and `hostname`, valid for a year
 * from an hour before `now` (ms since the epoch; the hour forgives clocks that differ). Written here because a library
 * for it costs megabytes.
 */
export const selfSigned = (hostname: string, now: number): KeyPair => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const name = sequence(setOf(sequence(oid('2.5.4.3'), der(0x0c, Buffer.from('hcloud-reactive-controller')))));
  // A positive serial number of 16 bytes without a leading zero byte.
  const serial = randomBytes(16);
  serial[0] = 0x40 | ((serial[0] ?? 0) & 0x3f);
  const certificate = sequence(
    tagged(0, der(0x02, Buffer.of(2))),
    der(0x02, serial),
    signatureAlgorithm,
    name,
    sequence(time(now - hour), time(now - hour + validity)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions(['localhost', ...(isDNSName(hostname) ? [hostname] : [])]),
  );
  const signature = sign('sha256', certificate, privateKey);
  return {
    cert: pem('CERTIFICATE', sequence(certificate, signatureAlgorithm, bits(signature))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
};

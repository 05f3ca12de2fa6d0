import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { selfSigned, validity } from '../../lib/observability/self-signed.ts';
import { createCredentials } from '../../lib/observability/tls-credentials.ts';

const now = Date.parse('2026-08-01T12:00:00Z');

describe('self-signed certificate', () => {
  const { cert, key } = selfSigned('pod-1.example', now);
  const x509 = new X509Certificate(cert);

  it('is signed by its own key', () => {
    assert.equal(x509.verify(x509.publicKey), true);
    assert.equal(x509.issuer, x509.subject);
    assert.match(key, /^-----BEGIN PRIVATE KEY-----\n/);
  });

  it('is for localhost, the host name and the loopback addresses, and for nothing else', () => {
    assert.equal(
      x509.subjectAltName,
      'DNS:localhost, DNS:pod-1.example, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
    );
    assert.equal(x509.ca, false);
    assert.deepEqual(x509.keyUsage, ['1.3.6.1.5.5.7.3.1']);
    assert.equal(x509.checkHost('pod-1.example'), 'pod-1.example');
    assert.equal(x509.checkIP('::1'), '::1');
    assert.equal(x509.checkHost('other.example'), undefined);
  });

  it('is valid for a year from an hour ago', () => {
    assert.equal(x509.validFromDate.getTime(), now - 3_600_000);
    assert.equal(x509.validToDate.getTime(), now - 3_600_000 + validity);
  });

  it('is valid for any clock and any host name', () => {
    const anyTime = fc.date({ min: new Date('2001-01-01'), max: new Date('2200-01-01'), noInvalidDate: true });
    const hostname = fc.oneof(fc.domain(), fc.string(), fc.constant('a'.repeat(60).concat('.').repeat(5)));
    fc.assert(
      fc.property(anyTime, hostname, (date, host) => {
        const seconds = Math.floor(date.getTime() / 1000) * 1000;
        const made = new X509Certificate(selfSigned(host, seconds).cert);
        assert.equal(made.verify(made.publicKey), true);
        assert.equal(made.validFromDate.getTime(), seconds - 3_600_000);
        assert.match(made.subjectAltName ?? '', /^DNS:localhost, (DNS:[\w.-]+, )?IP Address:127/);
      }),
      { numRuns: 50 },
    );
  });

  it('has another key and serial number each time', () => {
    const other = new X509Certificate(selfSigned('a', now).cert);
    assert.notEqual(other.serialNumber, x509.serialNumber);
    assert.equal(other.serialNumber.length, 32);
    assert.notEqual(other.fingerprint256, x509.fingerprint256);
  });
});

describe('TLS credentials', () => {
  const dir = mkdtempSync(join(tmpdir(), 'credentials-'));
  after(() => rmSync(dir, { recursive: true }));
  const [tlsCertFile, tlsPrivateKeyFile] = [join(dir, 'tls.crt'), join(dir, 'tls.key')];
  const clock = { time: now, now: () => clock.time };
  const put = (cert: string, key: string) => {
    writeFileSync(tlsCertFile, cert);
    writeFileSync(tlsPrivateKeyFile, key);
  };

  it('makes its own pair without files and another one after half a year', () => {
    const credentials = createCredentials({ tlsCertFile: undefined, tlsPrivateKeyFile: undefined }, clock);
    const first = credentials.current;
    clock.time += validity / 2 - 1;
    assert.equal(credentials.refresh(), undefined);
    clock.time += 1;
    const second = credentials.refresh();
    assert.ok(second !== undefined && second.cert !== first.cert);
    assert.equal(credentials.refresh(), undefined);
  });

  it('takes the pair from the files and takes it again only when it changed', () => {
    const [a, b] = [selfSigned('a', now), selfSigned('b', now)];
    put(a.cert, a.key);
    const credentials = createCredentials({ tlsCertFile, tlsPrivateKeyFile }, clock);
    assert.deepEqual(credentials.current, a);
    assert.equal(credentials.refresh(), undefined);
    put(b.cert, a.key);
    assert.throws(() => credentials.refresh(), /--tls-private-key-file: .*tls\.key is not the key of the certificate/);
    assert.deepEqual(credentials.current, a, 'a half-written pair does not replace the good one');
    put(b.cert, b.key);
    assert.deepEqual(credentials.refresh(), b);
  });

  it('names setting and file when a file is missing, broken, or alone', () => {
    const make = (cert: string | undefined, key: string | undefined) => () =>
      createCredentials({ tlsCertFile: cert, tlsPrivateKeyFile: key }, clock);
    assert.throws(make('/none.crt', tlsPrivateKeyFile), /--tls-cert-file: cannot read \/none\.crt \(ENOENT\)/);
    put('no certificate', selfSigned('a', now).key);
    assert.throws(make(tlsCertFile, tlsPrivateKeyFile), /--tls-cert-file: .*tls\.crt holds no certificate/);
    put(selfSigned('a', now).cert, 'SECRET KEY');
    assert.throws(make(tlsCertFile, tlsPrivateKeyFile), (err: Error) => {
      assert.match(err.message, /--tls-private-key-file: .*tls\.key holds no unencrypted private key/);
      return !err.message.includes('SECRET');
    });
    assert.throws(make(undefined, tlsPrivateKeyFile), /--tls-private-key-file is set but --tls-cert-file is not/);
  });
});

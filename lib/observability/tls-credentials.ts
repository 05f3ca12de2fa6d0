import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Clock } from '../streams/clock.ts';
import { type KeyPair, selfSigned, validity } from './self-signed.ts';

export interface TLSCredentials {
  readonly current: KeyPair;
  /**
   * Looks again: a new pair when the files changed (or the own certificate is past half its life), else undefined.
   * Throws as at the start when the files are unusable; the pair in use stays.
   */
  refresh(): KeyPair | undefined;
}

export interface TLSFiles {
  readonly tlsCertFile: string | undefined;
  readonly tlsPrivateKeyFile: string | undefined;
}

const readText = (setting: string, path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch (err) {
    const code = err instanceof Error && 'code' in err ? String(err.code) : 'unreadable';
    throw new Error(`${setting}: cannot read ${path} (${code}), a PEM file is expected`);
  }
};

/** OpenSSL's messages name neither file nor setting, and a pair that does not match fails only in the handshake. */
const readPair = (certFile: string, keyFile: string): KeyPair => {
  const cert = readText('--tls-cert-file', certFile);
  const key = readText('--tls-private-key-file', keyFile);
  const parse = <T>(setting: string, path: string, what: string, make: () => T): T => {
    try {
      return make();
    } catch {
      throw new Error(`${setting}: ${path} holds no ${what} in PEM format`);
    }
  };
  const x509 = parse('--tls-cert-file', certFile, 'certificate', () => new X509Certificate(cert));
  const privateKey = parse('--tls-private-key-file', keyFile, 'unencrypted private key', () => createPrivateKey(key));
  if (!x509.checkPrivateKey(privateKey)) {
    throw new Error(`--tls-private-key-file: ${keyFile} is not the key of the certificate in ${certFile}`);
  }
  return { cert, key };
};

/** The pair from the two files, or a self-signed one when none is set. Throws an error that names the setting. */
export const createCredentials = (files: TLSFiles, clock: Pick<Clock, 'now'>): TLSCredentials => {
  const { tlsCertFile, tlsPrivateKeyFile } = files;
  if (tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined) {
    let current = readPair(tlsCertFile, tlsPrivateKeyFile);
    return {
      get current() {
        return current;
      },
      // Both files are small: reading them is as cheap as asking whether they changed, and sees replaced symlinks.
      refresh: () => {
        const next = readPair(tlsCertFile, tlsPrivateKeyFile);
        if (next.cert === current.cert && next.key === current.key) return undefined;
        current = next;
        return next;
      },
    };
  }
  if (tlsCertFile !== undefined || tlsPrivateKeyFile !== undefined) {
    const [set, missing] = ['--tls-cert-file', '--tls-private-key-file'];
    const [given, other] = tlsCertFile !== undefined ? [set, missing] : [missing, set];
    throw new Error(`${given} is set but ${other} is not: both or none are needed`);
  }
  let madeAt = clock.now();
  let current = selfSigned(hostname(), madeAt);
  return {
    get current() {
      return current;
    },
    refresh: () => {
      const now = clock.now();
      if (Math.abs(now - madeAt) < validity / 2) return undefined;
      madeAt = now;
      current = selfSigned(hostname(), now);
      return current;
    },
  };
};

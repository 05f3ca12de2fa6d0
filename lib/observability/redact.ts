import { Buffer } from 'node:buffer';

export const mask = '[redacted]';

/** Shorter secrets would blank out ordinary words; they are protected by key only (see isSecretKey). */
const minSecret = 4;
const minEncoded = 8;

/** Credentials that are recognised without being known: JSON web tokens, and what follows an HTTP auth scheme. */
const credentials = /\b(?:(basic|bearer) +[\w+/=.~-]{16,}|eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*)?)/gi;

/**
 * What of base64 stays the same wherever in a longer text the secret begins: `user:secret` of HTTP basic auth has it at
 * one of three alignments. Characters that share bits with the neighbours are left out.
 */
const embeddedBase64 = (secret: string): string[] =>
  [0, 1, 2].map(offset => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    const end = Math.floor((bytes.length * 8) / 6);
    return bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), end);
  });

const formsOf = (secret: string): string[] => {
  const encoded = [Buffer.from(secret).toString('base64'), ...embeddedBase64(secret)].filter(
    e => e.length >= minEncoded,
  );
  const urlSafe = encoded.map(e => e.replaceAll('+', '-').replaceAll('/', '_'));
  return [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
    ...encoded,
    ...urlSafe,
  ];
};

const compile = (secrets: readonly string[]): RegExp | undefined => {
  const forms = [...new Set(secrets.filter(s => s.length >= minSecret).flatMap(formsOf))];
  if (forms.length === 0) return undefined;
  forms.sort((a, b) => b.length - a.length);
  return new RegExp(forms.map(form => form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g');
};

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

/**
 * Hides the secrets in a text, also where they are base64, percent or JSON encoded, and cuts it to `max` characters.
 * `secrets` is asked each time: values that come from files change.
 */
export const createRedactor = (secrets: () => readonly string[]): ((text: string, max: number) => string) => {
  let known: readonly string[] = [];
  let pattern: RegExp | undefined;
  return (text, max) => {
    const current = secrets();
    if (!same(current, known)) {
      known = [...current];
      pattern = compile(known);
    }
    const hidden = pattern === undefined ? text : text.replace(pattern, mask);
    // Cut only now, as half a secret would not be recognised; and before the loose pattern, whose time must stay bounded.
    const rest = hidden.length - max;
    const short = rest > 0 ? hidden.slice(0, max) : hidden;
    const clean = short.replace(credentials, (_, scheme?: string) =>
      scheme === undefined ? mask : `${scheme} ${mask}`,
    );
    return rest > 0 ? `${clean}... (${rest} more characters)` : clean;
  };
};

/** True for keys whose value is a secret by its nature, such as `authorization` or `robotPassword`. */
export const isSecretKey = (key: string): boolean => /(?:authorization|token|password|cookie)$/i.test(key);

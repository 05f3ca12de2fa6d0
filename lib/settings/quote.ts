const longestQuote = 120;

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Text from outside as it may stand in a one-line message: quoted, escaped, shortened. What looks like a Hetzner token
 * (64 letters and digits) or stands before the @ of a URL is left out, so that a value in the wrong place stays secret.
 */
export function quote(text: string): string {
  const safe = withoutLogin(text.replaceAll(/[A-Za-z0-9]{64,}/g, '[redacted]'));
  const short = safe.length > longestQuote ? `${safe.slice(0, longestQuote)}...` : safe;
  return JSON.stringify(short).replaceAll(/[\u007f-\u009f\u2028\u2029]/g, escapeUnit);
}

/** By hand: a regular expression looks for the @ from each pair of slashes. */
function withoutLogin(text: string): string {
  const [start, end] = [text.indexOf('//'), text.lastIndexOf('@')];
  return start >= 0 && end >= start + 2 ? `${text.slice(0, start)}//[redacted]${text.slice(end)}` : text;
}

/** A name from outside: bare where it is a plain word, quoted otherwise. */
export const quoteName = (name: string): string =>
  /^[\w.-]{1,80}$/.test(name) && quote(name) === `"${name}"` ? name : quote(name);

/** The same without the quotes around it, for paths and codes inside a sentence. */
export const quoteInside = (text: string): string => quote(text).slice(1, -1);

/** A value read from text, or what would have been allowed in its place. */
export type Parsed<T> = { readonly value: T } | { readonly allowed: string };

const booleans: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map(text => [text, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map(text => [text, false] as const),
]);

/** Boolean in the spellings of Go's strconv.ParseBool, which the peer and the upstream flags accept. */
export function parseBoolean(text: string): Parsed<boolean> {
  const value = booleans.get(text);
  return value === undefined ? { allowed: `must be a boolean: ${[...booleans.keys()].join(', ')}` } : { value };
}

const nanosecondsPerUnit: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  // Both the micro sign and the Greek letter, as Go has it.
  '\u00b5s': 1_000n,
  '\u03bcs': 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const wholeDuration = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+$/;
const durationPart = /(\d*)(?:\.(\d*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/g;
const longestDuration = 2n ** 63n;

const durationSyntax = 'must be a duration with units, such as 300ms, 1m30s or 1.5h (units ns, us, ms, s, m, h)';

/** Duration in the syntax of Go's time.ParseDuration, as ms (with a fraction below 1 ms). A number without unit is refused, but for 0. */
export function parseDuration(text: string): Parsed<number> {
  const negative = text.startsWith('-');
  const rest = negative || text.startsWith('+') ? text.slice(1) : text;
  if (rest === '0') return { value: 0 };
  if (!wholeDuration.test(rest)) return { allowed: durationSyntax };
  let total = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of rest.matchAll(durationPart)) {
    const size = nanosecondsPerUnit[unit] ?? 0n;
    total += BigInt(whole || '0') * size + (BigInt(fraction || '0') * size) / 10n ** BigInt(fraction.length);
  }
  if (total >= longestDuration) return { allowed: 'must be a duration below 292 years' };
  const value = Number(total) / 1e6;
  return { value: negative && value !== 0 ? -value : value };
}

/** Decimal integer within bounds (inclusive). */
export function parseInteger(text: string, min: number, max: number): Parsed<number> {
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  // Adding 0 turns -0 into 0.
  if (Number.isSafeInteger(value) && value >= min && value <= max) return { value: value + 0 };
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return { allowed: `must be an integer ${range}` };
}

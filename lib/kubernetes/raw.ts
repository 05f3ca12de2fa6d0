/** Reads of parsed JSON of which nothing is known: what is missing or of another type becomes the empty value. */

export type Raw = Readonly<Record<string, unknown>>;

const empty: Raw = {};

export const record = (value: unknown): Raw => (typeof value === 'object' && value !== null ? (value as Raw) : empty);
export const records = (value: unknown): Raw[] => (Array.isArray(value) ? value.map(record) : []);
export const text = (value: unknown): string => (typeof value === 'string' ? value : '');
export const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter(item => typeof item === 'string') : [];
export const optional = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
export const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);

import { ApiProblem, invalidInput } from './problem.ts';

/** Readers of request bodies. Each throws `invalid_input` naming the field when it has the wrong form. */
export type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Body as an object. An empty body is an empty object: body-less POSTs are common. Throws `json_error`. */
export function parseBody(text: string | undefined): JsonObject {
  if (text === undefined || text === '') return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new ApiProblem(400, 'json_error', 'invalid JSON in request body');
  }
  if (!isObject(parsed)) throw new ApiProblem(400, 'json_error', 'request body is not a JSON object');
  return parsed;
}

/** For bodies documented with `additionalProperties: false`. */
export function onlyKeys(body: JsonObject, allowed: readonly string[]): void {
  const extra = Object.keys(body).find(key => !allowed.includes(key));
  if (extra !== undefined) throw invalidInput(extra, 'Additional property is not allowed.');
}

/** The value, or `invalid_input` when it is missing. */
export function required<T>(field: string, value: T | undefined): T {
  if (value === undefined) throw invalidInput(field, 'Missing data for required field.');
  return value;
}

/** A reader for one JSON type: absent and null give undefined, another type is refused. */
const reader =
  <T>(type: string, test: (value: unknown) => value is T) =>
  (body: JsonObject, field: string): T | undefined => {
    const value = body[field];
    if (value === undefined || value === null) return undefined;
    if (!test(value)) throw invalidInput(field, `Not a valid ${type}.`);
    return value;
  };

export const optionalString = reader('string', value => typeof value === 'string');
export const optionalBoolean = reader('boolean', value => typeof value === 'boolean');
export const optionalObject = reader('object', isObject);
export const optionalId = reader('integer', (value): value is number => Number.isSafeInteger(value));
export const optionalObjects = reader(
  'list',
  (value): value is JsonObject[] => Array.isArray(value) && value.every(isObject),
);
export const optionalStrings = reader(
  'list of strings',
  (value): value is string[] => Array.isArray(value) && value.every(item => typeof item === 'string'),
);
export const optionalIds = reader(
  'list of integers',
  (value): value is number[] => Array.isArray(value) && value.every(item => Number.isSafeInteger(item)),
);

export const requiredString = (body: JsonObject, field: string): string => required(field, optionalString(body, field));
export const requiredId = (body: JsonObject, field: string): number => required(field, optionalId(body, field));
export const requiredStrings = (body: JsonObject, field: string): string[] =>
  required(field, optionalStrings(body, field));

/** A whole number between two bounds. */
export function optionalInRange(body: JsonObject, field: string, least: number, most: number): number | undefined {
  const value = optionalId(body, field);
  if (value !== undefined && (value < least || value > most))
    throw invalidInput(field, `Must be between ${least} and ${most}.`);
  return value;
}

/** One of a few words. */
export function optionalOneOf<T extends string>(body: JsonObject, field: string, allowed: readonly T[]): T | undefined {
  const value = optionalString(body, field);
  const found = allowed.find(one => one === value);
  if (value !== undefined && found === undefined) throw invalidInput(field, `Not one of ${allowed.join(', ')}.`);
  return found;
}

/** "ID or name" fields: clients send a number, a numeric string or a name. */
export function optionalIdOrName(body: JsonObject, field: string): string | undefined {
  const value = body[field];
  return typeof value === 'number' ? String(value) : optionalString(body, field);
}

const labelName = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelPrefix = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** A label map, whole: PUT replaces all labels. The prefix `hetzner.cloud/` is reserved. */
export function optionalLabels(body: JsonObject): Record<string, string> | undefined {
  const labels = optionalObject(body, 'labels');
  if (labels === undefined) return undefined;
  for (const [key, value] of Object.entries(labels)) {
    const cut = key.indexOf('/');
    const prefix = cut < 0 ? undefined : key.slice(0, cut);
    const prefixFits =
      prefix === undefined || (prefix.length <= 253 && labelPrefix.test(prefix) && prefix !== 'hetzner.cloud');
    const valueFits = typeof value === 'string' && (value === '' || labelName.test(value));
    if (!prefixFits || !valueFits || !labelName.test(key.slice(cut + 1)))
      throw invalidInput('labels', `Invalid label: ${key}`);
  }
  return labels as Record<string, string>;
}

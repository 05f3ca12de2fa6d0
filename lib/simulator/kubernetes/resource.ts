import type { Json, JsonObject } from './json.ts';
import { asList, asObject, isObject } from './json.ts';
import type { Cause, Subject } from './status.ts';
import type { MergeSchema } from './strategic-merge.ts';
import { UndecodableValue } from './times.ts';

/** Everything the API does differently for one kind. */
export interface Resource extends Subject {
  readonly version: string;
  readonly namespaced: boolean;
  readonly hasStatus: boolean;
  /** PUT to a name that does not exist creates it (Lease, Event). */
  readonly createOnUpdate: boolean;
  /** PUT without a resourceVersion is accepted. */
  readonly unconditionalUpdate: boolean;
  /** What DELETE answers with: the last state of the object, or a Status. */
  readonly deleteAnswers: 'object' | 'status';
  /** Fields a fieldSelector may name. */
  readonly selectable: readonly string[];
  readonly merge: MergeSchema;
  /** Checks types and brings times to their stored form, in place. @throws UndecodableValue */
  readonly decode: (object: JsonObject) => void;
  /** Defaults and allocations, in place; `old` is undefined on creation, `existing` are all objects of the kind. */
  readonly prepare: (object: JsonObject, old: JsonObject | undefined, existing: readonly JsonObject[]) => void;
  readonly validate: (object: JsonObject, old: JsonObject | undefined, existing: readonly JsonObject[]) => Cause[];
}

export const METADATA_MERGE: MergeSchema = {
  fields: { finalizers: { mergeKey: '' }, ownerReferences: { mergeKey: 'uid' } },
};

const goType = (value: Json): string => {
  if (Array.isArray(value)) return 'array';
  return isObject(value) ? 'object' : value === null ? 'null' : typeof value === 'boolean' ? 'bool' : typeof value;
};

const wrongType = (value: Json, field: string, wanted: string): never => {
  throw new UndecodableValue(`json: cannot unmarshal ${goType(value)} into Go struct field ${field} of type ${wanted}`);
};

/** Rewrites `object[key]` with `parse` when it is there; null and absence stay. @throws UndecodableValue when it is no string */
export const decodeText = (object: JsonObject, key: string, parse: (text: string) => string): void => {
  const value = object[key];
  if (value === undefined || value === null) return;
  object[key] = typeof value === 'string' ? parse(value) : wrongType(value, key, 'string');
};

/** @throws UndecodableValue unless the value is absent, null or a whole number */
export const decodeInteger = (object: JsonObject, key: string, field: string): void => {
  const value = object[key];
  if (value === null) delete object[key];
  else if (value !== undefined && !Number.isInteger(value)) wrongType(value, field, 'int32');
};

/** @throws UndecodableValue unless the value is absent, null or a map of strings */
export const decodeStringMap = (object: JsonObject, key: string, field: string): void => {
  const value = object[key];
  if (value === undefined || value === null) return;
  if (!isObject(value)) wrongType(value, field, 'map[string]string');
  for (const item of Object.values(asObject(value))) if (typeof item !== 'string') wrongType(item, field, 'string');
};

/** @throws UndecodableValue unless the value is absent, null or a list of the wanted kind */
export const decodeList = (object: JsonObject, key: string, field: string, kind: 'string' | 'object'): void => {
  const value = object[key];
  if (value === undefined || value === null) return;
  if (!Array.isArray(value)) wrongType(value, field, `[]${kind}`);
  for (const item of asList(value))
    if ((kind === 'string') !== (typeof item === 'string')) wrongType(item, field, kind);
};

/** @throws UndecodableValue unless the value is absent, null or an object */
export const decodeObject = (object: JsonObject, key: string, field: string): void => {
  const value = object[key];
  if (value !== undefined && value !== null && !isObject(value)) wrongType(value, field, 'object');
};

/** JSON values and the few operations the embedded API needs on them. */

export type Json = null | boolean | number | string | Json[] | JsonObject;

export interface JsonObject {
  [key: string]: Json;
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value as an object; anything else becomes an empty one. */
export const asObject = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});

/** The value as a list; anything else becomes an empty one. */
export const asList = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

/** The value as a string; anything else becomes an empty one. */
export const asString = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

export const clone = <T extends Json>(value: T): T => structuredClone(value);

/** Deep equality; the order of keys does not matter. */
export const sameJson = (a: Json | undefined, b: Json | undefined): boolean => {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every(key => key in b && sameJson(a[key], b[key]));
};

/** Removes keys whose value is "empty" in Go's sense, as the API server's encoder does for optional fields. */
export const dropEmpty = (object: JsonObject, ...keys: string[]): void => {
  for (const key of keys) {
    const value = object[key];
    const emptyList = Array.isArray(value) && value.length === 0;
    const emptyMap = isObject(value) && Object.keys(value).length === 0;
    if (value === null || value === '' || value === false || value === 0 || emptyList || emptyMap) delete object[key];
  }
};

import { asObject, clone, isObject, type Json, type JsonObject } from './json.ts';

/** RFC 7386: null removes, objects merge, everything else replaces. Returns a new object. */
export const mergePatch = (target: JsonObject, patch: JsonObject): JsonObject => {
  const result: JsonObject = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = isObject(value) ? mergePatch(asObject(result[key]), value) : clone<Json>(value);
  }
  return result;
};

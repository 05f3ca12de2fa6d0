import { asList, asObject, clone, isObject, type Json, type JsonObject, sameJson } from './json.ts';

/**
 * How the fields of a kind merge: what `patchStrategy` and `patchMergeKey` say in the API's types.
 * Lists that are not named here are atomic: the patch replaces them.
 */
export interface MergeSchema {
  /** For a list: elements with the same value of this field are the same element; `''` for a set of plain values. */
  readonly mergeKey?: string;
  readonly fields?: Readonly<Record<string, MergeSchema>>;
}

/** A directive that the API server refuses (400). */
export class UnknownDirective extends Error {}

const ORDER = '$setElementOrder/';
const DELETE_PLAIN = '$deleteFromPrimitiveList/';

const withoutDirectives = (value: Json): Json => {
  if (Array.isArray(value)) return value.filter(item => !(isObject(item) && '$patch' in item)).map(withoutDirectives);
  if (!isObject(value)) return value;
  const result: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (!key.startsWith('$') && item !== null) result[key] = withoutDirectives(item);
  }
  return result;
};

const positionIn = (list: readonly Json[], item: Json, key: string): number =>
  list.findIndex(other => (key === '' ? sameJson(other, item) : sameJson(asObject(other)[key], asObject(item)[key])));

/**
 * Elements the patch names keep the patch's order, all others the server's; where both lists meet, the server's order
 * decides between two elements it knows, and a new element comes first.
 */
const ordered = (merged: readonly Json[], server: readonly Json[], order: readonly Json[], key: string): Json[] => {
  const named = merged.filter(item => positionIn(order, item, key) >= 0);
  const others = merged.filter(item => positionIn(order, item, key) < 0);
  named.sort((a, b) => positionIn(order, a, key) - positionIn(order, b, key));
  const result: Json[] = [];
  let other = others.shift();
  for (const item of named) {
    const place = positionIn(server, item, key);
    while (other !== undefined && place >= 0 && positionIn(server, other, key) < place) {
      result.push(other);
      other = others.shift();
    }
    result.push(item);
  }
  return other === undefined ? result : [...result, other, ...others];
};

const mergeList = (
  server: readonly Json[],
  patch: readonly Json[],
  order: readonly Json[],
  removed: readonly Json[],
  schema: MergeSchema,
): Json[] => {
  const key = schema.mergeKey ?? '';
  if (patch.some(item => isObject(item) && item.$patch === 'replace')) return asList(withoutDirectives([...patch]));
  const merged = server.filter(item => !removed.some(other => sameJson(other, item))).map(clone<Json>);
  for (const item of patch) {
    if (isObject(item) && item.$patch === 'delete') {
      for (let at = positionIn(merged, item, key); at >= 0; at = positionIn(merged, item, key)) merged.splice(at, 1);
      continue;
    }
    const at = positionIn(merged, item, key);
    const present = merged[at];
    if (present === undefined) merged.push(withoutDirectives(item));
    else if (isObject(item)) merged[at] = strategicMerge(asObject(present), item, schema);
  }
  return ordered(
    merged,
    server,
    order.length > 0 ? order : patch.filter(item => !(isObject(item) && '$patch' in item)),
    key,
  );
};

/**
 * Kubernetes' strategic merge patch, as far as Nodes, Services, Leases and Events need it: merge lists by key,
 * `$patch: replace | delete | merge`, `$retainKeys`, `$setElementOrder/f`, `$deleteFromPrimitiveList/f`.
 * @throws UnknownDirective
 */
export const strategicMerge = (target: JsonObject, patch: JsonObject, schema: MergeSchema): JsonObject => {
  const directive = patch.$patch;
  if (directive === 'replace') return asObject(withoutDirectives(patch));
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'merge')
    throw new UnknownDirective(`unknown patch type ${JSON.stringify(directive)}`);

  const result: JsonObject = { ...target };
  const retained = patch.$retainKeys;
  if (Array.isArray(retained)) for (const key of Object.keys(result)) if (!retained.includes(key)) delete result[key];

  const lists = new Set<string>();
  for (const [key, value] of Object.entries(patch)) {
    const prefix = [ORDER, DELETE_PLAIN].find(word => key.startsWith(word));
    if (prefix !== undefined) lists.add(key.slice(prefix.length));
    if (key.startsWith('$')) continue;
    const field = schema.fields?.[key] ?? {};
    if (value === null) delete result[key];
    else if (isObject(value)) result[key] = strategicMerge(asObject(result[key]), value, field);
    else if (Array.isArray(value) && field.mergeKey !== undefined) lists.add(key);
    else result[key] = withoutDirectives(value);
  }
  for (const key of lists) {
    if (patch[key] === null) continue;
    const [order, removed] = [asList(patch[ORDER + key]), asList(patch[DELETE_PLAIN + key])];
    result[key] = mergeList(asList(result[key]), asList(patch[key]), order, removed, schema.fields?.[key] ?? {});
  }
  return result;
};

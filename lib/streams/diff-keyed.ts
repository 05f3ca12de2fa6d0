/** Keys by what became of them, each in the order of its map. */
export interface KeyedDiff<K> {
  readonly added: K[];
  readonly changed: K[];
  readonly removed: K[];
}

/** What changed from one keyed map to the next. */
export function diffKeyed<K, V>(
  before: ReadonlyMap<K, V>,
  after: ReadonlyMap<K, V>,
  equal: (a: V, b: V) => boolean = Object.is,
): KeyedDiff<K> {
  const diff: KeyedDiff<K> = { added: [], changed: [], removed: [] };
  for (const [key, value] of after) {
    if (!before.has(key)) diff.added.push(key);
    else if (!equal(before.get(key) as V, value)) diff.changed.push(key);
  }
  for (const key of before.keys()) {
    if (!after.has(key)) diff.removed.push(key);
  }
  return diff;
}

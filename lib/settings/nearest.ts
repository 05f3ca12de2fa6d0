/** Levenshtein distance: the least number of inserted, removed and replaced UTF-16 units that turns `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}

const longestName = 100;

/**
 * The known name nearest to a misspelt one; undefined where none is similar, as a far-fetched proposal misleads:
 * more than two fifths of the longer name would have to change.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > longestName) return undefined;
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(name, candidate);
    const similar = distance <= 0.4 * Math.max(name.length, candidate.length);
    if (similar && (best === undefined || distance < best.distance)) best = { name: candidate, distance };
  }
  return best?.name;
}

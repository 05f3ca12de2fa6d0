/** Rows as aligned text: the first column to the left, the others to the right. The first row is the head. */
export function textTable(rows: readonly (readonly string[])[]): string[] {
  const columns = Math.max(...rows.map(row => row.length));
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...rows.map(row => row[i]?.length ?? 0)));
  return rows.map(row =>
    widths
      .map((width, i) => (i === 0 ? (row[i] ?? '').padEnd(width) : (row[i] ?? '').padStart(width)))
      .join('   ')
      .trimEnd(),
  );
}

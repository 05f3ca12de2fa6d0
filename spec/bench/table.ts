import { type Figure, type FigureName, figures, type Result } from './figures.ts';

const shown = (value: number): string =>
  Number.isNaN(value) ? 'not measured' : Number.isInteger(value) ? String(value) : value.toFixed(value < 1 ? 3 : 1);

/** No more than asked for; a number that is missing is missed. */
export const isMet = ({ ours, broken }: Result, { target }: Figure): boolean =>
  broken === undefined && target.every((limit, i) => (ours[i] ?? Number.NaN) <= limit);

const columns = ['work', 'unit', 'peer', 'floor', 'target', 'ours', '', 'note'];

/** The results as a table in Markdown, in the order of the figures. */
export const renderTable = (results: readonly Result[]): string => {
  const order = Object.keys(figures) as FigureName[];
  const rows = results
    .toSorted((a, b) => order.indexOf(a.row) - order.indexOf(b.row))
    .map(result => {
      const figure: Figure = figures[result.row];
      const { work, unit, peer, floor, target } = figure;
      const verdict = isMet(result, figure) ? 'met' : 'MISSED';
      const note = [result.broken, result.note].filter(text => text !== undefined).join('; ');
      return [work, unit, peer, floor, target.join(' / '), result.ours.map(shown).join(' / '), verdict, note];
    });
  const widths = columns.map((column, i) => Math.max(column.length, 1, ...rows.map(row => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [line(columns), line(widths.map(width => '-'.repeat(width))), ...rows.map(line)].join('\n');
};

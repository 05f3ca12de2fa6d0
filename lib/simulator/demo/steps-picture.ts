import type { Journey } from './journeys.ts';
import { element, type Markup, text } from './markup.ts';
import { type PictureSize, segmentsOf, tickOf } from './timeline.ts';

const lane = 20;

/** Each node's way from its join on, all from the same start, so that their lengths can be compared. */
export function stepsPicture(journeys: readonly Journey[], { width, labels }: PictureSize): Markup {
  const longest = Math.max(1, ...journeys.map(one => (one.available ?? one.joined) - one.joined));
  const right = 56;
  const x = (ms: number): number => labels + (ms / longest) * (width - labels - right);
  const bottom = journeys.length * lane + 6;
  const tick = tickOf(longest / 1_000, width > 600 ? 8 : 4);
  const marks = Array.from({ length: Math.floor(longest / 1_000 / tick) + 1 }, (_, i) => i * tick);
  const digits = Math.max(0, -Math.floor(Math.log10(tick)));
  return element(
    'svg',
    {
      viewBox: `0 0 ${width} ${bottom + 26}`,
      width,
      role: 'img',
      'aria-label': 'Time from join to ready of each node',
    },
    element(
      'g',
      { class: 'grid' },
      ...marks.map(second => {
        const at = x(second * 1_000);
        const label = element(
          'text',
          { x: at, y: bottom + 17, 'text-anchor': 'middle' },
          text(`${second.toFixed(digits)} s`),
        );
        return (element('line', { x1: at, x2: at, y1: 0, y2: bottom }) + label) as Markup;
      }),
    ),
    ...journeys.map((journey, i) => row(journey, i * lane, x)),
  );
}

function row(journey: Journey, y: number, x: (ms: number) => number): Markup {
  const { name, joined, available = joined } = journey;
  const bars = segmentsOf(journey).map(({ name: step, from, to }) =>
    element('rect', {
      class: step,
      x: x(from - joined),
      y: y + 4,
      width: x(to - joined) - x(from - joined),
      height: lane - 8,
    }),
  );
  const total = `${((available - joined) / 1_000).toFixed(2)} s`;
  return element(
    'g',
    { class: 'node' },
    element('text', { x: 0, y: y + lane / 2 + 4 }, text(name)),
    ...bars,
    element('text', { class: 'figure', x: x(available - joined) + 6, y: y + lane / 2 + 4 }, text(total)),
  );
}

import type { Journey } from './journeys.ts';
import { element, type Markup, text } from './markup.ts';
import type { Observations, TimedRequest } from './result.ts';

export interface PictureSize {
  /** In px of the picture, which are those of the screen at full size. */
  readonly width: number;
  /** Width of the column with names. */
  readonly labels: number;
}

const lane = 22;
const gap = 18;

/** What lies between two moments of a node's way, in order; also names of style classes. */
export const steps = [
  { name: 'initialise', label: 'waits for provider ID, addresses and labels', until: 'initialised' },
  { name: 'route', label: 'waits for its route', until: 'routed' },
  { name: 'available', label: 'waits until its network counts as available', until: 'available' },
] as const;

/** The moments of a node's way as segments; a step may end before an earlier one, then it has no length. */
export function segmentsOf(journey: Journey): { readonly name: string; readonly from: number; readonly to: number }[] {
  let from = journey.joined;
  return steps.map(({ name, until }) => {
    const to = Math.max(from, journey[until] ?? from);
    const segment = { name, from, to };
    from = to;
    return segment;
  });
}

/** `GET /networks/{id}` without what everybody knows, for narrow columns. */
export const shortName = (name: string): string => name.replace('/networks/{id}/actions/', '… ').replace('/{id}', '');

/** A round number of seconds between two marks, so that there are about `count` of them. */
export function tickOf(seconds: number, count: number): number {
  const wanted = seconds / count;
  const power = 10 ** Math.floor(Math.log10(wanted));
  return [1, 2, 5, 10].map(factor => factor * power).find(tick => tick >= wanted) ?? wanted;
}

/** Time from left to right: each request to Hetzner as a mark in the lane of its kind, each node as a bar in its own. */
export function timeline({ phases, journeys }: Observations, { width, labels }: PictureSize): Markup {
  const { takeOver, scaleUp } = phases;
  const from = takeOver.from;
  const to = scaleUp.from + scaleUp.seconds * 1_000;
  const x = (at: number): number => labels + ((at - from) / (to - from)) * (width - labels - 12);
  const requests = [...takeOver.requests, ...scaleUp.requests];
  const start = x(scaleUp.from);
  // Where there is no room for both names beside each other, they stand below each other.
  const isTight = start - x(from) < 70;
  const top = isTight ? 38 : 26;
  const kinds = [...new Set(requests.map(({ name }) => name))];
  const nodeLane = journeys.length > 24 ? Math.max(5, 528 / journeys.length) : lane;
  const nodesTop = top + kinds.length * lane + gap;
  const bottom = nodesTop + journeys.length * nodeLane;
  const narrow = labels < 120;
  const kindLanes = kinds.map((kind, i) =>
    requestLane(
      kind,
      requests.filter(({ name }) => name === kind),
      { y: top + i * lane, x, narrow, start: from },
    ),
  );
  const nodeLanes = journeys.map((journey, i) =>
    nodeBar(journey, { y: nodesTop + i * nodeLane, height: nodeLane, x, end: to }),
  );
  const description = `${requests.length} requests of ${kinds.length} kinds while ${journeys.length} nodes join within ${Math.round((to - from) / 1_000)} seconds`;
  return element(
    'svg',
    { viewBox: `0 0 ${width} ${bottom + 30}`, width, role: 'img', 'aria-label': description },
    grid({ from, to, x, top, bottom, count: narrow ? 5 : 12 }),
    phaseMark(x(from), 14, 'take over', bottom),
    phaseMark(start, isTight ? 28 : 14, 'scale up', bottom),
    ...kindLanes,
    ...nodeLanes,
  );
}

interface Axis {
  readonly x: (at: number) => number;
}

function grid({
  from,
  to,
  x,
  top,
  bottom,
  count,
}: Axis & { from: number; to: number; top: number; bottom: number; count: number }): Markup {
  const tick = tickOf((to - from) / 1_000, count);
  const marks = Array.from({ length: Math.floor((to - from) / 1_000 / tick) + 1 }, (_, i) => i * tick);
  return element(
    'g',
    { class: 'grid' },
    ...marks.map(second => {
      const at = x(from + second * 1_000);
      const label = element('text', { x: at, y: bottom + 18, 'text-anchor': 'middle' }, text(`${second} s`));
      return (element('line', { x1: at, x2: at, y1: top, y2: bottom }) + label) as Markup;
    }),
  );
}

const phaseMark = (x: number, y: number, name: string, bottom: number): Markup =>
  element(
    'g',
    { class: 'phase' },
    element('line', { x1: x, x2: x, y1: y - 10, y2: bottom }),
    element('text', { x: x + 5, y }, text(name)),
  );

/** Polls of actions are neither a question nor a change. */
const classOf = (kind: string): string =>
  kind.startsWith('GET /actions') ? 'poll' : kind.startsWith('GET ') ? 'read' : 'write';

function requestLane(
  kind: string,
  requests: readonly TimedRequest[],
  { y, x, narrow, start }: Axis & { y: number; narrow: boolean; start: number },
): Markup {
  const marks = requests.map(({ at, status }) => {
    const hint = `${kind} answered ${status} at ${((at - start) / 1_000).toFixed(2)} s`;
    const shape = { class: classOf(kind), cx: x(at), cy: y + lane / 2, r: 4.5 };
    return element('circle', shape, element('title', {}, text(hint)));
  });
  const label = `${narrow ? shortName(kind) : kind}`;
  return element('g', { class: 'requests' }, element('text', { x: 0, y: y + lane / 2 + 4 }, text(label)), ...marks);
}

function nodeBar(journey: Journey, { y, height, x, end }: Axis & { y: number; height: number; end: number }): Markup {
  const thick = Math.max(3, height - 10);
  const middle = y + height / 2;
  const bars = segmentsOf(journey).map(({ name, from, to }) =>
    element('rect', {
      class: name,
      x: x(from),
      y: middle - thick / 2,
      width: Math.max(0, x(to) - x(from)),
      height: thick,
    }),
  );
  const seconds = (((journey.available ?? journey.joined) - journey.joined) / 1_000).toFixed(2);
  return element(
    'g',
    { class: 'node' },
    element('title', {}, text(`${journey.name} was ready ${seconds} s after it joined`)),
    ...(height >= 12 ? [element('text', { x: 0, y: middle + 4 }, text(journey.name))] : []),
    element('line', { class: 'ready', x1: x(journey.available ?? end), x2: x(end), y1: middle, y2: middle }),
    ...bars,
  );
}

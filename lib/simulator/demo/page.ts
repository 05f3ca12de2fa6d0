import { element, type Markup, text } from './markup.ts';
import { pageStyle } from './page-style.ts';
import { peer } from './reference.ts';
import { duration, endpointRows, latencyRows, requestRows } from './report.ts';
import { figureOf } from './requests.ts';
import { controlPlane, isCompared, latencies, type Observations } from './result.ts';
import { stepsPicture } from './steps-picture.ts';
import { type PictureSize, steps, timeline } from './timeline.ts';

/** Both are in the page; the width of the screen decides which one is shown. */
const sizes: Readonly<Record<'desk' | 'phone', PictureSize>> = {
  desk: { width: 1_040, labels: 300 },
  phone: { width: 350, labels: 108 },
};

const both = (draw: (size: PictureSize) => Markup): Markup =>
  (['desk', 'phone'] as const).map(name => element('div', { class: name }, draw(sizes[name]))).join('') as Markup;

const paragraph = (content: string): Markup => element('p', {}, text(content));

/** The result of the demo as one page that needs nothing beside it. */
export function renderPage(seen: Observations, version: string): string {
  const { options, journeys, phases } = seen;
  const { workers, interval, idle } = options;
  const title = `${workers} workers join, one every ${interval / 1_000} s`;
  const body = element(
    'main',
    {},
    element('h1', {}, text(title)),
    paragraph(
      `A run of the demo of ${version}. The controller is the real one; Hetzner and Kubernetes are simulated, with the delays the peer was measured with.`,
    ),
    tiles(seen),
    element('h2', {}, text('What happened when')),
    paragraph('Each dot is one request to the Hetzner API. Each line is a node, from its join on.'),
    legend(),
    both(size => timeline(seen, size)),
    paragraph(`After that all idles for ${duration(idle)}, with ${phases.idle.requests.length} requests to Hetzner.`),
    element('h2', {}, text('How long each node took')),
    paragraph('From the join of its kubelet until its network counts as available.'),
    both(({ width }) => stepsPicture(journeys, { width, labels: 48 })),
    element('h2', {}, text('In figures')),
    table(requestRows(seen)),
    paragraph('Requests without / with GET /actions.'),
    table(latencyRows(seen)),
    table(endpointRows(seen)),
    paragraph(`The peer is ${peer.name}. Times and memory depend on the machine, the number of requests does not.`),
  );
  const head = element(
    'head',
    {},
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">' as Markup,
    element('title', {}, text(title)),
    element('style', {}, pageStyle as Markup),
  );
  return `<!doctype html>\n${element('html', { lang: 'en' }, head, element('body', {}, body))}\n`;
}

/** The figures one looks for first, each with the peer's where the work was the same. */
function tiles(seen: Observations): Markup {
  const { options, phases, journeys, memoryMiB } = seen;
  const compared = isCompared(options);
  const { routed } = latencies(journeys.filter(({ name }) => name !== controlPlane));
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
  const scale = figureOf(phases.scaleUp.hetzner).withoutActions;
  const all = [
    { value: String(scale), name: 'requests to scale up', theirs: String(peer.requests.scaleUp.withoutActions) },
    { value: seconds(routed.p50), name: 'from join to route, p50', theirs: seconds(peer.latencies.routed.p50) },
    { value: seconds(routed.p99), name: 'from join to route, p99', theirs: seconds(peer.latencies.routed.p99) },
    ...(memoryMiB === undefined
      ? []
      : [{ value: `${Math.round(memoryMiB)} MiB`, name: 'resident memory', theirs: `${peer.memoryMiB} MiB` }]),
  ];
  return element(
    'ul',
    { class: 'tiles' },
    ...all.map(({ value, name, theirs }) =>
      element(
        'li',
        {},
        element('b', {}, text(value)),
        element('span', {}, text(name)),
        ...(compared ? [element('small', {}, text(`peer ${theirs}`))] : []),
      ),
    ),
  );
}

function legend(): Markup {
  const entries = [
    ...steps.map(({ name, label }) => [name, label] as const),
    ['ready', 'is ready'],
    ['read', 'reads'],
    ['write', 'changes'],
    ['poll', 'looks whether actions have ended'],
  ] as const;
  return element(
    'ul',
    { class: 'legend' },
    ...entries.map(([name, label]) => element('li', {}, element('i', { class: name }), text(label))),
  );
}

function table([head = [], ...rows]: readonly (readonly string[])[]): Markup {
  const used = head.map((_, i) => rows.some(row => (row[i] ?? '') !== ''));
  const cells = (row: readonly string[], name: string): Markup[] =>
    row.filter((_, i) => used[i]).map(cell => element(name, {}, text(cell)));
  const line = (row: readonly string[], name: string): Markup => element('tr', {}, ...cells(row, name));
  return element(
    'div',
    { class: 'table' },
    element(
      'table',
      {},
      element('thead', {}, line(head, 'th')),
      element('tbody', {}, ...rows.map(row => line(row, 'td'))),
    ),
  );
}

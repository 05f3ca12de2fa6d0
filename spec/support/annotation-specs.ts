import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { annotations } from '../../lib/controllers/load-balancer/annotations.ts';
import { renderTable } from '../../lib/settings/reference.ts';
import { knownVariables } from '../../lib/settings/table.ts';

/** Which specs exercise which annotation and variable of load balancers: `node spec/support/annotation-specs.ts` prints the table. */

const root = resolve(import.meta.dirname, '../..');

/** Goes through the table of annotations, and so mentions each whatever it does. */
const table = 'spec/controllers/load-balancer/annotations.spec.ts';

export interface Exercised {
  /** Annotation without its prefix, or variable. */
  readonly name: string;
  /** Specs of the logic. */
  readonly units: readonly string[];
  /** Specs of the whole program. */
  readonly scenarios: readonly string[];
}

/** Whether a text has the name as a whole word, as a key, in quotes or behind the prefix. */
const mentions = (text: string, name: string): boolean => {
  const quoted = new RegExp(`['"\`/]${name}['"\`:=]`);
  const key = new RegExp(`[{,\\s]${name}:`);
  return quoted.test(text) || (/^\w+$/.test(name) && key.test(text));
};

/** Each annotation and each variable of load balancers with the specs that have it. */
export function exercised(): readonly Exercised[] {
  const files = globSync('spec/{controllers/load-balancer,scenarios}/*.spec.ts', { cwd: root })
    .filter(path => path !== table)
    .sort();
  const texts = files.map(path => ({ path, text: readFileSync(resolve(root, path), 'utf8') }));
  const about = texts.filter(({ text }) => /load.?balancer/i.test(text));
  const variables = knownVariables.filter(name => name.startsWith('HCLOUD_LOAD_BALANCERS_'));
  return [...Object.keys(annotations), ...variables].map(name => {
    const found = about.filter(({ text }) => mentions(text, name)).map(({ path }) => path);
    const isScenario = (path: string): boolean => path.startsWith('spec/scenarios/');
    return { name, units: found.filter(path => !isScenario(path)), scenarios: found.filter(isScenario) };
  });
}

/** The table as Markdown. */
export const renderExercised = (): string => {
  const files = (paths: readonly string[]): string =>
    paths.map(path => path.replace(/^spec\/(?:scenarios|controllers\/load-balancer)\//, '')).join(', ');
  const rows = exercised().map(({ name, units, scenarios }) => [name, files(units), files(scenarios)]);
  return renderTable(['Annotation or variable', 'Specs of the logic', 'Specs of the whole program'], rows);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(`${renderExercised()}\n`);

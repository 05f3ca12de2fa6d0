import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';

export type JSONValue = null | boolean | number | string | readonly JSONValue[] | { readonly [key: string]: JSONValue };
export type JSONObject = { readonly [key: string]: JSONValue };

export const chartDirectory = join(import.meta.dirname, '..', '..', 'charts', 'hcloud-reactive-controller');

/** A value of the chart with its comment. */
export interface ChartValue {
  readonly path: readonly string[];
  readonly fallback: JSONValue;
  readonly description: string;
  /** Merged into the schema that follows from the default. */
  readonly schema: JSONObject;
}

const isObject = (value: JSONValue | undefined): value is JSONObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const at = (values: JSONValue, path: readonly string[]): JSONValue =>
  path.reduce<JSONValue>((value, key) => (isObject(value) ? (value[key] ?? null) : null), values);

/** The comment block that ends above a key, as one description and one schema; undefined unless it starts with `# --`. */
const readComment = (comment: readonly string[]): Pick<ChartValue, 'description' | 'schema'> | undefined => {
  const start = comment.findLastIndex(line => line.startsWith('-- '));
  if (start < 0) return undefined;
  const lines = comment.slice(start);
  const text = lines.filter(line => !line.startsWith('@schema '));
  const schema = lines.find(line => line.startsWith('@schema '))?.slice('@schema '.length) ?? '{}';
  return { description: text.join(' ').slice('-- '.length), schema: JSON.parse(schema) as JSONObject };
};

/** Reads the values that a `# --` comment documents, in their order. Keys are written in block style, two spaces deep. */
export const readChartValues = (text: string): readonly ChartValue[] => {
  const values = load(text) as JSONValue;
  const found: ChartValue[] = [];
  let path: string[] = [];
  let comment: string[] = [];
  for (const line of text.split('\n')) {
    const remark = /^ *# ?(.*)$/.exec(line);
    const key = /^( *)([\w./-]+):/.exec(line);
    if (remark !== null) comment.push(remark[1] ?? '');
    else {
      if (key !== null) {
        path = [...path.slice(0, (key[1] ?? '').length / 2), key[2] ?? ''];
        const documented = readComment(comment);
        if (documented !== undefined) found.push({ path, fallback: at(values, path), ...documented });
      }
      comment = [];
    }
  }
  return found;
};

/** Paths of defaults that neither have a comment nor lie below one that has. */
export const undocumented = (text: string): readonly string[] => {
  const documented = new Set(readChartValues(text).map(({ path }) => path.join('.')));
  const missing: string[] = [];
  const visit = (value: JSONValue, path: readonly string[]): void => {
    if (documented.has(path.join('.'))) return;
    if (isObject(value)) for (const [key, inner] of Object.entries(value)) visit(inner, [...path, key]);
    else missing.push(path.join('.'));
  };
  visit(load(text) as JSONValue, []);
  return missing;
};

export const chartValuesText = (): string => readFileSync(join(chartDirectory, 'values.yaml'), 'utf8');

/** HTML and SVG as text. */
export type Markup = string & { readonly markup: unique symbol };

type Value = string | number | undefined;

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text that is nothing but text. */
export const text = (value: string): Markup =>
  value.replaceAll(/[&<>"]/g, character => escapes[character] ?? '') as Markup;

const valueText = (value: string | number): string =>
  text(typeof value === 'number' ? String(Math.round(value * 100) / 100) : value);

/** An element; attributes without a value are left out. */
export function element(
  name: string,
  attributes: Readonly<Record<string, Value>> = {},
  ...content: readonly Markup[]
): Markup {
  const written = Object.entries(attributes)
    .filter((pair): pair is [string, string | number] => pair[1] !== undefined)
    .map(([key, value]) => ` ${key}="${valueText(value)}"`);
  return `<${name}${written.join('')}>${content.join('')}</${name}>` as Markup;
}

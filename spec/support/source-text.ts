/** Reads of TypeScript as text, as far as the reference of the log needs them. */

const closing: Readonly<Record<string, string>> = { '(': ')', '{': '}', '[': ']' };

/** Index behind the string or template that begins at `index`. */
function skipText(source: string, index: number): number {
  const quote = source[index];
  let at = index + 1;
  while (at < source.length && source[at] !== quote) at += source[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** Index of the bracket that closes the one at `index`. */
function closeOf(source: string, index: number): number {
  let at = index + 1;
  while (at < source.length) {
    const character = source[at] as string;
    if (character === closing[source[index] as string]) return at;
    if ('\'"`'.includes(character)) at = skipText(source, at);
    else if (character in closing) at = closeOf(source, at) + 1;
    else at += 1;
  }
  return at;
}

/** What is between brackets, cut at its commas. */
function split(inner: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at <= inner.length; ) {
    const character = inner[at];
    if (character === undefined || character === ',') {
      parts.push(inner.slice(start, at).trim());
      start = ++at;
    } else if ('\'"`'.includes(character)) at = skipText(inner, at);
    else if (character in closing) at = closeOf(inner, at) + 1;
    else at += 1;
  }
  return parts.filter(part => part !== '');
}

/** The arguments of a call whose bracket opens at `index`. */
export const argumentsAt = (source: string, index: number): string[] =>
  split(source.slice(index + 1, closeOf(source, index)));

/** What a constant of that name is set to, of a function what it returns; undefined where there is none. */
export function declarationOf(name: string, source: string): string | undefined {
  const match = new RegExp(`\\bconst ${name}\\b[^=\\n]*=(?![=>])`).exec(source);
  if (match === null) return undefined;
  let at = match.index + match[0].length;
  const start = at;
  while (at < source.length && source[at] !== ';') {
    const character = source[at] as string;
    if ('\'"`'.includes(character)) at = skipText(source, at);
    else at = character in closing ? closeOf(source, at) + 1 : at + 1;
  }
  const value = source.slice(start, at).trim();
  const arrow = /^(?:async )?(?:\([^()]*\)|\w+)(?:: [^=]+)? =>\s*/.exec(value)?.[0] ?? '';
  return value.slice(arrow.length);
}

/** The string literals of an expression. */
export const textsIn = (expression: string): string[] =>
  [...expression.matchAll(/'((?:[^'\\]|\\.)*)'/g)].map(([, text = '']) => text.replaceAll("\\'", "'"));

/** The names of the properties an object expression has, those of what is spread into it included. */
export function keysOf(expression: string, resolve: (name: string) => string | undefined): string[] {
  const found = objectsIn(expression);
  const [name] = /^[a-z]\w*/i.exec(expression) ?? [];
  if (found.length === 0)
    return name === undefined ? [] : objectsIn(resolve(name) ?? '').flatMap(one => keysOf(one, resolve));
  return [...new Set(found.flatMap(inner => split(inner.slice(1, -1)).flatMap(part => keysOfPart(part, resolve))))];
}

function keysOfPart(part: string, resolve: (name: string) => string | undefined): string[] {
  if (part.startsWith('...')) return keysOf(part.slice(3), resolve);
  const [, name] = /^(?:\/\/.*\n\s*)?'?([\w-]+)'?/.exec(part) ?? [];
  return name === undefined ? [] : [name];
}

/** Object literals of an expression that are values: alone, in brackets, behind an arrow, a condition or a choice. */
function objectsIn(expression: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < expression.length; ) {
    const character = expression[at] as string;
    if ('\'"`'.includes(character)) at = skipText(expression, at);
    else if (character === '{') {
      const end = closeOf(expression, at) + 1;
      if (/(^|[(?:]|&&|=>\s*\()\s*$/.test(expression.slice(0, at))) found.push(expression.slice(at, end));
      at = end;
    } else at += 1;
  }
  return found;
}

import type { Parsed } from './go-values.ts';

/** Most ways there may be to read one name by a pattern; what is tried one after the other then takes milliseconds. */
const mostWays = 10_000_000;
/** Longest name at Hetzner, and then some: a repetition may end at each of its characters. */
const nameLength = 128;

const token =
  /\\(?:[dDwWsS]|[^A-Za-z0-9])|\[\^?(?:\\.|[^\]\\])+\]|\((?:\?:)?|\)|\||\{\d+(?:,\d*)?\}\??|[*+]\??|\?\??|[^\\[({]/y;

/**
 * Checks a regular expression on names. JavaScript tries all ways to read a name by it, of which there must be few, so that
 * no pattern hangs the process: groups are not repeated, there are no look-arounds and back references, and few repetitions.
 */
export function parseNamePattern(text: string): Parsed<string> {
  const refused: Parsed<string> = {
    allowed:
      'must be a regular expression such as worker-[0-9]+, at most 200 characters long, without repeated groups, look-arounds, back references and more than three repetitions',
  };
  if (text.length > 200) return refused;
  let ways = 1;
  let before = '';
  for (token.lastIndex = 0; token.lastIndex < text.length; ) {
    const found = token.exec(text)?.[0];
    if (found === undefined) return refused;
    const isRepetition = /^[*+{]/.test(found);
    if ((isRepetition && before === ')') || (found.startsWith('?') && before === '(')) return refused;
    if (isRepetition) ways *= nameLength;
    else if (found.startsWith('?') || found === '|') ways *= 2;
    if (ways > mostWays) return refused;
    before = found;
  }
  return isRegularExpression(text) ? { value: text } : refused;
}

function isRegularExpression(text: string): boolean {
  try {
    new RegExp(anchored(text));
    return true;
  } catch {
    return false;
  }
}

const anchored = (pattern: string): string => `^(?:${pattern})$`;

/** Tells names that a pattern describes as a whole. The pattern is one that `parseNamePattern` accepts. */
export function nameMatcher(pattern: string): (name: string) => boolean {
  const expression = new RegExp(anchored(pattern));
  return name => name.length < nameLength && expression.test(name);
}

/** Tells whether labels match. */
export type LabelSelector = (labels: Readonly<Record<string, string>>) => boolean;

/** Matches everything. */
export const everything: LabelSelector = () => true;

/** Matches nothing. */
export const nothing: LabelSelector = () => false;

const name = `(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?`;
const value = `(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?`;
const exists = new RegExp(`^(!?)\\s*(${name})$`);
const equals = new RegExp(`^(${name})\\s*(=|==|!=)\\s*(${value})$`);
const among = new RegExp(`^(${name})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const compares = new RegExp(`^(${name})\\s*([<>])\\s*(-?\\d{1,15})$`);
const oneValue = new RegExp(`^${value}$`);

/**
 * Reads a label selector as Kubernetes writes it: requirements joined by commas, each `key`, `!key`, `key=value`,
 * `key==value`, `key!=value`, `key in (a,b)`, `key notin (a,b)`, `key>1` or `key<1`. `!=` and `notin` also match what
 * lacks the key.
 * An empty text matches everything. Undefined when the text is no selector.
 */
export function parseLabelSelector(text: string): LabelSelector | undefined {
  const requirements = (text.trim() === '' ? [] : split(text)).map(parseRequirement);
  if (!requirements.every(requirement => requirement !== undefined)) return undefined;
  return labels => requirements.every(matches => matches(labels));
}

/** Commas inside parentheses separate values, not requirements. By hand: a regular expression looks ahead from each comma. */
function split(text: string): string[] {
  const parts: string[] = [];
  let [start, inside] = [0, false];
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === '(') inside = true;
    else if (text[i] === ')') inside = false;
    else if (text[i] === ',' && !inside) {
      parts.push(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  return [...parts, text.slice(start).trim()];
}

function parseRequirement(part: string): LabelSelector | undefined {
  const existence = exists.exec(part);
  if (existence !== null) {
    const [, not, key = ''] = existence;
    return labels => Object.hasOwn(labels, key) !== (not === '!');
  }
  const equality = equals.exec(part);
  if (equality !== null) {
    const [, key = '', operator, wanted = ''] = equality;
    const matches: LabelSelector = labels => Object.hasOwn(labels, key) && labels[key] === wanted;
    return operator === '!=' ? labels => !matches(labels) : matches;
  }
  const comparison = compares.exec(part);
  if (comparison !== null) {
    const [, key = '', operator, bound] = comparison;
    return labels => {
      const label = labels[key] ?? '';
      if (!/^-?\d{1,15}$/.test(label)) return false;
      return operator === '<' ? Number(label) < Number(bound) : Number(label) > Number(bound);
    };
  }
  const membership = among.exec(part);
  if (membership === null) return undefined;
  const [, key = '', operator, list = ''] = membership;
  const values = list.split(',').map(item => item.trim());
  if (!values.every(item => oneValue.test(item))) return undefined;
  return operator === 'in'
    ? labels => Object.hasOwn(labels, key) && values.includes(labels[key] as string)
    : labels => !Object.hasOwn(labels, key) || !values.includes(labels[key] as string);
}

/** Tells whether labels match. */
export type LabelSelector = (labels: Readonly<Record<string, string>>) => boolean;

/** Matches everything. */
export const everything: LabelSelector = () => true;

/** Matches nothing. */
export const nothing: LabelSelector = () => false;

const name = String.raw`(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?`;
const value = String.raw`(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?`;
const exists = new RegExp(`^(!?)\\s*(${name})$`);
const equals = new RegExp(`^(${name})\\s*(=|==|!=)\\s*(${value})$`);
const among = new RegExp(`^(${name})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const oneValue = new RegExp(`^${value}$`);

/**
 * Reads a label selector as Kubernetes writes it: requirements joined by commas, each `key`, `!key`, `key=value`,
 * `key==value`, `key!=value`, `key in (a,b)` or `key notin (a,b)`. `!=` and `notin` also match what lacks the key.
 * An empty text matches everything. Undefined when the text is no selector.
 */
export function parseLabelSelector(text: string): LabelSelector | undefined {
  // Commas inside parentheses separate values, not requirements.
  const parts = text.trim() === '' ? [] : text.split(/,(?![^(]*\))/).map(part => part.trim());
  const requirements = parts.map(parseRequirement);
  if (!requirements.every(requirement => requirement !== undefined)) return undefined;
  return labels => requirements.every(matches => matches(labels));
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
    return operator === '!=' ? labels => labels[key] !== wanted : labels => labels[key] === wanted;
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

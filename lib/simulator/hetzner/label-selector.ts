import { ApiProblem } from './problem.ts';

type Labels = Readonly<Record<string, string>>;
type Requirement = (labels: Labels) => boolean;

const identifier = /[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?/y;
const operator = /\s*(==|=|!=|\s(?:notin|in)(?=[\s(]))\s*/y;
const space = /\s*/y;

/**
 * Compiles a label selector: `k`, `!k`, `k=v`, `k==v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, joined by commas.
 * `!=` and `notin` also match where the key is absent. Throws `invalid_input` with a position, as the API does.
 */
export function parseLabelSelector(text: string): Requirement {
  let at = 0;
  const read = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  const fail = (message: string): never => {
    throw new ApiProblem(422, 'invalid_input', message, { fields: [{ name: 'label_selector', messages: [message] }] });
  };
  const name = (): string =>
    read(identifier)?.[0] ??
    fail(`invalid label_selector: invalid identifier at position ${at}: ${text.slice(at, at + 1) || 'end of input'}`);
  const char = (wanted: string, word: string): void => {
    read(space);
    if (text[at] !== wanted) fail(`invalid label_selector: expected ${word} at pos ${at}`);
    at++;
    read(space);
  };

  const valueSet = (): Set<string> => {
    const values = new Set<string>();
    char('(', 'opening parenthesis');
    values.add(name());
    for (read(space); text[at] === ','; read(space)) {
      char(',', 'comma');
      values.add(name());
    }
    char(')', 'closing parenthesis');
    return values;
  };

  const requirement = (): Requirement => {
    if (text[at] === '!') {
      at++;
      const key = name();
      return labels => !Object.hasOwn(labels, key);
    }
    const key = name();
    const sign = read(operator)?.[1]?.trim();
    if (sign === undefined) return labels => Object.hasOwn(labels, key);
    if (sign === 'in' || sign === 'notin') {
      const values = valueSet();
      const wanted = sign === 'in';
      return labels => (Object.hasOwn(labels, key) && values.has(labels[key] ?? '')) === wanted;
    }
    const value = read(identifier)?.[0] ?? '';
    return labels => (Object.hasOwn(labels, key) && labels[key] === value) === (sign !== '!=');
  };

  read(space);
  const all = [requirement()];
  for (read(space); at < text.length; read(space)) {
    char(',', 'comma');
    all.push(requirement());
  }
  return labels => all.every(one => one(labels));
}

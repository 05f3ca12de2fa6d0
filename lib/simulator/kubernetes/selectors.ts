import { asObject, asString, type JsonObject } from './json.ts';
import { badRequest } from './status.ts';

export type Matcher = (object: JsonObject) => boolean;

const everything: Matcher = () => true;

/** Splits at commas that are not inside parentheses. */
const requirementsOf = (text: string): string[] => text.split(/,(?![^(]*\))/).map(part => part.trim());

const labelOf = (object: JsonObject, key: string): string | undefined => {
  const value = asObject(asObject(object.metadata).labels)[key];
  return typeof value === 'string' ? value : undefined;
};

const oneRequirement = (text: string): Matcher => {
  const set = /^([^\s!=(),]+)\s+(in|notin)\s+\(([^()]*)\)$/.exec(text);
  if (set?.[1] !== undefined && set[3] !== undefined) {
    const [key, wanted, values] = [set[1], set[2] === 'in', set[3].split(',').map(value => value.trim())];
    return object => {
      const label = labelOf(object, key);
      return (label !== undefined && values.includes(label)) === wanted;
    };
  }
  const equal = /^([^\s!=(),]+)\s*(==|=|!=)\s*([^\s!=(),]*)$/.exec(text);
  if (equal?.[1] !== undefined) {
    const [key, wanted, value] = [equal[1], equal[2] !== '!=', equal[3]];
    return object => (labelOf(object, key) === value) === wanted;
  }
  const exists = /^(!?)\s*([^\s!=(),]+)$/.exec(text);
  if (exists?.[2] !== undefined) {
    const [key, wanted] = [exists[2], exists[1] === ''];
    return object => (labelOf(object, key) !== undefined) === wanted;
  }
  throw badRequest(`unable to parse requirement: ${JSON.stringify(text)}`);
};

const all =
  (matchers: readonly Matcher[]): Matcher =>
  object =>
    matchers.every(matches => matches(object));

/** `a=b,c!=d,e in (f,g),h,!i`. @throws StatusError 400 */
export const labelSelector = (text: string): Matcher =>
  text === '' ? everything : all(requirementsOf(text).map(oneRequirement));

/** Reads `a.b.c` as text; what is missing reads as empty, as in the API server. */
const fieldOf = (object: JsonObject, path: string): string => {
  let value: JsonObject[string] | undefined = object;
  for (const step of path.split('.')) value = asObject(value)[step];
  return typeof value === 'boolean' ? String(value) : asString(value);
};

/** `metadata.name=x,metadata.namespace!=y`, only over the fields that the kind supports. @throws StatusError 400 */
export const fieldSelector = (text: string, supported: readonly string[]): Matcher => {
  if (text === '') return everything;
  return all(
    text.split(',').map(part => {
      const match = /^([^!=]+)(==|=|!=)(.*)$/.exec(part);
      const [path, value] = [match?.[1], match?.[3]];
      if (path === undefined) throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
      if (!supported.includes(path)) throw badRequest(`field label not supported: ${path}`);
      const wanted = match?.[2] !== '!=';
      return (object: JsonObject) => (fieldOf(object, path) === value) === wanted;
    }),
  );
};

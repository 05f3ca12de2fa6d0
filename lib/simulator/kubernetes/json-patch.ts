import { clone, isObject, type Json, type JsonObject, sameJson } from './json.ts';

/** Why a patch did not apply. The API server hides it behind one sentence; specs of the patch itself read it. */
export class PatchFailure extends Error {}

const parsePointer = (pointer: Json | undefined): string[] => {
  if (typeof pointer !== 'string') throw new PatchFailure('path is missing');
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) throw new PatchFailure(`path ${pointer} does not start with /`);
  return pointer
    .slice(1)
    .split('/')
    .map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'));
};

const indexIn = (token: string, last: number): number => {
  if (token === '-') return last;
  const index = Number(token);
  if (!/^(0|[1-9]\d*)$/.test(token) || index > last) throw new PatchFailure(`no index ${token}`);
  return index;
};

const childOf = (parent: Json, token: string): Json | undefined => {
  if (Array.isArray(parent)) return parent[indexIn(token, parent.length - 1)];
  if (isObject(parent) && Object.hasOwn(parent, token)) return parent[token];
  return undefined;
};

const read = (root: Json, path: readonly string[]): Json | undefined => {
  let value: Json | undefined = root;
  for (const token of path) {
    if (value === undefined) return undefined;
    value = childOf(value, token);
  }
  return value;
};

const parentOf = (root: Json, path: readonly string[]): { parent: Json[] | JsonObject; token: string } => {
  const token = path.at(-1);
  const parent = read(root, path.slice(0, -1));
  if (token === undefined || !(Array.isArray(parent) || isObject(parent))) {
    throw new PatchFailure(`nothing holds /${path.join('/')}`);
  }
  return { parent, token };
};

const add = (root: Json, path: readonly string[], value: Json): void => {
  const { parent, token } = parentOf(root, path);
  if (Array.isArray(parent)) parent.splice(indexIn(token, parent.length), 0, value);
  else parent[token] = value;
};

const remove = (root: Json, path: readonly string[]): Json => {
  const { parent, token } = parentOf(root, path);
  const value = childOf(parent, token);
  if (value === undefined) throw new PatchFailure(`nothing at /${path.join('/')}`);
  if (Array.isArray(parent)) parent.splice(indexIn(token, parent.length - 1), 1);
  else delete parent[token];
  return value;
};

const applyOne = (root: JsonObject, operation: JsonObject): void => {
  const path = parsePointer(operation.path);
  switch (operation.op) {
    case 'add':
      add(root, path, clone(operation.value ?? null));
      return;
    case 'remove':
      remove(root, path);
      return;
    case 'replace': {
      const { parent, token } = parentOf(root, path);
      if (childOf(parent, token) === undefined) throw new PatchFailure(`nothing at ${operation.path}`);
      if (Array.isArray(parent)) parent[indexIn(token, parent.length - 1)] = clone(operation.value ?? null);
      else parent[token] = clone(operation.value ?? null);
      return;
    }
    case 'move':
      add(root, path, remove(root, parsePointer(operation.from)));
      return;
    case 'copy': {
      const value = read(root, parsePointer(operation.from));
      if (value === undefined) throw new PatchFailure(`nothing at ${operation.from}`);
      add(root, path, clone(value));
      return;
    }
    case 'test':
      // As in the API server's library, a missing member equals null.
      if (!sameJson(read(root, path) ?? null, operation.value ?? null))
        throw new PatchFailure(`test of ${operation.path} failed`);
      return;
    default:
      throw new PatchFailure(`unknown op ${JSON.stringify(operation.op)}`);
  }
};

/**
 * RFC 6902 on a copy of `target`: all operations or none.
 * @throws PatchFailure when an operation does not apply or a `test` does not hold.
 */
export const jsonPatch = (target: JsonObject, operations: readonly Json[]): JsonObject => {
  const result = clone(target);
  for (const operation of operations) {
    if (!isObject(operation)) throw new PatchFailure('an operation is not an object');
    applyOne(result, operation);
  }
  return result;
};

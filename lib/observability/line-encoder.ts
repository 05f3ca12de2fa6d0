import { Buffer } from 'node:buffer';
import { errorFields, isError, read, thrownFields } from './error-fields.ts';
import { isSecretKey, mask } from './redact.ts';

/**
 * Container runtimes (CRI) break lines of more than 16 KiB in two, and then neither half is JSON. The margin holds the
 * remarks on what was cut, at most one for each level, and the value at hand.
 */
const maxLine = 16 * 1024 - 512;
/** Characters. */
const maxText = 4096;
const maxKey = 128;
const maxDepth = 6;
const maxMembers = 100;

/** An entry of a JSON object, in the order to be written. */
export type Entry = readonly [key: string, value: unknown];

/** JSON allows these raw; terminals, editors and line readers act on them. C1 controls, separators, bidi overrides, BOM. */
const unsafe = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const escapeUnsafe = (c: string): string => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;

const quote = (text: string): string => JSON.stringify(text.toWellFormed()).replace(unsafe, escapeUnsafe);
/** Printable ASCII without quote and backslash: needs no escaping. */
const plain = /^[ !#-[\]-~]*$/;

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/**
 * A whole Kubernetes or Hetzner object in a log line is a mistake: only what identifies it is written (BUG-091).
 * Undefined for everything else.
 */
const identity = (object: object): Entry[] | undefined => {
  const metadata = read(object, 'metadata');
  const has = (key: string) => read(object, key) !== undefined;
  if (isObject(metadata) && isText(read(metadata, 'name')) && ['kind', 'spec', 'status', 'apiVersion'].some(has)) {
    return [
      ['kind', read(object, 'kind')],
      ['namespace', read(metadata, 'namespace')],
      ['name', read(metadata, 'name')],
    ];
  }
  const [id, name] = [read(object, 'id'), read(object, 'name')];
  if (!isText(name)) return undefined;
  if (isText(read(object, 'uid')) && has('resourceVersion')) {
    return [
      ['namespace', read(object, 'namespace') || undefined],
      ['name', name],
    ];
  }
  if (typeof id === 'number' && Object.keys(object).length > 4) {
    return [
      ['id', id],
      ['name', name],
    ];
  }
  return undefined;
};

/**
 * Writes entries as one line of JSON, whatever they hold: no value can throw, break the line, or make it longer than
 * what container runtimes keep in one piece. `redact` hides secrets and cuts. Undefined values are left out.
 */
export const createLineEncoder =
  (redact: (text: string, max: number) => string) =>
  (entries: Iterable<Entry>): string => {
    /** Bytes that may still be written. */
    let left = maxLine;
    /** Objects around the present one. */
    const around: object[] = [];

    const spend = (json: string, bytes = json.length): string => {
      left -= bytes + 1;
      return json;
    };

    const text = (value: string, max = maxText): string => {
      const clean = redact(value, max);
      // Nearly all texts are plain, and this path makes a line three times as fast.
      if (plain.test(clean) && clean.length + 2 <= left) return spend(`"${clean}"`);
      const json = quote(clean);
      const bytes = Buffer.byteLength(json);
      if (bytes <= left) return spend(json, bytes);
      // An escaped character takes up to 6 bytes.
      const short = quote(redact(value, Math.max(0, Math.floor(left / 6))));
      return spend(short, Buffer.byteLength(short));
    };

    const number = (value: number | bigint): string => {
      const digits = String(value);
      const plain = typeof value === 'number' && Number.isFinite(value) && redact(digits, maxText) === digits;
      return plain ? spend(digits) : text(digits);
    };

    const members = (all: Iterable<Entry>): string => {
      const parts: string[] = [];
      for (const [key, value] of all) {
        if (left <= 0) break;
        const name = text(key, maxKey);
        const hide = isSecretKey(key) && value !== undefined && value !== null && typeof value !== 'boolean';
        const json = hide ? text(mask) : encode(value);
        if (json !== undefined) parts.push(`${name}:${json}`);
      }
      return `{${parts.join(',')}}`;
    };

    const elements = (all: readonly unknown[]): string => {
      const parts: string[] = [];
      for (let i = 0; i < Math.min(all.length, maxMembers) && left > 0; i++)
        parts.push(encode(read(all, i)) ?? spend('null'));
      if (parts.length < all.length) parts.push(text(`... (${all.length - parts.length} more)`));
      return `[${parts.join(',')}]`;
    };

    const properties = (object: object): Entry[] => {
      const keys = Object.keys(object);
      const found = keys.slice(0, maxMembers).map((key): Entry => [key, read(object, key)]);
      return keys.length > maxMembers ? [...found, ['...', `${keys.length - maxMembers} more`]] : found;
    };

    const structure = (object: object): string | undefined => {
      if (isError(object)) return members(errorFields(object));
      if (object instanceof Date) return Number.isNaN(object.getTime()) ? 'null' : text(object.toISOString());
      if (ArrayBuffer.isView(object) || object instanceof ArrayBuffer) return text(`[${object.byteLength} bytes]`);
      if (object instanceof RegExp) return text(String(object));
      if (object instanceof Set) return elements([...object]);
      if (object instanceof Map)
        return members([...object].map(([k, v]): Entry => [String(k), v]).slice(0, maxMembers));
      if (Array.isArray(object)) return elements(object);
      const toJSON = read(object, 'toJSON');
      if (typeof toJSON === 'function') return encode(toJSON.call(object));
      return members(identity(object) ?? properties(object));
    };

    const nested = (object: object): string | undefined => {
      if (around.includes(object)) return text('[circular]');
      if (around.length >= maxDepth || left <= 0) return text('[cut]');
      around.push(object);
      left -= 2; // its brackets
      try {
        return structure(object);
      } catch {
        return text('[unreadable]');
      } finally {
        around.pop();
      }
    };

    /** Undefined for what is to be left out. */
    const encode = (value: unknown): string | undefined => {
      switch (typeof value) {
        case 'string':
          return text(value);
        case 'number':
        case 'bigint':
          return number(value);
        case 'boolean':
          return spend(String(value));
        case 'undefined':
          return undefined;
        case 'object':
          return value === null ? spend('null') : nested(value);
        default:
          return text(`[${typeof value}]`);
      }
    };

    function* prepared(): Iterable<Entry> {
      for (const [key, value] of entries) {
        const wrap = key === 'err' && value !== undefined && !isError(value);
        yield [key, wrap ? Object.fromEntries(thrownFields(value)) : value];
      }
    }
    return members(prepared());
  };

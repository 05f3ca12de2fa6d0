import { decodeAction } from './decode.ts';
import { decoded } from './decoded.ts';
import { isNotFound, isRecord } from './errors.ts';
import { listAll } from './paging.ts';
import type { Call } from './retry.ts';
import type { Action, CallOptions } from './types.ts';

type Decode<T> = (json: unknown) => T;

/** The forms that calls of all resources have. An answer that makes no sense rejects with `invalid_response`. */
export interface ResourceCalls {
  /** All pages of a list. */
  list<T extends { readonly id: number }>(
    path: string,
    key: string,
    query: ReadonlyArray<readonly [string, string]>,
    decode: Decode<T>,
    o: CallOptions,
  ): Promise<readonly T[]>;
  /** Undefined when Hetzner says there is none. */
  get<T>(path: string, key: string, decode: Decode<T>, o: CallOptions): Promise<T | undefined>;
  /** A POST that starts an action; undefined sends no body. */
  act(path: string, body: unknown, o: CallOptions): Promise<Action>;
  /** What is gone already is deleted. */
  remove(path: string, o: CallOptions): Promise<void>;
  /** A write that answers an entity, and maybe an action. */
  write<T>(
    method: 'POST' | 'PUT',
    path: string,
    key: string,
    body: unknown,
    decode: Decode<T>,
    o: CallOptions,
  ): Promise<{ readonly item: T; readonly action: Action | undefined }>;
}

export const createResourceCalls = (call: Call): ResourceCalls => ({
  list: (path, key, query, decode, o) =>
    listAll(call, { path, key, query, decode: item => decoded('GET', path, decode, item) }, o),
  get: async (path, key, decode, o) => {
    try {
      return decoded('GET', path, decode, fieldOf(await call({ method: 'GET', path }, o), key));
    } catch (err) {
      if (isNotFound(err)) return undefined;
      throw err;
    }
  },
  act: async (path, body, o) => {
    const answer = await call({ method: 'POST', path, body }, o);
    return decoded('POST', path, decodeAction, fieldOf(answer, 'action'));
  },
  remove: async (path, o) => {
    try {
      await call({ method: 'DELETE', path }, o);
    } catch (err) {
      if (!isNotFound(err)) throw err;
    }
  },
  write: async (method, path, key, body, decode, o) => {
    const answer = await call({ method, path, body }, o);
    const action = fieldOf(answer, 'action') ?? undefined;
    return {
      item: decoded(method, path, decode, fieldOf(answer, key)),
      action: action === undefined ? undefined : decoded(method, path, decodeAction, action),
    };
  },
});

const fieldOf = (answer: unknown, key: string): unknown => (isRecord(answer) ? answer[key] : undefined);

import type { ApiRequest } from './api.ts';
import type { Verb } from './route.ts';

/**
 * Trouble to script.
 * - `status`: refuse with this code (and Retry-After in seconds).
 * - `hang`: never answer.
 * - `reset`: cut the connection, before or (`after`) after the request took effect.
 * - `delay`: answer `ms` later.
 * - `late`: take effect `ms` later, whether or not the client still waits: the request was in the network meanwhile.
 * - `half-open`: a watch starts, then nothing comes any more and nobody closes.
 * - `partial-line`: a watch ends in the middle of its next line.
 * - `duplicate`: each line of a watch comes twice, after the one before it once more.
 * - `answer`: 200 with this body, as from a proxy that is no API server.
 */
export type Fault =
  | { readonly kind: 'status'; readonly code: number; readonly message?: string; readonly retryAfter?: number }
  | { readonly kind: 'hang' }
  | { readonly kind: 'reset'; readonly after?: boolean }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'late'; readonly ms: number }
  | { readonly kind: 'half-open' }
  | { readonly kind: 'partial-line' }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'answer'; readonly body: string };

/** Which requests a fault meets; what is left out matches everything. */
export interface FaultMatch {
  readonly verb?: Verb | readonly Verb[];
  /** A path prefix, or a pattern over path and query. */
  readonly path?: string | RegExp;
  /** A pattern over what is sent. */
  readonly body?: RegExp;
  readonly user?: string;
}

export interface FaultRule extends FaultMatch {
  readonly fault: Fault;
  /** How many requests it meets; without it, all until removed. */
  readonly times?: number;
}

export interface Faults {
  /** Adds a rule, returns its removal. Older rules go first. */
  add(rule: FaultRule): () => void;
  clear(): void;
  /** The fault for this request, counted down. */
  take(request: ApiRequest, verb: Verb | undefined, user: string): Fault | undefined;
}

export const matchesRequest = (
  match: FaultMatch,
  request: ApiRequest,
  verb: Verb | undefined,
  user: string,
): boolean => {
  if (match.verb !== undefined && (verb === undefined || ![match.verb].flat().includes(verb))) return false;
  if (match.user !== undefined && match.user !== user) return false;
  if (match.body?.test(request.body) === false) return false;
  if (typeof match.path === 'string') return request.url.startsWith(match.path);
  return match.path === undefined || match.path.test(request.url);
};

export const createFaults = (): Faults => {
  const rules = new Map<FaultRule, number>();
  return {
    add: rule => {
      rules.set(rule, rule.times ?? Number.POSITIVE_INFINITY);
      return () => rules.delete(rule);
    },
    clear: () => rules.clear(),
    take: (request, verb, user) => {
      for (const [rule, left] of rules) {
        if (!matchesRequest(rule, request, verb, user)) continue;
        if (left <= 1) rules.delete(rule);
        else rules.set(rule, left - 1);
        return rule.fault;
      }
      return undefined;
    },
  };
};

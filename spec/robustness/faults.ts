import type { FaultKind as HetznerTrouble } from '../../lib/simulator/hetzner/faults.ts';
import type { Fault as KubernetesTrouble } from '../../lib/simulator/kubernetes/faults.ts';
import { isWrite, type Operation } from './operations.ts';

/** What goes wrong: the columns of the fault matrix. */

export interface FaultCase {
  readonly name: string;
  /** May echo the token: it must not be repeated. */
  readonly hetzner?: (operation: Operation, token: string) => HetznerTrouble;
  readonly kubernetes?: KubernetesTrouble;
  readonly fits: (operation: Operation) => boolean;
  /** What a line of the log, warn or error, must match; absent where nothing needs to be said. */
  readonly told?: RegExp;
}

/** The errors that the Cloud API documents for all its calls. */
const generalCodes: readonly (readonly [status: number, code: string])[] = [
  [400, 'json_error'],
  [401, 'unauthorized'],
  [401, 'token_readonly'],
  [403, 'forbidden'],
  [403, 'maintenance'],
  [403, 'resource_limit_exceeded'],
  [404, 'not_found'],
  [405, 'method_not_allowed'],
  [409, 'uniqueness_error'],
  [409, 'conflict'],
  [410, 'deprecated_api_endpoint'],
  [412, 'resource_unavailable'],
  [422, 'invalid_input'],
  [422, 'service_error'],
  [422, 'unsupported_error'],
  [423, 'locked'],
  [423, 'protected'],
  [429, 'rate_limit_exceeded'],
  [500, 'server_error'],
  [502, 'bad_gateway'],
  [503, 'unavailable'],
  [504, 'timeout'],
];

const isHetzner = (operation: Operation): boolean => operation.side === 'hetzner';
const isKubernetes = (operation: Operation): boolean => operation.side === 'kubernetes';
const isRead = (operation: Operation): boolean =>
  operation.side === 'kubernetes' && ['get', 'list', 'watch'].includes(operation.verb);
const isWatch = (operation: Operation): boolean => operation.side === 'kubernetes' && operation.verb === 'watch';
const startsAction = (operation: Operation): boolean => operation.side === 'hetzner' && operation.startsAction;
const isGone = (operation: Operation): boolean =>
  operation.side === 'hetzner' && (operation.method === 'DELETE' || /\/(?:remove|delete)_/.test(operation.route));

const answered = (status: number, code: string, fits = isHetzner): FaultCase => ({
  name: `${status} ${code}`,
  fits,
  // A deletion that finds nothing is true only where it is: somebody else was faster.
  hetzner: (operation, token) =>
    status === 404 && isGone(operation)
      ? { kind: 'rewrite', status, body: () => ({ error: { code, message: 'not there', details: null } }) }
      : { kind: 'error', status, code, message: `made up, and the token was ${token}` },
  ...(!(code === 'not_found') && { told: status === 429 ? /quota was used up/ : new RegExp(`\\b${code}\\b`) }),
});

const general = generalCodes.map(([status, code]) => answered(status, code));

/** Codes of single calls, once each. */
const special = (operations: readonly Operation[]): FaultCase[] => {
  const seen = new Map<string, readonly [number, string]>();
  for (const operation of operations)
    if (operation.side === 'hetzner') for (const one of operation.codes) seen.set(one.join(' '), one);
  return [...seen.values()].map(([status, code]) =>
    answered(
      status,
      code,
      operation => operation.side === 'hetzner' && operation.codes.some(one => one[0] === status && one[1] === code),
    ),
  );
};

const cut = /UND_ERR_SOCKET/;
const transport: readonly FaultCase[] = [
  { name: '502 HTML', fits: isHetzner, hetzner: () => ({ kind: 'html', status: 502 }), told: /http_502/ },
  { name: '503 HTML', fits: isHetzner, hetzner: () => ({ kind: 'html', status: 503 }), told: /http_503/ },
  { name: '504 HTML', fits: isHetzner, hetzner: () => ({ kind: 'html', status: 504 }), told: /http_504/ },
  {
    name: '200 HTML',
    fits: isHetzner,
    hetzner: () => ({ kind: 'rewrite', status: 200, body: () => '<html>please log in</html>' }),
    told: /invalid_response/,
  },
  { name: 'truncated, cut', fits: isHetzner, hetzner: () => ({ kind: 'truncated' }), told: cut },
  {
    name: 'truncated JSON',
    fits: isHetzner,
    hetzner: () => ({ kind: 'rewrite', body: body => JSON.stringify(body ?? { a: 1 }).slice(0, -2) }),
    told: /invalid_response/,
  },
  {
    name: 'wrong types',
    fits: operation => operation.side === 'hetzner' && operation.method !== 'DELETE',
    hetzner: () => ({ kind: 'rewrite', body: wrongTypes }),
    told: /invalid_response/,
  },
  { name: 'text/plain', fits: isHetzner, hetzner: () => ({ kind: 'wrong-type' }) },
  { name: 'hang', fits: isHetzner, hetzner: () => ({ kind: 'hang' }), told: /no answer within/ },
  { name: 'reset before', fits: isHetzner, hetzner: () => ({ kind: 'reset' }), told: cut },
  { name: 'reset after', fits: isHetzner, hetzner: () => ({ kind: 'reset-after-effect' }), told: cut },
  {
    name: 'lost after',
    fits: operation => operation.side === 'hetzner' && isWrite(operation),
    hetzner: () => ({ kind: 'lost-after-effect' }),
    told: /no answer within/,
  },
  { name: 'slow answer', fits: isHetzner, hetzner: () => ({ kind: 'slow', ms: 9_000 }) },
  {
    name: 'redirect',
    fits: isHetzner,
    hetzner: () => ({ kind: 'redirect', location: 'https://elsewhere.example/' }),
    told: /http_302/,
  },
  {
    name: 'action fails',
    fits: startsAction,
    hetzner: () => ({ kind: 'action', error: { code: 'action_failed', message: 'it went wrong' } }),
    told: /action_failed/,
  },
  // Longer than any action is waited for.
  { name: 'action takes 15 min', fits: startsAction, hetzner: () => ({ kind: 'action', duration: 900_000 }) },
];

/** The same shape with numbers as texts, texts as numbers, and lists as objects. */
function wrongTypes(body: unknown): unknown {
  if (typeof body === 'number') return `${body}`;
  if (typeof body === 'string') return 7;
  if (Array.isArray(body)) return body.length === 0 ? {} : body.map(wrongTypes);
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [key, wrongTypes(value)]));
}

const refused = (code: number, more: { readonly retryAfter?: number } = {}): FaultCase => ({
  name: more.retryAfter === undefined ? `${code}` : `${code}, Retry-After ${more.retryAfter}`,
  // Reads conflict with nothing, and have no body that could be wrong.
  fits: operation => isKubernetes(operation) && !(isRead(operation) && (code === 409 || code === 422)),
  kubernetes: { kind: 'status', code, ...more },
  // That what is to be written is gone is no trouble: somebody else was faster.
  ...(code !== 404 && { told: new RegExp(`\\b${code}\\b`) }),
});

const api: readonly FaultCase[] = [
  ...[401, 403, 404, 409, 410, 422].map(code => refused(code)),
  refused(429, { retryAfter: 20 }),
  ...[500, 503].map(code => refused(code)),
  { name: 'hang', fits: isKubernetes, kubernetes: { kind: 'hang' }, told: /no answer in|Headers Timeout/ },
  { name: 'reset before', fits: isKubernetes, kubernetes: { kind: 'reset' }, told: cut },
  { name: 'reset after', fits: isKubernetes, kubernetes: { kind: 'reset', after: true }, told: cut },
  { name: 'slow', fits: isKubernetes, kubernetes: { kind: 'delay', ms: 4_000 } },
  {
    name: '200 HTML',
    fits: isKubernetes,
    kubernetes: { kind: 'answer', body: '<html>\nplease log in</html>\n' },
    told: /not JSON/,
  },
  {
    name: '200 wrong types',
    fits: isKubernetes,
    kubernetes: { kind: 'answer', body: '{"kind":7,"items":{},"metadata":[]}\n' },
  },
  { name: 'half-open', fits: isWatch, kubernetes: { kind: 'half-open' } },
  { name: 'partial line', fits: isWatch, kubernetes: { kind: 'partial-line' } },
  { name: 'duplicate events', fits: isWatch, kubernetes: { kind: 'duplicate' } },
];

/** All columns for these rows. */
export const faultsFor = (operations: readonly Operation[]): readonly FaultCase[] => [
  ...general,
  ...special(operations),
  ...transport,
  ...api,
];

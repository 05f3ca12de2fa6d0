/** Which of Hetzner's APIs answered. */
export type HetznerAPI = 'cloud' | 'robot';

/**
 * What can be done about an error.
 * - `transient`: trying the same again later may help
 * - `permanent`: only a change (ours or the user's) helps
 * - `rateLimited`: the quota is used up, nothing was done
 * - `unauthorized`: the credentials are wrong
 * - `locked`: another change of the same resource is running, nothing was done
 */
export type ErrorClass = 'transient' | 'permanent' | 'rateLimited' | 'unauthorized' | 'locked';

export interface HetznerFault {
  readonly api: HetznerAPI;
  /** HTTP status; 0 when there was no (whole) answer. */
  readonly status: number;
  /** Hetzner's code, `timeout`, `invalid_response`, `http_<status>`, or the code of the network error. */
  readonly code: string;
  readonly message: string;
  readonly details?: unknown;
  readonly correlationID?: string | undefined;
  readonly method: string;
  /** Route template, ids replaced by `-`. */
  readonly route: string;
  /** False only when it is certain that the request never left this process. */
  readonly sent?: boolean;
}

/** Longest message that is kept: what is looked for in it and written of it must not grow with what a proxy makes up. */
const longestMessage = 2_048;

const clipped = (text: string): string => (text.length > longestMessage ? `${text.slice(0, longestMessage)}...` : text);

/** A call to Hetzner that did not succeed. Carries neither credentials nor request headers. */
export class HetznerError extends Error {
  override readonly name = 'HetznerError';
  readonly api: HetznerAPI;
  readonly status: number;
  readonly code: string;
  readonly details: unknown;
  readonly correlationID: string | undefined;
  readonly method: string;
  readonly route: string;
  readonly sent: boolean;
  /** Names of the fields that were refused, where Hetzner names them. */
  readonly fields: readonly string[];

  constructor(fault: HetznerFault) {
    super(`${clipped(`${fault.message}${fieldsOf(fault.details)}`)} (${clipped(fault.code)})`);
    this.api = fault.api;
    this.status = fault.status;
    this.code = fault.code;
    this.details = fault.details;
    this.correlationID = fault.correlationID;
    this.method = fault.method;
    this.route = fault.route;
    this.sent = fault.sent ?? true;
    this.fields = fieldsIn(fault.details).map(({ name }) => String(name ?? '?'));
  }
}

/** Robot has another code, or says nothing but 403 (a proxy's 403 is as well a reason to pause). */
const isRateLimit = ({ api, status, code }: HetznerError): boolean =>
  status === 429 ||
  code === 'rate_limit_exceeded' ||
  (api === 'robot' && (code === 'RATE_LIMIT_EXCEEDED' || code === 'http_403'));

/**
 * True when the token is good, but may only read. Documented is the code `token_readonly`; a proxy, or an API that has
 * roles, says `forbidden` in words like "insufficient permissions".
 */
export const isReadOnlyToken = (err: unknown): boolean =>
  err instanceof HetznerError &&
  err.api === 'cloud' &&
  err.method !== 'GET' &&
  (err.code === 'token_readonly' ||
    (err.status === 403 &&
      err.code === 'forbidden' &&
      /permission|read[- ]?only|(only|just).* (read|GET)\b/i.test(err.message)));

const transientCodes = new Set([
  'bad_gateway',
  'timeout',
  'unavailable',
  'server_error',
  'maintenance',
  'robot_unavailable',
  'invalid_response',
]);
const lockedCodes = new Set(['locked', 'conflict', 'resource_locked']);

/** The class of an error; what did not come from Hetzner's API is `permanent`. */
export const classOf = (err: unknown): ErrorClass => {
  if (!(err instanceof HetznerError)) return 'permanent';
  const { status, code } = err;
  if (isRateLimit(err)) return 'rateLimited';
  if (status === 401 || isReadOnlyToken(err)) return 'unauthorized';
  if (lockedCodes.has(code) || code === 'http_423') return 'locked';
  if (status === 0 || status === 408 || status >= 500 || transientCodes.has(code)) return 'transient';
  return 'permanent';
};

/**
 * True when Hetzner itself said that the entity does not exist. A 404 of a proxy, or of a wrong endpoint
 * ("api route not found"), says nothing about the entity.
 */
export const isNotFound = (err: unknown): boolean =>
  err instanceof HetznerError &&
  err.status === 404 &&
  err.code === (err.api === 'robot' ? 'SERVER_NOT_FOUND' : 'not_found') &&
  !err.message.includes('api route not found');

/** True when the project or the resource holds as many as Hetzner allows; trying again needs room first. */
export const isLimitExceeded = (err: unknown): boolean =>
  err instanceof HetznerError && err.code === 'resource_limit_exceeded';

const fieldsIn = (details: unknown): Record<string, unknown>[] =>
  isRecord(details) && Array.isArray(details.fields) ? details.fields.filter(isRecord) : [];

/** `invalid_input` names the fields only in its details; without them the message helps nobody (BUG-060). */
const fieldsOf = (details: unknown): string => {
  const texts = fieldsIn(details).map(field => {
    const messages = Array.isArray(field.messages) ? field.messages.filter(m => typeof m === 'string') : [];
    return [String(field.name ?? '?'), ...(messages.length > 0 ? [messages.join(', ')] : [])].join(': ');
  });
  return texts.length > 0 ? `: ${texts.join('; ')}` : '';
};

/**
 * Reads the error envelope of an answer of status >= 300; a body that is none gives a generic error. Robot has its
 * details beside the message (`interval`, `invalid`).
 */
export const faultOfAnswer = (
  status: number,
  body: unknown,
): Pick<HetznerFault, 'status' | 'code' | 'message' | 'details'> => {
  const error = isRecord(body) ? body.error : undefined;
  if (isRecord(error) && typeof error.code === 'string' && error.code !== '') {
    const { status: _, code, message, details, ...fields } = error;
    const text = typeof message === 'string' && message !== '' ? message : code;
    return { status, code, message: text, details: details ?? (Object.keys(fields).length > 0 ? fields : undefined) };
  }
  return { status, code: `http_${status}`, message: `unexpected answer with HTTP status ${status}` };
};

/** Narrows parsed JSON to an object. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

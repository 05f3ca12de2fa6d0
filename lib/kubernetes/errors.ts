export interface KubeErrorCause {
  readonly field: string;
  readonly reason: string;
  readonly message: string;
}

export interface KubeErrorFields {
  /** HTTP status, 0 when there was no answer. */
  readonly status: number;
  /** Reason from the API's Status ("Conflict"), or the code of a network failure ("ECONNREFUSED"). */
  readonly reason: string;
  readonly message: string;
  /** ms the server asked to wait. */
  readonly retryAfter?: number | undefined;
  readonly causes?: readonly KubeErrorCause[];
  readonly cause?: unknown;
}

/** A failed call to the API server. Carries nothing of the request but method and path: no headers, no bodies. */
export class KubeError extends Error {
  readonly status: number;
  readonly reason: string;
  readonly retryAfter: number | undefined;
  readonly causes: readonly KubeErrorCause[];

  constructor(fields: KubeErrorFields) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = 'KubeError';
    this.status = fields.status;
    this.reason = fields.reason;
    this.retryAfter = fields.retryAfter;
    this.causes = fields.causes ?? [];
  }
}

const hasStatus = (err: unknown, status: number): err is KubeError => err instanceof KubeError && err.status === status;

/** Someone else changed the object, or its uid is not the one that was meant. */
export const isConflict = (err: unknown): err is KubeError =>
  hasStatus(err, 409) && (err as KubeError).reason !== 'AlreadyExists';
export const isAlreadyExists = (err: unknown): err is KubeError =>
  hasStatus(err, 409) && (err as KubeError).reason === 'AlreadyExists';
export const isNotFound = (err: unknown): err is KubeError => hasStatus(err, 404);
/** The resourceVersion or the continue token is older than the API server remembers: list again. */
export const isGone = (err: unknown): err is KubeError => hasStatus(err, 410);
/** The resourceVersion is above the server's own: etcd was lost or restored, or this server is far behind others. */
export const isFutureVersion = (err: unknown): err is KubeError =>
  hasStatus(err, 504) && (err as KubeError).causes.some(cause => cause.reason === 'ResourceVersionTooLarge');
export const isTooManyRequests = (err: unknown): err is KubeError => hasStatus(err, 429);
export const isInvalid = (err: unknown): err is KubeError => hasStatus(err, 422);
export const isForbidden = (err: unknown): err is KubeError => hasStatus(err, 403);
/** No answer at all: refused, reset, timed out. */
export const isUnreachable = (err: unknown): err is KubeError => hasStatus(err, 0);

const maxMessage = 1024;
const clip = (text: string): string => (text.length > maxMessage ? `${text.slice(0, maxMessage)}...` : text);
const text = (value: unknown): string => (typeof value === 'string' ? clip(value) : '');
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const causesOf = (details: unknown): KubeErrorCause[] => {
  const causes = isRecord(details) ? details.causes : undefined;
  if (!Array.isArray(causes)) return [];
  return causes
    .filter(isRecord)
    .slice(0, 10)
    .map(c => ({ field: text(c.field), reason: text(c.reason), message: text(c.message) }));
};

/** Seconds as a number or decimal string -> ms. */
const secondsToMs = (value: unknown): number | undefined => {
  const seconds = typeof value === 'string' && /^\d+$/.test(value.trim()) ? Number(value) : value;
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
};

/**
 * The error for a Status object, from an answer's body or from an ERROR event of a watch. Anything that is not a Status
 * (a proxy's HTML page) yields the HTTP status alone: such bodies are not ours to repeat.
 */
export const errorFromStatus = (what: string, status: number, body: unknown, retryAfterHeader?: unknown): KubeError => {
  const fields = isRecord(body) && body.kind === 'Status' ? body : {};
  const code = typeof fields.code === 'number' && status === 0 ? fields.code : status;
  const details = fields.details;
  const message = text(fields.message);
  return new KubeError({
    status: code,
    reason: text(fields.reason) || 'Unknown',
    message: `${what}: ${code}${message === '' ? '' : ` ${message}`}`,
    retryAfter:
      secondsToMs(retryAfterHeader) ?? (isRecord(details) ? secondsToMs(details.retryAfterSeconds) : undefined),
    causes: causesOf(details),
  });
};

/** The error for a call that got no (whole) answer. `cause` keeps the code; undici's errors hold no headers. */
export const errorFromNetwork = (what: string, cause: unknown): KubeError => {
  if (cause instanceof KubeError) return cause;
  const code = isRecord(cause) ? text(cause.code) : '';
  const message = cause instanceof Error ? clip(cause.message) : 'unknown failure';
  return new KubeError({ status: 0, reason: code || 'NetworkError', message: `${what}: ${message || code}`, cause });
};

import type { Json, JsonObject } from './json.ts';

/** One field that was refused, as in `details.causes` of a Status. */
export interface Cause {
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueForbidden'
    | 'FieldValueNotSupported'
    | 'FieldValueDuplicate';
  readonly message: string;
  readonly field: string;
}

/** What a Status names as its subject. */
export interface Subject {
  readonly plural: string;
  readonly kind: string;
  readonly group: string;
}

/** A refusal; `body` is the Status object a real API server would send with this code. */
export class StatusError extends Error {
  readonly code: number;
  readonly body: JsonObject;

  constructor(code: number, body: JsonObject) {
    super(String(body.message));
    this.code = code;
    this.body = body;
  }
}

/** A `Status` of kind Failure, laid out as kube-apiserver 1.37 writes it. */
export const failure = (code: number, reason: string, message: string, details?: JsonObject): StatusError => {
  const body: JsonObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message };
  if (reason !== '') body.reason = reason;
  if (details !== undefined) body.details = details;
  body.code = code;
  return new StatusError(code, body);
};

const detailsOf = (subject: Subject, name: string, kind: string): JsonObject => ({
  ...(name === '' ? {} : { name }),
  ...(subject.group === '' ? {} : { group: subject.group }),
  kind,
});

const qualified = (word: string, group: string): string => (group === '' ? word : `${word}.${group}`);

export const badRequest = (message: string): StatusError => failure(400, 'BadRequest', message);

export const unauthorized = (): StatusError => failure(401, 'Unauthorized', 'Unauthorized');

export const notFound = (subject: Subject, name: string): StatusError =>
  failure(
    404,
    'NotFound',
    `${qualified(subject.plural, subject.group)} "${name}" not found`,
    detailsOf(subject, name, subject.plural),
  );

/** The path is no resource of this server. */
export const noSuchResource = (): StatusError =>
  failure(404, 'NotFound', 'the server could not find the requested resource', {});

export const methodNotAllowed = (): StatusError =>
  failure(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

export const unsupportedMediaType = (): StatusError =>
  failure(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});

/** A JSON patch that did not apply: the real server says no more than this. */
export const patchRefused = (): StatusError =>
  failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {});

export const alreadyExists = (subject: Subject, name: string): StatusError =>
  failure(
    409,
    'AlreadyExists',
    `${qualified(subject.plural, subject.group)} "${name}" already exists`,
    detailsOf(subject, name, subject.plural),
  );

const conflict = (subject: Subject, name: string, kind: string, why: string): StatusError =>
  failure(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(kind, subject.group)} "${name}": ${why}`,
    detailsOf(subject, name, kind),
  );

/** The resourceVersion that was sent is not the present one. */
export const modified = (subject: Subject, name: string): StatusError =>
  conflict(
    subject,
    name,
    subject.plural,
    'the object has been modified; please apply your changes to the latest version and try again',
  );

/** PUT with another uid. */
export const otherObject = (subject: Subject, name: string, sent: string, present: string): StatusError =>
  conflict(
    subject,
    name,
    subject.plural,
    `StorageError: invalid object, Code: 4, Key: /registry/${subject.plural}/${name}, ResourceVersion: 0, ` +
      `AdditionalErrorMsg: Precondition failed: UID in precondition: ${sent}, UID in object meta: ${present}`,
  );

/** DELETE with `preconditions` that do not hold. */
export const preconditionFailed = (
  subject: Subject,
  name: string,
  field: 'UID' | 'ResourceVersion',
  sent: string,
  present: string,
): StatusError =>
  conflict(
    subject,
    name,
    subject.kind,
    `the ${field} in the precondition (${sent}) does not match the ${field} in record (${present}). ` +
      (field === 'UID'
        ? 'The object might have been deleted and then recreated'
        : 'The object might have been modified'),
  );

/** 422 with one cause per refused field. */
export const invalid = (subject: Subject, name: string, causes: readonly Cause[]): StatusError => {
  const lines = causes.map(cause => `${cause.field}: ${cause.message}`);
  const text = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`;
  return failure(422, 'Invalid', `${qualified(subject.kind, subject.group)} "${name}" is invalid: ${text}`, {
    ...detailsOf(subject, name, subject.kind),
    causes: causes.map((cause): Json => ({ reason: cause.reason, message: cause.message, field: cause.field })),
  });
};

/** A patched object that no longer decodes (a label that is a number, a time without its fraction). */
export const undecodablePatch = (why: string): StatusError =>
  failure(422, 'Invalid', ` "" is invalid: patch: Invalid value: "...": ${why}`, {
    causes: [{ reason: 'FieldValueInvalid', message: `Invalid value: "...": ${why}`, field: 'patch' }],
  });

/** The resourceVersion is older than the history kept; the text differs by place in the real server, the code does not. */
export const expired = (message: string, metadata: JsonObject = {}): StatusError => {
  const error = failure(410, 'Expired', message);
  error.body.metadata = metadata;
  return error;
};

export const tooLargeResourceVersion = (sent: number, current: number): StatusError =>
  failure(504, 'Timeout', `Timeout: Too large resource version: ${sent}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });

export const invalidValue = (field: string, value: Json | undefined, why: string): Cause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${JSON.stringify(value ?? null)}: ${why}`,
  field,
});

export const required = (field: string, why = ''): Cause => ({
  reason: 'FieldValueRequired',
  message: why === '' ? 'Required value' : `Required value: ${why}`,
  field,
});

export const forbidden = (field: string, why: string): Cause => ({
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${why}`,
  field,
});

export const notSupported = (field: string, value: string, allowed: readonly string[]): Cause => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: "${value}": supported values: ${allowed.map(item => `"${item}"`).join(', ')}`,
  field,
});

export const duplicate = (field: string, value: Json): Cause => ({
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${JSON.stringify(value)}`,
  field,
});

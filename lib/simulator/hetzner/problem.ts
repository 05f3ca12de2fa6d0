/** Refusals of the API as throwable values; the surface turns them into the error envelope. */

export type Details = Readonly<Record<string, unknown>> | null;

/** Thrown by rules and handlers. `status`, `code` and `details` go to the wire as they are. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Details;

  constructor(status: number, code: string, message: string, details: Details = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** 422 with the field at fault, the shape documented for `invalid_input`. */
export const invalidInput = (field: string, message: string, text = `invalid input in field '${field}'`): ApiProblem =>
  new ApiProblem(422, 'invalid_input', text, { fields: [{ name: field, messages: [message] }] });

export const notFound = (what: string): ApiProblem => new ApiProblem(404, 'not_found', `${what} not found`);

export const nameTaken = (message: string): ApiProblem =>
  new ApiProblem(409, 'uniqueness_error', message, { fields: [{ name: 'name' }] });

/** The code for going over a quota of a network or server is not documented; this is what the facts recommend. */
export const overLimit = (limit: string, message: string): ApiProblem =>
  new ApiProblem(403, 'resource_limit_exceeded', message, { limits: [{ name: limit }] });

/** The error envelope. */
export const envelope = (code: string, message: string, details: Details): unknown => ({
  error: { code, message, details },
});

const maxFrames = 4;
const maxErrors = 5;

/** Also true for errors of another realm, which `instanceof` misses. Never throws. */
export const isError = (value: unknown): value is Error => {
  try {
    return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
  } catch {
    return false;
  }
};

/** A property of anything; a getter that throws gives a text instead. */
export const read = (object: object, key: PropertyKey): unknown => {
  try {
    return Reflect.get(object, key);
  } catch {
    return '[threw]';
  }
};

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

const frames = (stack: unknown): string[] | undefined => {
  if (typeof stack !== 'string') return undefined;
  // The head of a stack repeats the message, which may have lines that look like anything.
  const lines = stack.split('\n', 64).filter(line => /^\s+at /.test(line));
  return lines.length === 0 ? undefined : lines.slice(0, maxFrames).map(line => line.trim());
};

/** Happy-eyeballs failures have an empty message and the real ones inside. */
const messageOf = (err: object): string => {
  const message = textOf(read(err, 'message'));
  if (message !== undefined) return message;
  const errors = read(err, 'errors');
  if (!Array.isArray(errors)) return '';
  return errors
    .slice(0, maxErrors)
    .map(inner => (isError(inner) ? messageOf(inner) : String(inner)))
    .join('; ');
};

/**
 * What a log line says of an error: `{type, message, code?, status?, details?, stack, cause?}` as entries, undefined ones
 * to be dropped. `code` falls back to the reason of a Kubernetes error. Everything else an error may carry (requests,
 * answers, headers) stays out.
 */
export const errorFields = (err: Error): [string, unknown][] => {
  const status = read(err, 'status') ?? read(err, 'statusCode');
  const code = read(err, 'code') ?? read(err, 'reason');
  return [
    ['type', textOf(read(err, 'name')) ?? 'Error'],
    ['message', messageOf(err)],
    ['code', typeof code === 'string' || typeof code === 'number' ? code : undefined],
    ['status', typeof status === 'number' ? status : undefined],
    ['details', read(err, 'details') ?? undefined],
    ['stack', frames(read(err, 'stack'))],
    ['cause', read(err, 'cause') ?? undefined],
  ];
};

/** The same shape for whatever else was thrown or passed as `err`, so that readers always find an object. */
export const thrownFields = (value: unknown): [string, unknown][] => [
  ['type', value === null ? 'null' : typeof value],
  ['message', typeof value === 'object' && value !== null ? undefined : String(value)],
  ['details', typeof value === 'object' && value !== null ? value : undefined],
];

/** The two time formats of the API: `Time` (whole seconds) and `MicroTime` (exactly six digits). */

/** A value that does not decode; the message is what Go's `time.Parse` says. */
export class UndecodableValue extends Error {}

const MICRO = '2006-01-02T15:04:05.000000Z07:00';
const SECONDS = '2006-01-02T15:04:05Z07:00';
const SHAPE = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(.*)$/;

const refuse = (text: string, layout: string, rest: string, expected: string): never => {
  throw new UndecodableValue(`parsing time "${text}" as "${layout}": cannot parse "${rest}" as "${expected}"`);
};

/** Moves a time with an offset to UTC. `fraction` is kept as it is. */
const inUTC = (seconds: string, fraction: string, offset: string): string =>
  `${new Date(`${seconds}${offset}`).toISOString().slice(0, 19)}${fraction}Z`;

/** Normalises a MicroTime. @throws UndecodableValue unless it has exactly six digits after the point */
export const microTime = (text: string): string => {
  const [, seconds, rest = ''] = SHAPE.exec(text) ?? refuse(text, MICRO, text, '2006');
  const fraction = /^\.\d{6}/.exec(rest)?.[0] ?? refuse(text, MICRO, rest, '.000000');
  const offset = rest.slice(fraction.length);
  if (!/^(Z|[+-]\d{2}:\d{2})$/.test(offset)) refuse(text, MICRO, offset, 'Z07:00');
  return inUTC(seconds ?? '', fraction, offset);
};

/** Normalises a Time: a fraction is accepted and cut off. @throws UndecodableValue */
export const secondTime = (text: string): string => {
  const [, seconds, rest = ''] = SHAPE.exec(text) ?? refuse(text, SECONDS, text, '2006');
  const offset = rest.replace(/^\.\d+/, '');
  if (!/^(Z|[+-]\d{2}:\d{2})$/.test(offset)) refuse(text, SECONDS, offset, 'Z07:00');
  return inUTC(seconds ?? '', '', offset);
};

/** ms since the epoch as a Time. */
export const formatTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

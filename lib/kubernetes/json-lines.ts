/** The stream of JSON lines is broken: cut in the middle of a line, not JSON, or a line too long. */
export class JsonLinesError extends Error {
  readonly kind: 'cut' | 'syntax' | 'size';

  constructor(kind: 'cut' | 'syntax' | 'size', message: string) {
    super(message);
    this.name = 'JsonLinesError';
    this.kind = kind;
  }
}

const newline = 0x0a;
const defaultMaxLine = 10 * 1024 * 1024;

/** Parses one line; undefined for a blank one. The text of a bad line stays out of the error: it may hold anything. */
const parse = (parts: readonly Uint8Array[]): { value: unknown } | undefined => {
  // Decoded as a whole line: a character may be split between chunks.
  const text = (
    parts.length === 1 && parts[0] !== undefined
      ? Buffer.from(parts[0].buffer, parts[0].byteOffset, parts[0].byteLength)
      : Buffer.concat(parts)
  ).toString('utf8');
  if (text.trim() === '') return undefined;
  try {
    return { value: JSON.parse(text) };
  } catch {
    throw new JsonLinesError('syntax', `line of ${text.length} characters is not JSON`);
  }
};

/**
 * Newline-delimited JSON from a byte stream. Blank lines are skipped. Ends with a JsonLinesError when the stream ends
 * inside a line (the connection was cut) or when a line has more than `maxLine` bytes.
 */
export async function* jsonLines(
  bytes: AsyncIterable<Uint8Array>,
  { maxLine = defaultMaxLine }: { readonly maxLine?: number } = {},
): AsyncGenerator<unknown, void, undefined> {
  let parts: Uint8Array[] = [];
  let size = 0;
  const add = (part: Uint8Array): void => {
    size += part.byteLength;
    if (size > maxLine) throw new JsonLinesError('size', `line is longer than ${maxLine} bytes`);
    if (part.byteLength > 0) parts.push(part);
  };
  for await (const chunk of bytes) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end));
      const line = parts.length === 0 ? undefined : parse(parts);
      parts = [];
      size = 0;
      start = end + 1;
      if (line !== undefined) yield line.value;
    }
    add(chunk.subarray(start));
  }
  if (parts.length > 0 && Buffer.concat(parts).toString('utf8').trim() !== '') {
    throw new JsonLinesError('cut', 'stream ended in the middle of a line');
  }
}

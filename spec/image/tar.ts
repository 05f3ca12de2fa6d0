/** A member of an archive; everything belongs to root. */
export type TarEntry =
  | { readonly path: string; readonly mode: number; readonly kind: 'file'; readonly content: Buffer }
  | { readonly path: string; readonly mode: number; readonly kind: 'directory' }
  | { readonly path: string; readonly kind: 'link'; readonly target: string };

const blockSize = 512;
const types = { file: '0', link: '2', directory: '5' } as const;

/** An archive (ustar) that is the same for the same entries: sorted by path, one time for all, owned by root. */
export function tarOf(entries: readonly TarEntry[], mtime: number): Buffer {
  const sorted = [...entries].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  const blocks = sorted.flatMap(entry => {
    const content = entry.kind === 'file' ? entry.content : Buffer.alloc(0);
    return [headerOf(entry, content.length, mtime), content, Buffer.alloc(-content.length & (blockSize - 1))];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockSize)]);
}

function headerOf(entry: TarEntry, size: number, mtime: number): Buffer {
  const header = Buffer.alloc(blockSize);
  const put = (text: string, at: number, length: number): void => {
    if (Buffer.byteLength(text) > length) throw new Error(`${text} does not fit into ${length} bytes of a tar header`);
    header.write(text, at, length);
  };
  const octal = (value: number, at: number, length: number): void =>
    put(`${value.toString(8).padStart(length - 1, '0')}\0`, at, length);
  const { name, prefix } = split(entry.kind === 'directory' ? `${entry.path}/` : entry.path);
  put(name, 0, 100);
  octal(entry.kind === 'link' ? 0o777 : entry.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(mtime, 136, 12);
  put(' '.repeat(8), 148, 8);
  put(types[entry.kind], 156, 1);
  if (entry.kind === 'link') put(entry.target, 157, 100);
  put('ustar\0', 257, 6);
  put('00', 263, 2);
  put(prefix, 345, 155);
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  header[155] = 0x20;
  return header;
}

/** Names of more than 100 bytes are cut at a slash. */
function split(path: string): { readonly name: string; readonly prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' };
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (name !== '' && Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155) return { name, prefix };
  }
  throw new Error(`${path} is too long for a tar header`);
}

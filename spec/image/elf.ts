/** The shared libraries that a 64-bit little-endian ELF file asks the loader for (DT_NEEDED); empty for other files. */
export function neededLibraries(file: Buffer): string[] {
  if (file.length < 64 || file.readUInt32BE(0) !== 0x7f454c46 || file[4] !== 2 || file[5] !== 1) return [];
  const number = (at: number): number => Number(file.readBigUInt64LE(at));
  const [start, size, count] = [number(32), file.readUInt16LE(54), file.readUInt16LE(56)];
  const headers = Array.from({ length: count }, (_, i) => {
    const at = start + i * size;
    return { type: file.readUInt32LE(at), offset: number(at + 8), address: number(at + 16), length: number(at + 32) };
  });
  const dynamic = headers.find(({ type }) => type === segments.dynamic);
  if (dynamic === undefined) return [];
  const entries: { readonly tag: number; readonly value: number }[] = [];
  for (let at = dynamic.offset; at + 16 <= dynamic.offset + dynamic.length; at += 16) {
    entries.push({ tag: number(at), value: number(at + 8) });
  }
  const strings = entries.find(({ tag }) => tag === tags.strings)?.value ?? 0;
  const segment = headers.find(
    ({ type, address, length }) => type === segments.load && address <= strings && strings < address + length,
  );
  if (segment === undefined) return [];
  const table = strings - segment.address + segment.offset;
  return entries
    .filter(({ tag }) => tag === tags.needed)
    .map(({ value }) => file.toString('latin1', table + value, file.indexOf(0, table + value)));
}

const segments = { load: 1, dynamic: 2 } as const;
const tags = { needed: 1, strings: 5 } as const;

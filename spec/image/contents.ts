import { chmod, lchown, lutimes, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { configuration, paths } from './definition.ts';
import { neededLibraries } from './elf.ts';
import type { TarEntry } from './tar.ts';

export const parts = ['node', 'library', 'certificates', 'program', 'configuration', 'licence', 'directory'] as const;
/** What something in the image is there for. */
export type Part = (typeof parts)[number];

const under = (directory: string) => (path: string) => path.startsWith(`${directory}/`);
const rules: readonly (readonly [Part, (path: string) => boolean])[] = [
  ['node', path => path === paths.node],
  ['certificates', path => path === paths.certificates],
  ['program', path => [paths.program, paths.command].includes(path as never) || under(paths.compileCache)(path)],
  ['configuration', path => path in configuration],
  ['licence', under(paths.licences)],
  ['library', path => /^(?:usr\/)?lib(?:64)?\/(?:[a-z0-9_]+-linux-gnu\/)?(?:lib|ld-)[\w+.-]+\.so[.\d]*$/.test(path)],
];

/** What an entry is there for; undefined for what does not belong into the image. */
export const partOf = ({ path, kind }: Pick<TarEntry, 'path' | 'kind'>): Part | undefined =>
  kind === 'directory' ? 'directory' : rules.find(([, belongs]) => belongs(path))?.[0];

/** Everything below a directory as entries, readable for all and writable for nobody. */
export async function entriesOf(root: string): Promise<TarEntry[]> {
  const found = await readdir(root, { recursive: true, withFileTypes: true });
  return Promise.all(
    found.map(async (one): Promise<TarEntry> => {
      const full = join(one.parentPath, one.name);
      const path = full.slice(root.length + 1);
      if (one.isSymbolicLink()) return { path, kind: 'link', target: await readlink(full) };
      // The only place anybody may write to; a read-only root closes it, too.
      if (one.isDirectory()) return { path, kind: 'directory', mode: path === 'tmp' ? 0o1777 : 0o755 };
      const isExecutable = ((await stat(full)).mode & 0o100) !== 0;
      return { path, kind: 'file', mode: isExecutable ? 0o555 : 0o444, content: await readFile(full) };
    }),
  );
}

/** Gives everything below a directory the owner, mode and time that its entries have in an archive. */
export async function normalise(root: string, entries: readonly TarEntry[], time: number): Promise<void> {
  for (const entry of entries) {
    const path = join(root, entry.path);
    await lchown(path, 0, 0);
    if (entry.kind !== 'link') await chmod(path, entry.mode);
    await lutimes(path, time, time);
  }
}

/** What is wrong with the content of an image, one line each. */
export function problemsOf(entries: readonly TarEntry[]): string[] {
  const strangers = entries.filter(entry => partOf(entry) === undefined).map(({ path }) => `${path} does not belong`);
  const there = new Set(entries.map(({ path }) => basename(path)));
  const lacking = entries.flatMap(entry =>
    entry.kind === 'file'
      ? neededLibraries(entry.content)
          .filter(name => !there.has(name))
          .map(name => `${entry.path} needs ${name}, which is not there`)
      : [],
  );
  const wanted = [paths.node, paths.certificates, paths.program, paths.command, ...Object.keys(configuration)];
  const all = new Set(entries.map(({ path }) => path));
  const missing = wanted.filter(path => !all.has(path)).map(path => `${path} is missing`);
  return [...strangers, ...lacking, ...missing];
}

/** One line for each entry but directories: part, size, path. */
export const contentList = (entries: readonly TarEntry[]): string =>
  entries
    .filter(({ kind }) => kind !== 'directory')
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(entry => {
      const size = entry.kind === 'file' ? String(entry.content.length) : '';
      const link = entry.kind === 'link' ? ` -> ${entry.target}` : '';
      return `${(partOf(entry) ?? '?').padEnd(13)} ${size.padStart(10)}  /${entry.path}${link}\n`;
    })
    .join('');

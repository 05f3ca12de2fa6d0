import { cp, lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Architecture, filesOf, paths } from './definition.ts';
import { obtain, run } from './run.ts';

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
}

/** Debian's packages for an architecture, unpacked. */
export interface Packages {
  readonly packages: readonly DebianPackage[];
  /** Copies the chosen files of a package, with links as they are. */
  copyInto(root: string): Promise<void>;
}

/**
 * Downloads and unpacks packages for an architecture with a state of apt's own in `directory`, so that neither the system's
 * architectures nor its lists change. Sources and keys are the system's.
 */
export async function debianArchive(directory: string, architecture: Architecture) {
  const state = join(directory, 'apt');
  const debs = join(directory, 'debs');
  for (const path of [join(state, 'lists/partial'), join(state, 'cache/archives/partial'), debs])
    await mkdir(path, { recursive: true });
  await writeFile(join(state, 'status'), '');
  const options = {
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
    'Dir::State': state,
    'Dir::State::status': join(state, 'status'),
    'Dir::Cache': join(state, 'cache'),
  };
  const flags = Object.entries(options).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  await obtain('apt-get', [...flags, '-q', 'update']);

  /** Where a package that was downloaded is unpacked. */
  const unpacked = (name: string): string => join(directory, 'unpacked', name);
  const download = async (names: readonly string[]): Promise<DebianPackage[]> => {
    await obtain('apt-get', [...flags, '-q', 'download', ...names], { cwd: debs });
    const packages: DebianPackage[] = [];
    for (const name of names) {
      const deb = (await readdir(debs)).find(file => file.startsWith(`${name}_`));
      if (deb === undefined) throw new Error(`apt-get has not downloaded ${name}`);
      const show = await run('dpkg-deb', ['-f', join(debs, deb), 'Version', 'Architecture']);
      const [, version = '', own = ''] = /^Version: (.*)\nArchitecture: (.*)$/m.exec(show) ?? [];
      packages.push({ name, version, architecture: own });
      await mkdir(unpacked(name), { recursive: true });
      await run('dpkg-deb', ['-x', join(debs, deb), unpacked(name)]);
    }
    return packages;
  };
  return { download, unpacked };
}

/** What the image takes from Debian. */
export async function fetchPackages(directory: string, architecture: Architecture): Promise<Packages> {
  const { download, unpacked } = await debianArchive(directory, architecture);
  const chosen = filesOf(architecture);
  const packages = await download(Object.keys(chosen));
  // Packages of one source share the licence, which then is in another package.
  const shared = await Promise.all(
    Object.keys(chosen).map(name => readlink(join(unpacked(name), paths.licences, name)).catch(() => undefined)),
  );
  packages.push(...(await download([...new Set(shared.filter(name => name !== undefined))])));
  return {
    packages,
    copyInto: async root => {
      for (const [name, files] of Object.entries(chosen)) {
        const found = await Promise.all(files.map(file => matching(unpacked(name), file)));
        for (const path of found.flat()) await copy(join(unpacked(name), path), join(root, path));
      }
      for (const { name } of packages) {
        const licence = join(paths.licences, name, 'copyright');
        await copy(join(unpacked(name), licence), join(root, licence)).catch(ignoreAbsent);
      }
      await writeCertificates(unpacked('ca-certificates'), root);
    },
  };
}

/** The files that a pattern stands for: links that lead there, and what they lead to. */
async function matching(root: string, pattern: string): Promise<string[]> {
  if (!pattern.endsWith('*')) return [pattern];
  const directory = dirname(pattern);
  const start = basename(pattern).slice(0, -1);
  const names = await readdir(join(root, directory));
  return names.filter(name => name.startsWith(start) && !name.endsWith('.py')).map(name => join(directory, name));
}

const ignoreAbsent = (err: NodeJS.ErrnoException): void => {
  if (err.code !== 'ENOENT') throw err;
};

async function copy(from: string, to: string): Promise<void> {
  await lstat(from);
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to, { verbatimSymlinks: true });
}

/** Makes the bundle that Debian makes when the package is installed. */
async function writeCertificates(unpacked: string, root: string): Promise<void> {
  const directory = join(unpacked, 'usr/share/ca-certificates/mozilla');
  const names = (await readdir(directory)).filter(name => name.endsWith('.crt')).sort();
  const texts = await Promise.all(names.map(name => readFile(join(directory, name), 'utf8')));
  await mkdir(dirname(join(root, paths.certificates)), { recursive: true });
  await writeFile(join(root, paths.certificates), texts.map(text => `${text.trimEnd()}\n`).join(''));
}

import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Packages } from './debian.ts';
import { configuration, paths, repository, shebang } from './definition.ts';

export interface RootParts {
  readonly packages: Packages;
  /** Directory of Node's package. */
  readonly node: string;
  /** Path of the bundle. */
  readonly bundle: string;
}

/** Lays out the root file system in an empty directory, all but the compile cache. */
export async function makeRoot(root: string, { packages, node, bundle }: RootParts): Promise<void> {
  await rm(root, { recursive: true, force: true });
  const put = async (path: string, content: string | Buffer, mode = 0o644): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
    await chmod(join(root, path), mode);
  };
  await packages.copyInto(root);
  for (const [path, text] of Object.entries(configuration)) await put(path, text);
  await put(paths.node, await readFile(join(node, 'bin/node')), 0o755);
  await put(`${paths.licences}/nodejs/LICENSE`, await readFile(join(node, 'LICENSE')));
  await put(paths.program, shebang + (await readFile(bundle, 'utf8')), 0o755);
  await mkdir(dirname(join(root, paths.command)), { recursive: true });
  await symlink(`/${paths.program}`, join(root, paths.command));
  // Mount points that container runtimes fill; they cannot make them on a read-only root.
  for (const path of ['tmp', 'proc', 'sys', 'dev']) await mkdir(join(root, path), { recursive: true });
  await put(`${paths.licences}/hcloud-reactive-controller/LICENSE`, await readFile(join(repository, 'LICENSE')));
  await put(`${paths.licences}/hcloud-reactive-controller/packages`, await licencesOfPackages());
}

/** The licences of the npm packages that are in the bundle. */
async function licencesOfPackages(): Promise<string> {
  const { packages } = JSON.parse(await readFile(join(repository, 'package-lock.json'), 'utf8'));
  const bundled = Object.entries<{ dev?: boolean; version: string }>(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { version }]) => ({ path, version }));
  const texts = await Promise.all(
    bundled.map(async ({ path, version }) => {
      const directory = join(repository, path);
      const names = await readdir(directory).catch(() => []);
      const file = names.find(name => /^licen[cs]e(\.|$)/i.test(name));
      const text = file === undefined ? undefined : await readFile(join(directory, file), 'utf8');
      const name = relative('node_modules', path);
      return text === undefined ? '' : `== ${name} ${version}\n\n${text.trim()}\n\n`;
    }),
  );
  return texts.join('');
}

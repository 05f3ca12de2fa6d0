import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { orFailInCI, prepare } from '../support/go-tools.ts';
import { contentList, entriesOf, normalise, partOf, parts, problemsOf } from './contents.ts';
import { type DebianPackage, fetchPackages } from './debian.ts';
import { type Architecture, architectures, nativeArchitecture, output, paths, repository, uid } from './definition.ts';
import { fetchEmulator, type Machine, withMachine } from './emulator.ts';
import { fetchNode } from './node-binary.ts';
import { imageOf, layoutOf } from './oci.ts';
import { makeRoot } from './root.ts';
import { hasProgram, run, Unavailable } from './run.ts';
import { sbomOf } from './sbom.ts';
import { canMount, fillCompileCache, runAsPeer, runController, runIn } from './start.ts';
import type { TarEntry } from './tar.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const bundle = join(repository, 'dist', 'hcloud-reactive-controller.mjs');

/** Why no image can be built here; undefined when it can. */
async function obstacle(): Promise<string | undefined> {
  if (process.platform !== 'linux' || nativeArchitecture === undefined)
    return 'the image is built on Linux, amd64 or arm64';
  for (const program of ['apt-get', 'dpkg-deb', 'npm', 'chroot']) {
    if (!(await hasProgram(program))) return `building the image needs ${program}, which is not there`;
  }
  if (process.getuid?.() !== 0) return 'building the image needs root, as it starts it in a chroot as another user';
  return undefined;
}

interface Built {
  readonly entries: readonly TarEntry[];
  readonly packages: readonly DebianPackage[];
  readonly nodeVersion: string;
  readonly emulator: string | undefined;
}

async function buildRoot(root: string, work: string, architecture: Architecture, created: number): Promise<Built> {
  const [packages, node, emulator] = await Promise.all([
    fetchPackages(work, architecture),
    fetchNode(architecture),
    fetchEmulator(work, architecture),
  ]);
  await makeRoot(root, { packages, node: node.directory, bundle });
  await withMachine(root, { architecture, emulator }, async machine => {
    const [first, second] = [await fillCompileCache(machine), await fillCompileCache(machine)];
    if (first !== second) throw new Error('The compile cache is another one each time, so the image would be, too');
  });
  const entries = await entriesOf(root);
  const problems = problemsOf(entries);
  if (problems.length > 0) throw new Error(`${architecture}: ${problems.join('\n')}`);
  await normalise(root, entries, created);
  return { entries, packages: packages.packages, nodeVersion: node.version, emulator };
}

function show(architecture: Architecture, entries: readonly TarEntry[]): void {
  const sum = (part: string): string => {
    const of = entries.filter(entry => entry.kind !== 'directory' && partOf(entry) === part);
    const bytes = of.reduce((total, entry) => total + (entry.kind === 'file' ? entry.content.length : 0), 0);
    return `${of.length} x ${part} (${(bytes / 2 ** 20).toFixed(1)} MiB)`;
  };
  say(
    `${architecture}: ${parts
      .filter(part => part !== 'directory')
      .map(sum)
      .join(', ')}`,
  );
}

/** Shows that an image works as its user on a read-only root. */
async function start(machine: Machine, version: string): Promise<void> {
  const answer = await runIn(machine, ['version'], { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' });
  if (answer.code !== 0 || !answer.output.includes(`hcloud-reactive-controller ${version} (Node.js `))
    throw new Error(`version: ${answer.code} ${answer.output}`);
  if (!/accepted/.test(answer.output)) throw new Error(`The compile cache is of no use: ${answer.output}`);
  // The kernel starts what a script's first line names without the emulator.
  const asPeer = machine.isEmulated ? undefined : await runAsPeer(machine, ['version']);
  if (asPeer !== undefined && asPeer.code !== 0)
    throw new Error(`version by /${paths.command}: ${asPeer.code} ${asPeer.output}`);
  const { code, output: log } = await runController(machine);
  if (code !== 0 || !log.includes('"msg":"Created route"'))
    throw new Error(`The controller ended with ${code}\n${log}`);
  const where = (await canMount)
    ? 'on a read-only root'
    : 'in a chroot (mounting is not allowed here, so not read-only)';
  const by = machine.isEmulated ? 'its entrypoint (emulated)' : `its entrypoint and by /${paths.command}`;
  say(`started ${where} as ${uid}, by ${by}: version, and a node initialised and routed`);
}

const git = (...args: string[]): Promise<string> =>
  run('git', args, { cwd: repository }).then(
    text => text.trim(),
    () => '',
  );

/** One archive with the images of all architectures, the list of their contents and their bill of materials. */
async function buildImages(work: string, created: number): Promise<string> {
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
  const revision = await git('rev-parse', 'HEAD');
  const roots = await Promise.all(
    architectures.map(async architecture => {
      const root = join(work, architecture, 'root');
      return { architecture, root, ...(await buildRoot(root, join(work, architecture), architecture, created)) };
    }),
  );
  for (const { architecture, root, entries, emulator } of roots) {
    show(architecture, entries);
    const list = contentList(entries);
    await writeFile(join(output, `contents-${architecture}.txt`), list);
    if (architecture === nativeArchitecture) process.stdout.write(list);
    await withMachine(root, { architecture, emulator }, machine => start(machine, version));
  }
  const images = await Promise.all(
    roots.map(({ entries, architecture }) => imageOf(entries, { architecture, version, revision, created })),
  );
  const { digest, archive } = layoutOf(images, version, created);
  const lock = JSON.parse(await readFile(join(repository, 'package-lock.json'), 'utf8'));
  const nodeVersion = roots[0]?.nodeVersion ?? '';
  const debian = roots.flatMap(({ packages }) => packages);
  const sbom = sbomOf({ version, created, digest, lock, nodeVersion, debian });
  await writeFile(join(output, 'sbom.cdx.json'), `${JSON.stringify(sbom, undefined, 2)}\n`);
  const file = join(output, `hcloud-reactive-controller-${version}.oci.tar`);
  await writeFile(file, archive);
  return `${file}: ${digest}, ${(archive.length / 2 ** 20).toFixed(1)} MiB`;
}

/** With `--root` the root file system alone, for this machine's architecture: what the Containerfile copies. */
async function build(): Promise<{ readonly result: string } | string> {
  const problem = await obstacle();
  if (problem !== undefined) return orFailInCI(problem);
  const created = Number(process.env.SOURCE_DATE_EPOCH || (await git('log', '-1', '--format=%ct')) || 0);
  const work = await mkdtemp(join(tmpdir(), 'image-'));
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  try {
    if (!process.argv.includes('--root')) return { result: await buildImages(work, created) };
    const root = join(output, 'root');
    await buildRoot(root, work, nativeArchitecture as Architecture, created);
    return { result: root };
  } catch (err) {
    if (err instanceof Unavailable) return orFailInCI(err.message);
    throw err;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

await prepare(build, ({ result }) => result);

import { chmod, copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { debianArchive } from './debian.ts';
import { type Architecture, nativeArchitecture } from './definition.ts';

/** Names of processors in QEMU. */
const processors: Readonly<Record<Architecture, string>> = { amd64: 'x86_64', arm64: 'aarch64' };

/** Root file system of an image and how its programs are started on this machine. */
export interface Machine {
  readonly root: string;
  readonly isEmulated: boolean;
  /** Ahead of each command. */
  readonly prefix: readonly string[];
}

/**
 * The machine whose programs these are: this one, or an emulated one by Debian's statically linked QEMU, which lies in the
 * root for as long as `use` runs. It is no part of the image: entries are read outside of it.
 */
export async function withMachine<T>(
  root: string,
  { architecture, emulator }: { readonly architecture: Architecture; readonly emulator: string | undefined },
  use: (machine: Machine) => Promise<T>,
): Promise<T> {
  if (architecture === nativeArchitecture || emulator === undefined)
    return use({ root, isEmulated: false, prefix: [] });
  const path = join(root, 'emulator');
  await copyFile(emulator, path);
  await chmod(path, 0o755);
  try {
    return await use({ root, isEmulated: true, prefix: ['/emulator'] });
  } finally {
    await rm(path);
  }
}

/** Path of the emulator of an architecture; none for that of this machine. */
export async function fetchEmulator(work: string, architecture: Architecture): Promise<string | undefined> {
  if (nativeArchitecture === undefined || architecture === nativeArchitecture) return undefined;
  const { download, unpacked } = await debianArchive(join(work, 'emulator'), nativeArchitecture);
  await download(['qemu-user-static']);
  return join(unpacked('qemu-user-static'), 'usr', 'bin', `qemu-${processors[architecture]}-static`);
}

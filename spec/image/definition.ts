import { join } from 'node:path';
import { runtimeEnvironment, runtimeFlags } from '../../lib/runtime-flags.ts';

/** What the image is made of; the Containerfile says the same, which a spec checks. */

export const architectures = ['amd64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

/** The architecture of this machine; undefined when the image has none for it. */
export const nativeArchitecture: Architecture | undefined = { x64: 'amd64', arm64: 'arm64' }[process.arch as string] as
  | Architecture
  | undefined;

/** Name of the architecture in Debian's library paths and in Node's packages. */
export const triplets: Readonly<Record<Architecture, string>> = {
  amd64: 'x86_64-linux-gnu',
  arm64: 'aarch64-linux-gnu',
};
export const nodeArchitectures: Readonly<Record<Architecture, string>> = { amd64: 'x64', arm64: 'arm64' };

/** Where the kernel looks for the loader. */
const loaders: Readonly<Record<Architecture, string>> = {
  amd64: 'lib64/ld-linux-x86-64.so.2',
  arm64: 'lib/ld-linux-aarch64.so.1',
};

/** Files that are taken out of Debian's packages, as paths from the root; `*` stands for the rest of a name. */
export const filesOf = (architecture: Architecture): Readonly<Record<string, readonly string[]>> => {
  const lib = `lib/${triplets[architecture]}`;
  const loader = loaders[architecture];
  const inLib = ['libc.so.6', 'libm.so.6', 'libdl.so.2', 'libpthread.so.0', loader.slice(loader.lastIndexOf('/') + 1)];
  return {
    libc6: [loader, ...inLib.map(name => `${lib}/${name}`)],
    'libgcc-s1': [`${lib}/libgcc_s.so.1`],
    'libstdc++6': [`usr/${lib}/libstdc++.so.6*`],
    'ca-certificates': [],
  };
};

/** The user of the image: the one called nonroot by others, too. */
export const uid = 65532;

export const paths = {
  node: 'usr/bin/node',
  program: 'usr/lib/hcloud-reactive-controller/hcloud-reactive-controller.mjs',
  compileCache: 'usr/lib/hcloud-reactive-controller/compile-cache',
  v8Flags: 'usr/lib/hcloud-reactive-controller/v8-flags.cjs',
  command: 'bin/hcloud-cloud-controller-manager',
  certificates: 'etc/ssl/certs/ca-certificates.crt',
  licences: 'usr/share/doc',
} as const;

/** The kernel starts the program by this line where a manifest names the peer's command; neither a shell nor a wrapper is needed. */
export const shebang = `#!/${paths.node}\n`;

/**
 * For the peer's command, which carries no flags: those of V8 are not allowed in NODE_OPTIONS, so a file that is loaded ahead
 * of the program sets them. It is too late for 2 MiB of what they bring, hence the entrypoint of its own.
 */
const isOption = (flag: string): boolean => process.allowedNodeEnvironmentFlags.has(flag.replace(/=.*/, ''));
const v8Flags = runtimeFlags.filter(flag => !isOption(flag));

export const environment: Readonly<Record<string, string>> = {
  PATH: '/usr/bin:/bin',
  NODE_OPTIONS: [...runtimeFlags.filter(isOption), `--require=/${paths.v8Flags}`].join(' '),
  NODE_COMPILE_CACHE: `/${paths.compileCache}`,
  ...runtimeEnvironment,
};

export const entrypoint: readonly string[] = [`/${paths.node}`, ...runtimeFlags, `/${paths.program}`];
/** The peer's, which manifests may name. */
export const command: readonly string[] = [`/${paths.command}`];
export const user = `${uid}:${uid}`;

/** Small files that name the user, the order of name resolution and the flags of V8. */
export const configuration: Readonly<Record<string, string>> = {
  'etc/passwd': `root:x:0:0:root:/:/sbin/nologin\nnonroot:x:${uid}:${uid}:nonroot:/:/sbin/nologin\n`,
  'etc/group': `root:x:0:\nnonroot:x:${uid}:\n`,
  'etc/nsswitch.conf': 'hosts: files dns\n',
  [paths.v8Flags]: `for (const flag of ${JSON.stringify(v8Flags)}) require('node:v8').setFlagsFromString(flag);\n`,
};

export const repository = join(import.meta.dirname, '..', '..');
export const output = join(repository, 'dist', 'image');

import { spawn } from 'node:child_process';
import { accessSync, constants, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Binaries for specs against a real API server. */
export interface Assets {
  readonly etcd: string;
  readonly kubeAPIServer: string;
}

const TOOLS = join(import.meta.dirname, '..', 'cluster', 'tools');
const PROGRESS_INTERVAL = 20_000;
const PACKAGES = {
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  etcd: 'go.etcd.io/etcd/server/v3',
} as const;

const versionIn = (goMod: string, module: string): string => {
  const version = new RegExp(`^(?:require)?\\s*${module.replaceAll('.', '\\.')} v(\\S+)`, 'm').exec(goMod)?.[1];
  if (version === undefined) throw new Error(`${join(TOOLS, 'go.mod')} requires no ${module}`);
  return version;
};

/** The versions that go.mod pins. */
export const assetVersions = (goMod: string): { kubernetes: string; etcd: string } => ({
  kubernetes: versionIn(goMod, 'k8s.io/kubernetes'),
  etcd: versionIn(goMod, 'go.etcd.io/etcd/server/v3'),
});

/** Named after the versions, so that another go.mod means another build. */
const cacheDirectory = (versions: { kubernetes: string; etcd: string }): string =>
  join(
    process.env.XDG_CACHE_HOME || join(homedir(), '.cache'),
    'hcloud-reactive-controller',
    'assets',
    `k8s-${versions.kubernetes}-etcd-${versions.etcd}`,
  );

const executable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const assetsIn = (directory: string): Assets | undefined => {
  const assets = { etcd: join(directory, 'etcd'), kubeAPIServer: join(directory, 'kube-apiserver') };
  return executable(assets.etcd) && executable(assets.kubeAPIServer) ? assets : undefined;
};

const hasGo = (): Promise<boolean> =>
  new Promise(resolve => {
    const go = spawn('go', ['version'], { stdio: 'ignore' });
    go.on('error', () => resolve(false));
    go.on('exit', code => resolve(code === 0));
  });

const goBuild = (
  name: keyof typeof PACKAGES,
  output: string,
  flags: string,
  say: (line: string) => void,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const started = Date.now();
    const elapsed = (): string => `${Math.round((Date.now() - started) / 1000)} s`;
    say(`building ${name} (the first time takes minutes)`);
    const go = spawn('go', ['build', '-trimpath', '-buildvcs=false', '-ldflags', flags, '-o', output, PACKAGES[name]], {
      cwd: TOOLS,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const progress = setInterval(() => say(`building ${name}: ${elapsed()}`), PROGRESS_INTERVAL);
    go.on('error', reject);
    go.on('exit', code => {
      clearInterval(progress);
      if (code === 0) resolve(say(`built ${name} in ${elapsed()}`));
      else reject(new Error(`go build ${PACKAGES[name]} ended with ${code}`));
    });
  });

/** Builds into a directory of its own and moves it into place, so that nobody ever sees half a build. */
const build = async (
  versions: { kubernetes: string; etcd: string },
  target: string,
  say: (line: string) => void,
): Promise<void> => {
  const temporary = `${target}.${process.pid}.tmp`;
  mkdirSync(temporary, { recursive: true });
  try {
    await goBuild('etcd', join(temporary, 'etcd'), '-s -w', say);
    const version = `-X k8s.io/component-base/version.gitVersion=v${versions.kubernetes}`;
    await goBuild('kube-apiserver', join(temporary, 'kube-apiserver'), `-s -w ${version}`, say);
    rmSync(target, { recursive: true, force: true });
    renameSync(temporary, target);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
};

/**
 * etcd and kube-apiserver: from KUBEBUILDER_ASSETS, else from the cache, else built with Go into the cache.
 * Where none of this works the answer is a sentence that says why, for `skip`.
 * @throws with CI=true, where skipping would hide that nothing was tested
 */
export const resolveAssets = async (): Promise<Assets | string> => {
  const given = process.env.KUBEBUILDER_ASSETS;
  if (given) {
    const assets = assetsIn(given);
    if (assets !== undefined) return assets;
    throw new Error(`KUBEBUILDER_ASSETS=${given} does not hold etcd and kube-apiserver`);
  }
  const versions = assetVersions(readFileSync(join(TOOLS, 'go.mod'), 'utf8'));
  const cache = cacheDirectory(versions);
  const cached = assetsIn(cache);
  if (cached !== undefined) return cached;
  if (await hasGo()) {
    await build(versions, cache, line => process.stderr.write(`# ${line}\n`));
    const built = assetsIn(cache);
    if (built !== undefined) return built;
  }
  const why =
    `specs against a real kube-apiserver ${versions.kubernetes} need its binary and etcd ${versions.etcd}: ` +
    `install Go to have them built into ${cache}, or point KUBEBUILDER_ASSETS to a directory that holds both`;
  if (process.env.CI === 'true') throw new Error(why);
  return why;
};

/** Exit code of this file as a program where the specs have to be skipped. */
const skipped = 3;

// `node spec/support/assets.ts` builds ahead of the specs and prints where the server is.
if (import.meta.main) {
  try {
    const assets = await resolveAssets();
    if (typeof assets === 'string') {
      const rule = '#'.repeat(80);
      process.stderr.write(`${rule}\n# SKIPPED: ${assets}\n${rule}\n`);
      process.exitCode = skipped;
    } else process.stdout.write(`${assets.kubeAPIServer}\n`);
  } catch (err) {
    process.stderr.write(`${(err as Error).message}\n`);
    process.exitCode = 1;
  }
}

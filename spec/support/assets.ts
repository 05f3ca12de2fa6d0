import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  assetCache,
  buildInto,
  executable,
  goBuild,
  hasGo,
  moduleVersion,
  orFailInCI,
  prepare,
  toStandardError,
} from './go-tools.ts';

/** Binaries for specs against a real API server. */
export interface Assets {
  readonly etcd: string;
  readonly kubeAPIServer: string;
}

const TOOLS = join(import.meta.dirname, '..', 'cluster', 'tools');
const PACKAGES = {
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  etcd: 'go.etcd.io/etcd/server/v3',
} as const;

/** The versions that go.mod pins. */
export const assetVersions = (goMod: string): { kubernetes: string; etcd: string } => {
  const versionOf = (module: string): string => moduleVersion(goMod, module, join(TOOLS, 'go.mod'));
  return { kubernetes: versionOf('k8s.io/kubernetes'), etcd: versionOf('go.etcd.io/etcd/server/v3') };
};

const assetsIn = (directory: string): Assets | undefined => {
  const assets = { etcd: join(directory, 'etcd'), kubeAPIServer: join(directory, 'kube-apiserver') };
  return executable(assets.etcd) && executable(assets.kubeAPIServer) ? assets : undefined;
};

const build = (versions: { kubernetes: string; etcd: string }, target: string): Promise<void> =>
  buildInto(target, async directory => {
    const one = (name: keyof typeof PACKAGES, flags: string) =>
      goBuild(
        { directory: TOOLS, name, package: PACKAGES[name], output: join(directory, name), flags },
        toStandardError,
      );
    await one('etcd', '-s -w');
    await one('kube-apiserver', `-s -w -X k8s.io/component-base/version.gitVersion=v${versions.kubernetes}`);
  });

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
  const cache = assetCache(`k8s-${versions.kubernetes}-etcd-${versions.etcd}`);
  const cached = assetsIn(cache);
  if (cached !== undefined) return cached;
  if (await hasGo()) {
    await build(versions, cache);
    const built = assetsIn(cache);
    if (built !== undefined) return built;
  }
  return orFailInCI(
    `specs against a real kube-apiserver ${versions.kubernetes} need its binary and etcd ${versions.etcd}: ` +
      `install Go to have them built into ${cache}, or point KUBEBUILDER_ASSETS to a directory that holds both`,
  );
};

// `node spec/support/assets.ts` builds ahead of the specs and prints where the server is.
if (import.meta.main) await prepare(resolveAssets, assets => assets.kubeAPIServer);

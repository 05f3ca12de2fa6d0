import { spawn } from 'node:child_process';
import { accessSync, constants, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Programs for specs that are built with Go once and kept in the cache. */

export type Say = (line: string) => void;

const PROGRESS_INTERVAL = 20_000;

export const toStandardError: Say = line => void process.stderr.write(`# ${line}\n`);

/** The version of a module that go.mod requires. @param path for the message */
export const moduleVersion = (goMod: string, module: string, path: string): string => {
  const version = new RegExp(`^(?:require)?\\s*${module.replaceAll('.', '\\.')} v(\\S+)`, 'm').exec(goMod)?.[1];
  if (version === undefined) throw new Error(`${path} requires no ${module}`);
  return version;
};

/** Where a build is kept; name it after the versions, so that another go.mod means another build. */
export const assetCache = (name: string): string =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'hcloud-reactive-controller', 'assets', name);

export const executable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

export const hasGo = (): Promise<boolean> =>
  new Promise(resolve => {
    const go = spawn('go', ['version'], { stdio: 'ignore' });
    go.on('error', () => resolve(false));
    go.on('exit', code => resolve(code === 0));
  });

/** Builds one package of the module in `directory`, and says every now and then that it is still at it. */
export const goBuild = (
  build: {
    readonly directory: string;
    readonly name: string;
    readonly package: string;
    readonly output: string;
    readonly flags?: string;
  },
  say: Say,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const { directory, name, output, flags = '-s -w' } = build;
    const started = Date.now();
    const elapsed = (): string => `${Math.round((Date.now() - started) / 1000)} s`;
    say(`building ${name} (the first time takes minutes)`);
    const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', flags, '-o', output, build.package];
    const go = spawn('go', args, { cwd: directory, stdio: ['ignore', 'inherit', 'inherit'] });
    const progress = setInterval(() => say(`building ${name}: ${elapsed()}`), PROGRESS_INTERVAL);
    go.on('error', reject);
    go.on('exit', code => {
      clearInterval(progress);
      if (code === 0) resolve(say(`built ${name} in ${elapsed()}`));
      else reject(new Error(`go build ${build.package} ended with ${code}`));
    });
  });

/** Fills a directory of its own and moves it into place, so that nobody ever sees half a build. */
export const buildInto = async (target: string, fill: (directory: string) => Promise<void>): Promise<void> => {
  const temporary = `${target}.${process.pid}.tmp`;
  mkdirSync(temporary, { recursive: true });
  try {
    await fill(temporary);
    rmSync(target, { recursive: true, force: true });
    renameSync(temporary, target);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
};

/** Why specs have to be skipped. @throws with CI=true, where skipping would hide that nothing was tested */
export const orFailInCI = (why: string): string => {
  if (process.env.CI === 'true') throw new Error(why);
  return why;
};

/** Exit code of a program that prepares assets where the specs have to be skipped. */
const skipped = 3;

/** Prepares ahead of the specs: prints what was found; exit code 3 and a sentence that can't be overlooked where it was not. */
export const prepare = async <T>(
  resolveAsset: () => Promise<T | string>,
  show: (asset: T) => string,
): Promise<void> => {
  try {
    const asset = await resolveAsset();
    if (typeof asset === 'string') {
      const rule = '#'.repeat(80);
      process.stderr.write(`${rule}\n# SKIPPED: ${asset}\n${rule}\n`);
      process.exitCode = skipped;
    } else process.stdout.write(`${show(asset)}\n`);
  } catch (err) {
    process.stderr.write(`${(err as Error).message}\n`);
    process.exitCode = 1;
  }
};

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Runs a simulation of this folder in a process of its own, without the hooks of the test runner, and gives what it printed. */
export const simulate = async <T>(name: string, args: readonly (string | number)[]): Promise<T> => {
  const script = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const flags = ['--disable-warning=ExperimentalWarning', script, ...args.map(String)];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { maxBuffer: 2 ** 26 });
  return JSON.parse(stdout) as T;
};

/** Numbers of an environment variable, separated by commas, or the usual ones. */
export const sizes = (variable: string | undefined, usual: readonly number[]): readonly number[] =>
  variable === undefined ? usual : variable.split(',').map(Number);

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Runs a program and resolves with its standard output; rejects with what it said on standard error. */
export async function run(
  file: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  try {
    const { stdout } = await execute(file, args, { ...options, maxBuffer: 64 * 1024 * 1024, timeout: 300_000 });
    return stdout;
  } catch (err) {
    const { stderr = '', message } = err as Error & { stderr?: string };
    throw new Error(`${file} ${args.join(' ')}: ${stderr.trim() || message}`, { cause: err });
  }
}

/** What is needed can't be had from where it comes from. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

/** As `run`, for what needs the network or the rights to use it. */
export const obtain: typeof run = (...args) =>
  run(...args).catch(err => {
    throw new Unavailable((err as Error).message, { cause: err });
  });

/** Whether there is such a program. */
export const hasProgram = (name: string): Promise<boolean> =>
  run('sh', ['-c', `command -v ${name}`]).then(
    () => true,
    () => false,
  );

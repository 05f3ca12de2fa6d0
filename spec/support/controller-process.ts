import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runtimeEnvironment, runtimeFlags } from '../../lib/runtime-flags.ts';

/** The release bundle, which is what users run. */
export const bundle = fileURLToPath(new URL('../../dist/hcloud-reactive-controller.mjs', import.meta.url));

export interface LogLine {
  readonly ts: string;
  readonly level: string;
  readonly msg: string;
  readonly [key: string]: unknown;
}

export interface ControllerOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Flags of Node.js itself; default those of the image. */
  readonly nodeArgs?: readonly string[];
}

/** One running controller, as a process of its own. */
export interface ControllerProcess {
  readonly process: ChildProcess;
  /** Everything written to standard output and standard error so far. */
  output(): string;
  lines(): readonly LogLine[];
  /** The same lines as they were written. */
  rawLines(): readonly string[];
  /** Resolves with the first line, present or future, that `match` accepts; rejects when the process ends without it. */
  waitForLine(match: (line: LogLine) => boolean, what: string, timeout?: number): Promise<LogLine>;
  /** Resolves with the exit code, or the name of the signal that killed it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  kill(signal: NodeJS.Signals): void;
  /** SIGTERM, then waits for the end. */
  stop(): Promise<number | NodeJS.Signals>;
  /** Resident memory in MiB, the most it ever was, and CPU seconds so far, from the operating system. */
  usage(): { readonly memoryMiB: number; readonly peakMiB: number; readonly cpuSeconds: number };
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** All output of all controllers of this spec process, for the specs that look for secrets in it. */
export const allOutput: string[] = [];

export function startController({
  args = [],
  env = {},
  nodeArgs = runtimeFlags,
}: ControllerOptions): ControllerProcess {
  const child = spawn(process.execPath, [...nodeArgs, bundle, ...args], {
    env: { PATH: process.env.PATH ?? '', ...runtimeEnvironment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let output = '';
  let rest = '';
  const lines: LogLine[] = [];
  const rawLines: string[] = [];
  const watchers = new Set<() => void>();
  const read = (chunk: Buffer, isLog: boolean) => {
    const text = chunk.toString('utf8');
    output += text;
    allOutput.push(text);
    if (!isLog) return;
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) lines.push(JSON.parse(part) as LogLine);
    rawLines.push(...parts);
    for (const watcher of watchers) watcher();
  };
  child.stdout.on('data', (chunk: Buffer) => read(chunk, true));
  child.stderr.on('data', (chunk: Buffer) => read(chunk, false));
  const exited = once(child, 'close').then(([code, signal]) => {
    running.delete(child);
    for (const watcher of watchers) watcher();
    return (code ?? signal) as number | NodeJS.Signals;
  });

  return {
    process: child,
    output: () => output,
    lines: () => lines,
    rawLines: () => rawLines,
    waitForLine: (match, what, timeout = 30_000) =>
      new Promise((resolve, reject) => {
        const end = (f: () => void) => {
          watchers.delete(look);
          clearTimeout(timer);
          f();
        };
        const look = () => {
          const found = lines.find(match);
          if (found !== undefined) end(() => resolve(found));
          else if (child.exitCode !== null || child.signalCode !== null) {
            end(() => reject(new Error(`The controller ended without the line: ${what}\n${output}`)));
          }
        };
        const timer = setTimeout(
          () => end(() => reject(new Error(`No line within ${timeout} ms: ${what}\n${output.slice(-4_000)}`))),
          timeout,
        );
        watchers.add(look);
        look();
      }),
    exited,
    kill: signal => void child.kill(signal),
    stop: async () => {
      child.kill('SIGTERM');
      return exited;
    },
    usage: () => usageOf(child.pid as number),
  };
}

export interface CommandOptions extends ControllerOptions {
  /** A disk without room, or a pipe whose reader has gone, instead of what is collected. */
  readonly stdout?: 'full' | 'unread';
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program to its end. */
export const runCommand = ({
  args = [],
  env = {},
  nodeArgs = runtimeFlags,
  stdout: into,
}: CommandOptions): Promise<CommandResult> =>
  new Promise((resolve, reject) => {
    const options = { env: { PATH: process.env.PATH ?? '', ...runtimeEnvironment, ...env }, timeout: 120_000 };
    const command = [process.execPath, ...nodeArgs, bundle, ...args];
    const [file = '', ...rest] = into === 'full' ? ['/bin/sh', '-c', 'exec "$0" "$@" >/dev/full', ...command] : command;
    const child = execFile(file, rest, options, (err, stdout, stderr) => {
      const code = err === null ? 0 : err.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(err);
    });
    if (into === 'unread') child.stdout?.destroy();
  });

function usageOf(pid: number): ReturnType<ControllerProcess['usage']> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const memoryMiB = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  const peakMiB = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [utime = 0, stime = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return { memoryMiB, peakMiB, cpuSeconds: (utime + stime) / 100 };
}

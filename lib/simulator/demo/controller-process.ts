import { type ChildProcess, spawn } from 'node:child_process';
import { runtimeEnvironment, runtimeFlags } from '../../runtime-flags.ts';
import { leashed } from './leash.ts';
import { residentMemory } from './resident-memory.ts';

export interface ControllerProcess {
  /** Undefined while it runs. */
  ended(): string | undefined;
  /** The end of its log, for messages. */
  lastLines(): string;
  /** MiB; undefined where the system does not tell. */
  memory(): number | undefined;
  /** In good order: SIGTERM, and SIGKILL when that does not help. */
  stop(): Promise<void>;
}

/** Of the log, in characters and in lines. */
const kept = 50_000;
const shown = 20;
/** ms from SIGTERM to SIGKILL. */
const patience = 5_000;

/**
 * This very program as a child process. Nothing of the environment is handed on, so that no token and no proxy of the
 * user can reach it. It ends with this process, whatever ends that.
 */
export function startController(flags: readonly string[], env: Readonly<Record<string, string>>): ControllerProcess {
  const [, program = ''] = process.argv;
  const { command, args } = leashed(process.execPath, [...process.execArgv, ...runtimeFlags, program, 'run', ...flags]);
  const child = spawn(command, args, {
    env: { ...runtimeEnvironment, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });

  let log = '';
  let ended: string | undefined;
  const keep = (chunk: Buffer): void => {
    log = (log + chunk.toString()).slice(-kept);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const closed = new Promise<void>(resolve => {
    const end = (how: string) => () => {
      ended ??= how;
      resolve();
    };
    child.once('error', err => end(err.message)());
    child.once('close', (code, signal) => end(`ended with ${signal ?? `exit code ${code}`}`)());
  });

  return {
    ended: () => ended,
    lastLines: () => log.trimEnd().split('\n').slice(-shown).join('\n'),
    memory: () => (child.pid === undefined ? undefined : residentMemory(child.pid)),
    stop: () => stop(child, closed),
  };
}

async function stop(child: ChildProcess, closed: Promise<void>): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), patience);
  await closed;
  clearTimeout(timer);
}

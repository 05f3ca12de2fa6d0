import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { leashed } from '../../lib/simulator/demo/leash.ts';

/** A child that cannot outlive this process, not even when it is killed with SIGKILL. */
export interface Child {
  readonly pid: number;
  signal(signal: NodeJS.Signals): void;
  /** SIGKILL, then waits for the end. */
  kill(): Promise<void>;
  running(): boolean;
  /** The end of its output, for messages. */
  tail(): string;
}

const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** Starts a program with its output in `log`. */
export const startChild = (program: string, args: readonly string[], log: string): Child => {
  const output = openSync(log, 'a');
  const leash = leashed(program, args);
  const child = spawn(leash.command, leash.args, { stdio: ['pipe', output, output] });
  closeSync(output);
  alive.add(child);
  const ended = new Promise<void>(resolve => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  }).then(() => {
    alive.delete(child);
    child.stdin?.destroy();
  });
  return {
    pid: child.pid ?? 0,
    signal: signal => void child.kill(signal),
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
    running: () => child.exitCode === null && child.signalCode === null,
    tail: () => readFileSync(log, 'utf8').trimEnd().split('\n').slice(-15).join('\n'),
  };
};

/**
 * The shell becomes the program itself (`exec`, same pid); before, it leaves a watcher behind that waits for the end of
 * the standard input and then kills that pid.
 */
const script = 'exec 3<&0; (read -r _ <&3; kill -KILL $$) >/dev/null 2>&1 & exec 3<&-; exec "$@" </dev/null';

/**
 * The command that runs `program` so that it cannot outlive this process, not even when this is killed with SIGKILL:
 * its standard input must be a pipe, which the kernel closes however this process ends.
 */
export const leashed = (program: string, args: readonly string[]): { command: string; args: string[] } => ({
  command: '/bin/sh',
  args: ['-c', script, 'sh', program, ...args],
});

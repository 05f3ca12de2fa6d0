import { complain, writeLine } from './stdout.ts';

/** Where the log goes, and whether it arrives. */
export interface LogOutput {
  /** Throws where the line is lost. */
  write(line: string): void;
  /** Why the newest line was lost; undefined where it was written. */
  problem(): string | undefined;
}

/**
 * The log on standard output. A controller goes on without it: nodes, routes and load balancers matter more, and a restart
 * would mend no full disk. So a line that is lost is counted, and the first one in a row is told of on standard error.
 */
export const createLogOutput = (
  onLost: () => void,
  write: (line: string) => void = writeLine,
  tell: (line: string) => void = complain,
): LogOutput => {
  let problem: string | undefined;
  return {
    write: line => {
      try {
        write(line);
        problem = undefined;
      } catch (err) {
        const reason = err instanceof Error ? err.message : String(err);
        if (problem === undefined) tell(`Lost the log, and goes on without: standard output: ${reason}`);
        problem = reason;
        onLost();
        throw err;
      }
    },
    problem: () => problem,
  };
};

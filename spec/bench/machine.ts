import { cpus, totalmem } from 'node:os';
import { runtimeFlags } from '../../lib/runtime-flags.ts';

/** One line about where the figures were measured: times and memory move with the machine. */
export const machine = (): string => {
  const all = cpus();
  const memory = (totalmem() / 2 ** 30).toFixed(1);
  return `${all[0]?.model ?? 'unknown CPU'}, ${all.length} cores, ${memory} GiB, Node ${process.versions.node} ${runtimeFlags.join(' ')}`;
};

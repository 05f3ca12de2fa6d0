import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Resident memory of a process in MiB, from Linux' /proc or from `ps`; undefined where there is neither. */
export function residentMemory(pid: number): number | undefined {
  const kiB = fromProc(pid) ?? fromPs(pid);
  return kiB === undefined ? undefined : kiB / 1_024;
}

function fromProc(pid: number): number | undefined {
  try {
    return kibibytes(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

function fromPs(pid: number): number | undefined {
  try {
    return kibibytes(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).trim());
  } catch {
    return undefined;
  }
}

const kibibytes = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;

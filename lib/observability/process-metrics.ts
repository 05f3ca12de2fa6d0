import { readdirSync, readFileSync } from 'node:fs';
import type { MetricMembers } from './metrics.ts';

/** Linux only; elsewhere undefined, and the series is missing. */
const openFiles = (): number | undefined => {
  try {
    // One of them is the directory that is being read.
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    return undefined;
  }
};

const maxFiles = (): number | undefined => {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
};

type ProcessMembers = Pick<
  MetricMembers,
  | 'processCPU'
  | 'processMemory'
  | 'processStart'
  | 'processOpenFiles'
  | 'processMaxFiles'
  | 'heapUsed'
  | 'heapTotal'
  | 'externalMemory'
  | 'eventLoopUtilization'
>;

/** Reads the process at each call. No histogram of event loop delays: its timer and memory cost more than it tells. */
export const processCollector = (metrics: ProcessMembers): (() => void) => {
  const startedAt = Date.now() / 1000 - process.uptime();
  let counted = 0;
  let loop = performance.eventLoopUtilization();
  return () => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    metrics.processCPU.inc({}, seconds - counted);
    counted = seconds;
    const memory = process.memoryUsage();
    metrics.processMemory.set({}, memory.rss);
    metrics.heapUsed.set({}, memory.heapUsed);
    metrics.heapTotal.set({}, memory.heapTotal);
    metrics.externalMemory.set({}, memory.external);
    metrics.processStart.set({}, startedAt);
    metrics.processOpenFiles.set({}, openFiles() ?? Number.NaN);
    metrics.processMaxFiles.set({}, maxFiles() ?? Number.NaN);
    const now = performance.eventLoopUtilization();
    metrics.eventLoopUtilization.set({}, performance.eventLoopUtilization(now, loop).utilization);
    loop = now;
  };
};

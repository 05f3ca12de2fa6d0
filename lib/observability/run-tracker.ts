import type { Clock } from '../streams/clock.ts';

/**
 * How long the runs of one work queue have been going on, from what it tells: the number of runs now and the duration of
 * each that ended. Start times are those of the reports, so a run that follows another in the same turn is dated from there.
 */
export const trackRuns = (clock: Pick<Clock, 'monotonic'>) => {
  let starts: number[] = [];
  let count = 0;
  let lastEnd = clock.monotonic();
  return {
    running: (running: number): void => {
      count = running;
      if (running === 0) starts = [];
      while (starts.length < running) starts.push(clock.monotonic());
    },
    /** A run of `duration` ms has ended. */
    ended: (duration: number): void => {
      lastEnd = clock.monotonic();
      const start = lastEnd - duration;
      let nearest = 0;
      for (const [i, at] of starts.entries()) {
        if (Math.abs(at - start) < Math.abs((starts[nearest] ?? 0) - start)) nearest = i;
      }
      starts.splice(nearest, 1);
    },
    /** ms, summed over all runs and of the longest. */
    now: (): { unfinished: number; longest: number } => {
      const now = clock.monotonic();
      const unseen = Array.from({ length: Math.max(0, count - starts.length) }, () => lastEnd);
      const ages = [...starts, ...unseen].map(at => now - at);
      return { unfinished: ages.reduce((sum, age) => sum + age, 0), longest: Math.max(0, ...ages) };
    },
  };
};

import type { Cloud } from './cloud.ts';

/**
 * The same cloud, but no change is sent once `isValid` says no (design rule 9): a process that was paused past its
 * lease must not write when it wakes up, before its timers had a chance to tell it so.
 */
export function fencedCloud(cloud: Cloud, isValid: () => boolean): Cloud {
  const check = () => {
    if (!isValid()) throw new Error('The lease is no longer ours: the change was not sent');
  };
  return {
    ...cloud,
    addRoute: async (...args) => {
      check();
      return cloud.addRoute(...args);
    },
    deleteRoute: async (...args) => {
      check();
      return cloud.deleteRoute(...args);
    },
  };
}

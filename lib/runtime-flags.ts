/** How Node.js runs the controller: in the image, in specs of the whole program and in the bench. */

/**
 * Flags of Node.js and V8, all to save memory (some 30 MiB of 90); nothing else depends on them. `make bench` shows what is
 * left.
 */
export const runtimeFlags: readonly string[] = [
  // Young objects: 1 MiB rather than 16; the garbage of a burst is found sooner.
  '--max-semi-space-size=1',
  // One helper thread for collecting garbage.
  '--v8-pool-size=1',
  // Loads the modules of Node.js that are used, instead of a prepared heap that holds many more: 4 MiB.
  '--no-node-snapshot',
  // The old generation grows by a fifth before it is collected, where a small heap would double.
  '--heap-growing-percent=20',
  // A process that waits most of its time earns nothing back from compiled code and the compilers' own pages: 14 MiB.
  '--no-opt',
  '--no-maglev',
  '--no-sparkplug',
  '--liftoff-only',
  '--optimize-for-size',
];

/** Variables the C library reads before any of our code runs. */
export const runtimeEnvironment: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '1',
  // What the parser needs once goes back to the system piece by piece: 14 MiB where there is no compile cache.
  MALLOC_MMAP_THRESHOLD_: '16384',
};

/** How Node.js runs the controller: in the image, in specs of the whole program and in the bench. */

/** Flags of Node.js and V8. */
export const runtimeFlags: readonly string[] = ['--max-semi-space-size=1', '--v8-pool-size=1'];

/** Variables the C library reads before any of our code runs. */
export const runtimeEnvironment: Readonly<Record<string, string>> = { MALLOC_ARENA_MAX: '1' };

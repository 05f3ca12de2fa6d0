export type Numbers = ReturnType<typeof numbers>;

/** Random numbers that are the same for the same seed (mulberry32), so that a life can be lived again. */
export const numbers = (seed: number) => {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    upTo: (most: number) => Math.floor(next() * most),
    one: <T>(of: readonly T[]): T | undefined => of[Math.floor(next() * of.length)],
    chance: (share: number) => next() < share,
  };
};

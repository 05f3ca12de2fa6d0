import type { Priority } from './types.ts';

/**
 * Order of waiting calls, most urgent first. A call that has waited for its class's patience moves up one level, so
 * that nothing starves; `aged` is where it ends. Level numbers are bottleneck priorities.
 */
export const levels = { initialise: 0, aged: 1, route: 2, loadBalancer: 3, refresh: 4 } as const;

export type Level = (typeof levels)[keyof typeof levels];

export const levelOf = (priority: Priority): Level => levels[priority];

/** Share of the limit that a call of this level leaves for more urgent ones, and for others who use the project. */
const reserves: Readonly<Record<Level, { readonly share: number; readonly least: number }>> = {
  0: { share: 0, least: 0 },
  1: { share: 0, least: 0 },
  2: { share: 0.1, least: 1 },
  3: { share: 0.5, least: 4 },
  4: { share: 1, least: 10 },
};

/** Tokens that a call of `level` must leave behind. `reserve` is the share of the limit the lowest level leaves. */
export const floorOf = (level: Level, limit: number, reserve: number): number => {
  const { share, least } = reserves[level];
  return Math.min(Math.max(limit * reserve * share, least), limit / 2);
};

/** ms a call stays on a level before it moves up one. */
export const patienceOf = (level: Level): number => [Infinity, Infinity, 5_000, 10_000, 60_000][level] ?? Infinity;

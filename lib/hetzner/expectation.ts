import type { Action } from './types.ts';

/** How long the actions of one command take, learnt from the polls. Times in ms. */
export interface Expectation {
  /** After how long an action of this command is looked at first. */
  firstPoll(command: string): number;
  /** Tells what the first look, `elapsed` after the action was started, found. */
  learn(action: Action, elapsed: number): void;
}

const initial = 500;
const least = 50;
const most = 5_000;
/** A look that came too early costs a request, one that came late only a little time: grow fast, shrink slowly. */
const growth = 1.15;
const shrinkage = 0.993;

/**
 * Hetzner gives times in whole seconds, so what is learnt is whether the first look came too early. With actions that
 * always take the same time, about one in twenty first looks is too early.
 */
export const createExpectation = (): Expectation => {
  const expected = new Map<string, number>();
  const firstPoll = (command: string): number => expected.get(command) ?? initial;

  return {
    firstPoll,
    learn: (action, elapsed) => {
      const before = firstPoll(action.command);
      const after = (): number => {
        if (action.status === 'running') return Math.max(before, Math.min(elapsed, before * growth) * growth);
        const upperBound = action.took === undefined ? Number.POSITIVE_INFINITY : action.took + 1_000;
        // Looked late because polls were put together: tells nothing about the expectation.
        const shrunk = elapsed > before * 1.1 ? before : before * shrinkage;
        return Math.min(shrunk, upperBound);
      };
      expected.set(action.command, Math.min(most, Math.max(least, after())));
    },
  };
};

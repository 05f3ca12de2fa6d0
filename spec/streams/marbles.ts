import assert from 'node:assert/strict';
import { type RunHelpers, TestScheduler } from 'rxjs/testing';
import type { Clock } from '../../lib/streams/clock.ts';

export interface MarbleHelpers extends RunHelpers {
  readonly scheduler: TestScheduler;
  /** Both clocks in the scheduler's virtual time. */
  readonly clock: Clock;
}

/** Runs marble assertions in virtual time; one frame is one ms. */
export function marbles(body: (helpers: MarbleHelpers) => void): void {
  const scheduler = new TestScheduler((actual, expected) => assert.deepEqual(actual, expected));
  const clock: Clock = { now: () => scheduler.now(), monotonic: () => scheduler.now() };
  scheduler.run(helpers => body({ ...helpers, scheduler, clock }));
}

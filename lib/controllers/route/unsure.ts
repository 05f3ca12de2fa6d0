import type { Clock } from '../../streams/clock.ts';
import { again, type Outcome } from '../../streams/outcome.ts';
import type { RouteTable } from './route-table.ts';

/**
 * Destinations with a change of ours whose answer was lost: it may be under way at Hetzner still, and a read until its end
 * shows what was before. Whatever comes of such a destination meanwhile, it is looked at once more.
 */
export interface Unsure {
  add(destination: string): void;
  /** A run begins; the network is read anew once all that was lost is surely over. */
  begin(destination: string): void;
  /** How a run ends: not for good as long as something may be under way. */
  conclude(destination: string, outcome: Outcome): Outcome;
}

/** A change takes no longer than this, in ms. */
const lingersFor = 30_000;

export function createUnsure(clock: Pick<Clock, 'monotonic'>, table: Pick<RouteTable, 'doubt'>): Unsure {
  const overAt = new Map<string, number>();
  return {
    add: destination => void overAt.set(destination, clock.monotonic() + lingersFor),
    begin(destination) {
      const at = overAt.get(destination);
      if (at === undefined || at > clock.monotonic()) return;
      overAt.delete(destination);
      table.doubt(destination, at);
    },
    conclude(destination, outcome) {
      const at = overAt.get(destination);
      if (at === undefined || outcome.kind !== 'done') return outcome;
      return again(Math.max(1, Math.ceil(at - clock.monotonic())));
    },
  };
}

import {
  defer,
  exhaustMap,
  ignoreElements,
  type Observable,
  repeat,
  Subject,
  switchMap,
  takeWhile,
  tap,
  timer,
} from 'rxjs';
import type { Clock } from '../../streams/clock.ts';

/** ms between two looks while nodes wait for their server; the last one repeats. */
const delays = [10_000, 20_000, 40_000, 60_000] as const;

/**
 * Nodes that wait for news from Hetzner: no server has their name yet, or the server lacks the announced address.
 * However many wait, they share one list: 10 s after the first, then ever more rarely up to once a minute, and within
 * 10 s again when another node joins them.
 */
export interface Unresolved {
  /** True when the node was not waiting before. */
  add(name: string): boolean;
  delete(name: string): void;
  /** Looks at Hetzner while nodes wait. The news reach the nodes through the list of servers. */
  readonly looks$: Observable<never>;
}

/**
 * @param look asks for a new list: one value, then completion, never an error
 * @param waits tells whether a node is still there and still waiting
 */
export function createUnresolved(
  look: () => Observable<unknown>,
  waits: (name: string) => boolean,
  clock: Clock,
): Unresolved {
  const names = new Set<string>();
  const added$ = new Subject<void>();
  let step = 0;
  let dueAt = Number.POSITIVE_INFINITY;

  const anyoneWaits = (): boolean => {
    for (const name of names) if (!waits(name)) names.delete(name);
    return names.size > 0;
  };

  const wait = (): Observable<unknown> => {
    const now = clock.monotonic();
    dueAt = Math.min(dueAt, now + (delays[Math.min(step, delays.length - 1)] as number));
    return timer(Math.max(0, dueAt - now));
  };

  const rest = (): void => {
    dueAt = Number.POSITIVE_INFINITY;
    step += 1;
  };

  return {
    add(name) {
      if (names.has(name)) return false;
      names.add(name);
      step = 0;
      added$.next();
      return true;
    },
    delete(name) {
      names.delete(name);
    },
    looks$: added$.pipe(
      switchMap(() => defer(wait).pipe(tap(rest), repeat(), takeWhile(anyoneWaits))),
      // A look under way is not given up for a node that joins, which would put off all others.
      exhaustMap(look),
      ignoreElements(),
    ),
  };
}

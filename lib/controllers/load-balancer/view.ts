import type { LoadBalancerSnapshot } from '../../hetzner/lb-snapshot.ts';
import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import { createOwnWrites } from '../../hetzner/own-writes.ts';
import type { CallOptions } from '../../hetzner/types.ts';
import type { Clock } from '../../streams/clock.ts';

/**
 * The load balancers of the project as this process knows them: one list for all Services, then kept up to date from
 * its own writes, and read again on surprise, before a deletion and on the drift check (design rule 3.4).
 */
export interface LoadBalancerView {
  /** All load balancers, from a list requested at or after `instant` and not before the last invalidation. */
  load(instant: number, o: CallOptions): Promise<readonly LoadBalancer[]>;
  /**
   * A write of ours left it like this. Where that was worked out from what was loaded before (`base`), and that can't be
   * trusted any more, neither can this.
   */
  record(loadBalancer: LoadBalancer, base?: readonly LoadBalancer[]): void;
  /** A write of ours deleted it. */
  forget(id: number): void;
  /** What is known can't be trusted: the next load reads anew. */
  invalidate(): void;
}

export function createLoadBalancerView(snapshot: LoadBalancerSnapshot, clock: Clock): LoadBalancerView {
  const writes = createOwnWrites<LoadBalancer>();
  let needed = clock.monotonic();
  const requestedAt = new WeakMap<readonly LoadBalancer[], number>();
  return {
    load: async (instant, o) => {
      const list = await snapshot.notBefore(Math.max(instant, needed), o);
      const all = writes.over(list.loadBalancers, list.requestedAt);
      requestedAt.set(all, list.requestedAt);
      return all;
    },
    record: (loadBalancer, base) => {
      const now = clock.monotonic();
      writes.record(loadBalancer, now);
      if (base !== undefined && (requestedAt.get(base) ?? now) < needed) needed = now;
    },
    forget: id => writes.forget(id, clock.monotonic()),
    invalidate: () => {
      needed = clock.monotonic();
    },
  };
}

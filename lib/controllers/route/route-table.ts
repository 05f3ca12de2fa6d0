import type { Observable } from 'rxjs';
import type { Network } from '../../hetzner/types.ts';
import type { Clock } from '../../streams/clock.ts';
import { firstValue } from '../../streams/first-value.ts';
import { type Snapshot, snapshotSource } from '../../streams/snapshot.ts';
import { canonicalIPv4CIDR } from '../ip.ts';

/**
 * The routes of one network as this process knows them: read once, then kept up to date from its own finished
 * actions, and read again on surprise and on the safety pass (design rule 3.4: no read before a write).
 */
export interface RouteTable {
  /** Destination (canonical) to gateway; reads the network first where that is due, for the destination alone if it is given. */
  load(signal: AbortSignal, destination?: string): Promise<ReadonlyMap<string, string>>;
  /** The present view without a request; undefined before the first read. */
  current(): ReadonlyMap<string, string> | undefined;
  /** clock.monotonic() at which the read was sent that the view stands on. */
  readAt(): number;
  /** Records the end of one of our own changes: the new gateway, or undefined for a deleted route. */
  record(destination: string, gateway: string | undefined): void;
  /** What the view says can't be trusted: the next load reads the network. */
  invalidate(): void;
  /**
   * What the view says of one destination can't be trusted, unless it was read at `instant` (default: now) or later. All that
   * fail at about the same time share one read when they are tried again.
   */
  doubt(destination: string, instant?: number): void;
}

export interface RouteTableOptions {
  /** Reads the network. */
  readonly read: () => Observable<Network>;
  /** A read that was made anyway, such as the one that found the network by its name. */
  readonly initial: Snapshot<Network>;
  readonly clock: Clock;
  /** ms between a failed read and the next, by failures in a row. */
  readonly errorHoldOff: (failures: number) => number;
  readonly onChange?: (routes: number) => void;
}

/** The routes of a network: destination (canonical) to gateway. */
export const gatewaysOf = ({ routes }: Network): Map<string, string> =>
  new Map(routes.map(r => [canonicalIPv4CIDR(r.destination) ?? r.destination, r.gateway]));

export function createRouteTable({ read, initial, clock, errorHoldOff, onChange }: RouteTableOptions): RouteTable {
  const source = snapshotSource<Network>({ fetch: read, clock, errorHoldOff });
  /** Our changes that ended after the newest read was sent: that read may or may not show them. */
  let writes: { destination: string; gateway: string | undefined; at: number }[] = [];
  let routes = new Map<string, string>();
  let readAt = initial.requestedAt;
  let needed = initial.requestedAt;
  /** The same of single destinations. */
  const doubted = new Map<string, number>();

  const put = (destination: string, gateway: string | undefined) => {
    if (gateway === undefined) routes.delete(destination);
    else routes.set(destination, gateway);
  };

  const adopt = ({ value, requestedAt }: Snapshot<Network>) => {
    readAt = requestedAt;
    routes = gatewaysOf(value);
    writes = writes.filter(w => w.at >= requestedAt);
    for (const write of writes) put(write.destination, write.gateway);
    for (const [destination, instant] of doubted) if (instant <= requestedAt) doubted.delete(destination);
    onChange?.(routes.size);
  };
  adopt(initial);

  return {
    async load(signal, destination = '') {
      const instant = Math.max(needed, doubted.get(destination) ?? Number.NEGATIVE_INFINITY);
      if (readAt < instant) {
        const snapshot = await firstValue(source.notBefore(instant), signal);
        if (snapshot.requestedAt > readAt) adopt(snapshot);
      }
      return routes;
    },
    current: () => routes,
    readAt: () => readAt,
    record(destination, gateway) {
      writes.push({ destination, gateway, at: clock.monotonic() });
      put(destination, gateway);
      onChange?.(routes.size);
    },
    invalidate() {
      needed = clock.monotonic();
    },
    doubt: (destination, instant = clock.monotonic()) => void doubted.set(destination, instant),
  };
}

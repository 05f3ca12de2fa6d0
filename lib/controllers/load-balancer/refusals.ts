import { classOf, HetznerError } from '../../hetzner/errors.ts';
import type { LoadBalancerBody } from '../../hetzner/lb-types.ts';
import { exponentialBackoff } from '../../streams/backoff.ts';
import type { Clock } from '../../streams/clock.ts';
import { codeOf, type Failure } from './apply.ts';

/**
 * ms after which an address may be asked for again: what is refused for good today may be free tomorrow. Each try costs
 * the private targets for a moment, so it is twice as long after each.
 */
const remembered = exponentialBackoff({ initial: 3_600_000, max: 24 * 3_600_000, jitter: 'none' });

/**
 * What Hetzner refused for good, by the uid of the Service, so that it is not asked for again and again: moving to
 * another private address drops all private targets for a moment, and creations are counted.
 */
export interface Refusals {
  /** The private address that could not be had. */
  refusedIP(uid: string): string | undefined;
  /** The network it could not move to. */
  refusedNetwork(uid: string): number | undefined;
  /** True when just that could not be made, which has neither listeners nor targets: they are not at fault. */
  refusedBare(uid: string, bare: LoadBalancerBody): boolean;
  learn(uid: string, failures: readonly Failure[]): void;
  learnCreation(uid: string, bare: LoadBalancerBody, err: unknown): void;
  forget(uid: string): void;
}

export function createRefusals(clock: Pick<Clock, 'monotonic'>): Refusals {
  const addresses = memory<string>(clock);
  const networks = memory<number>(clock);
  const creations = new Map<string, string>();
  return {
    refusedIP: addresses.get,
    refusedNetwork: networks.get,
    refusedBare: (uid, bare) => creations.get(uid) === JSON.stringify(bare),
    learn(uid, failures) {
      for (const { change, err } of failures) {
        const isMove = change.kind === 'attach' || change.kind === 'reattach' || change.kind === 'changeNetwork';
        if (!isMove || !isForGood(err) || isOfDetachment(err)) continue;
        if (change.ip !== undefined) addresses.add(uid, change.ip);
        if (change.kind === 'changeNetwork') networks.add(uid, change.network);
      }
    },
    learnCreation(uid, bare, err) {
      if (isForGood(err)) creations.set(uid, JSON.stringify(bare));
    },
    forget(uid) {
      addresses.delete(uid);
      networks.delete(uid);
      creations.delete(uid);
    },
  };
}

/** The last thing that was refused to each, for as long as it is not to be asked for again. */
function memory<T>(clock: Pick<Clock, 'monotonic'>) {
  const refused = new Map<string, { readonly what: T; readonly tries: number; readonly until: number }>();
  return {
    get: (uid: string): T | undefined => {
      const last = refused.get(uid);
      return last !== undefined && clock.monotonic() < last.until ? last.what : undefined;
    },
    add(uid: string, what: T): void {
      const before = refused.get(uid);
      const tries = before?.what === what ? before.tries + 1 : 0;
      refused.set(uid, { what, tries, until: clock.monotonic() + remembered(tries) });
    },
    delete: (uid: string) => refused.delete(uid),
  };
}

/** Where not even the present network could be left, nothing was dropped and nothing is known of the new address. */
const isOfDetachment = (err: unknown): boolean =>
  err instanceof HetznerError && err.route.endsWith('/detach_from_network');

const isForGood = (err: unknown): boolean =>
  (err instanceof HetznerError && classOf(err) === 'permanent') || codeOf(err) === 'ip_not_available';

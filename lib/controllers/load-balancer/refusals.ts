import { classOf, HetznerError } from '../../hetzner/errors.ts';
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
  /** True when a load balancer could not even be made without listeners and targets, so that these are not at fault. */
  refusedBare(uid: string): boolean;
  learn(uid: string, failures: readonly Failure[]): void;
  learnCreation(uid: string, err: unknown): void;
  forget(uid: string): void;
}

export function createRefusals(clock: Pick<Clock, 'monotonic'>): Refusals {
  const addresses = new Map<string, { readonly ip: string; readonly tries: number; readonly until: number }>();
  const creations = new Set<string>();
  return {
    refusedIP: uid => {
      const refused = addresses.get(uid);
      return refused !== undefined && clock.monotonic() < refused.until ? refused.ip : undefined;
    },
    refusedBare: uid => creations.has(uid),
    learn(uid, failures) {
      for (const { change, err } of failures) {
        const isMove = change.kind === 'attach' || change.kind === 'reattach';
        if (!isMove || change.ip === undefined || !isForGood(err)) continue;
        const before = addresses.get(uid);
        const tries = before?.ip === change.ip ? before.tries + 1 : 0;
        addresses.set(uid, { ip: change.ip, tries, until: clock.monotonic() + remembered(tries) });
      }
    },
    learnCreation(uid, err) {
      if (isForGood(err)) creations.add(uid);
    },
    forget(uid) {
      addresses.delete(uid);
      creations.delete(uid);
    },
  };
}

const isForGood = (err: unknown): boolean =>
  (err instanceof HetznerError && classOf(err) === 'permanent') || codeOf(err) === 'ip_not_available';

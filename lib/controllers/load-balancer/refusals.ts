import { classOf, HetznerError } from '../../hetzner/errors.ts';
import { codeOf, type Failure } from './apply.ts';

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

export function createRefusals(): Refusals {
  const addresses = new Map<string, string>();
  const creations = new Set<string>();
  return {
    refusedIP: uid => addresses.get(uid),
    refusedBare: uid => creations.has(uid),
    learn(uid, failures) {
      for (const { change, err } of failures) {
        const isMove = change.kind === 'attach' || change.kind === 'reattach';
        if (isMove && change.ip !== undefined && isForGood(err)) addresses.set(uid, change.ip);
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

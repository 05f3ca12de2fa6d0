import type { KubeNode } from '../../kubernetes/types.ts';
import { isUninitialized } from '../node/plan.ts';
import { type Evidence, missingWith, type Observation } from './evidence.ts';

/**
 * What should become of a node that is not ready:
 * - `keep`: its machine is there, nothing more is known.
 * - `tainted`: its machine is switched off.
 * - `confirm`: its machine is missing, which an answer requested not before `notBefore` has to say again.
 * - `verify`: its machine is missing from answers that hold no other machine of the cluster; it must be asked for itself.
 * - `gone`: its machine does not exist.
 */
export type DesiredNode =
  | { readonly kind: 'keep' | 'tainted' | 'verify' | 'gone' }
  | { readonly kind: 'confirm'; readonly notBefore: number };

/** Least ms between two witnessed answers that lack the machine of a node with a provider ID of ours. */
export const knownMachine = 5_000;
/** The same for a node that was never tied to a machine: its name is all there is to go by. */
export const unknownMachine = 60_000;
/** The same for answers without a witness. */
const unwitnessed = 600_000;
/** Answers that cannot be believed are asked for again after this, in ms: at first, and once nobody mends it. */
const doubtAgain = 60_000;
const longDoubtAgain = 600_000;

/**
 * Decides on a node that is not ready (design rule 3.7). An answer from before the node turned so decides nothing: the
 * machine may have been switched off or deleted since. One that cannot be believed never deletes.
 */
export function desiredNode(evidence: Evidence, observed: Observation, confirmAfter: number): DesiredNode {
  const { state, requestedAt, trust } = observed;
  if (state === 'running') return { kind: 'keep' };
  if (requestedAt < evidence.notReadyAt) return { kind: 'confirm', notBefore: evidence.notReadyAt };
  if (state === 'off') return { kind: 'tainted' };
  const since = missingWith(evidence, observed)?.since ?? requestedAt;
  if (trust === 'none') {
    const again = requestedAt - since < unwitnessed ? doubtAgain : longDoubtAgain;
    return { kind: 'confirm', notBefore: requestedAt + again };
  }
  const notBefore = since + (trust === 'witnessed' ? confirmAfter : unwitnessed);
  if (requestedAt < notBefore) return { kind: 'confirm', notBefore };
  return { kind: trust === 'witnessed' ? 'gone' : 'verify' };
}

/** A node that was never tied to a machine is left alone for this long after it was first seen, in ms. */
const unknownGrace = 600_000;

/** ms until a node may be judged that was first seen `age` ms ago; Infinity for one without provider ID that lives without us. */
export function graceOf(node: KubeNode, age: number): number {
  if (node.providerID !== '') return 0;
  return isUninitialized(node) ? Math.max(0, unknownGrace - age) : Number.POSITIVE_INFINITY;
}

/** ms until a node whose machine is there is looked at again: 10 s at first, a minute after two minutes. */
export const lookAgainAfter = ({ state, changedAt }: Evidence, now: number): number =>
  Math.min(60_000, Math.max(state === 'off' ? 30_000 : 10_000, 10_000 + (now - changedAt) / 2));

import type { Evidence, MachineState } from './evidence.ts';

export interface Observation {
  readonly state: MachineState;
  /** clock.monotonic() at which the answer was requested. */
  readonly requestedAt: number;
  /**
   * True when the same answer holds a machine of another node of the cluster. An answer with none of them may be about
   * another project (a wrong token), so it takes far longer to be believed.
   */
  readonly witnessed: boolean;
}

/**
 * What should become of a node that is not ready:
 * - `keep`: its machine is there, nothing more is known.
 * - `tainted`: its machine is switched off.
 * - `confirm`: its machine is missing, which an answer requested not before `notBefore` has to say again.
 * - `gone`: its machine does not exist.
 */
export type DesiredNode =
  | { readonly kind: 'keep' | 'tainted' | 'gone' }
  | { readonly kind: 'confirm'; readonly notBefore: number };

/** Least ms between the two answers that must lack the machine of a node before it is deleted. */
export interface DeletionRules {
  readonly confirmAfter: number;
  readonly confirmUnwitnessedAfter: number;
}

/** A node with a provider ID of ours. */
export const knownMachine: DeletionRules = { confirmAfter: 5_000, confirmUnwitnessedAfter: 600_000 };
/** A node that was never tied to a machine: its name is all there is to go by. */
export const unknownMachine: DeletionRules = { confirmAfter: 60_000, confirmUnwitnessedAfter: 600_000 };

/**
 * Decides on a node that is not ready (design rule 3.7). An answer from before the node turned so decides nothing: the
 * machine may have been switched off or deleted since.
 */
export function desiredNode(evidence: Evidence, observed: Observation, rules: DeletionRules): DesiredNode {
  const { state, requestedAt, witnessed } = observed;
  if (state === 'running') return { kind: 'keep' };
  if (requestedAt < evidence.notReadyAt) return { kind: 'confirm', notBefore: evidence.notReadyAt };
  if (state === 'off') return { kind: 'tainted' };
  const wait = witnessed ? rules.confirmAfter : rules.confirmUnwitnessedAfter;
  const notBefore = (evidence.missingSince ?? requestedAt) + wait;
  return evidence.missingSince !== undefined && requestedAt >= notBefore
    ? { kind: 'gone' }
    : { kind: 'confirm', notBefore };
}

/** ms until a node whose machine is there is looked at again: 10 s at first, a minute after two minutes. */
export const lookAgainAfter = ({ state, changedAt }: Evidence, now: number): number =>
  Math.min(60_000, Math.max(state === 'off' ? 30_000 : 10_000, 10_000 + (now - changedAt) / 2));

import type { Trust } from '../witness.ts';

/** What an answer of Hetzner says of the machine of a node that is not ready. */
export type MachineState = 'running' | 'off' | 'missing';

export interface Observation {
  readonly state: MachineState;
  /** clock.monotonic() at which the answer was requested. */
  readonly requestedAt: number;
  /** How far it can be believed where it lacks the machine. */
  readonly trust: Trust;
}

/**
 * What was seen of one node since it is not ready. A node that turns Ready, or another Node of the same name, starts
 * without any. Instants are of clock.monotonic().
 */
export interface Evidence {
  /** uid of the Node it belongs to. */
  readonly uid: string;
  /** When the node was first seen not ready. */
  readonly notReadyAt: number;
  /** State of its machine at the last look; undefined before the first. */
  readonly state: MachineState | undefined;
  /** When the state last turned out to be another. */
  readonly changedAt: number;
  /** The first of the answers in a row that lacked the machine and could be believed as far as the last one. */
  readonly missing: { readonly since: number; readonly trust: Trust } | undefined;
  /** The next answer must have been requested at or after this, for the node is about to be judged by it. */
  readonly confirmAt: number | undefined;
}

/** Evidence of a node that was seen not ready just now. */
export const newEvidence = (uid: string, now: number): Evidence => ({
  uid,
  notReadyAt: now,
  state: undefined,
  changedAt: now,
  missing: undefined,
  confirmAt: undefined,
});

/** Adds what an answer said. */
export const addObservation = (
  evidence: Evidence,
  observed: Observation,
  now: number,
  confirmAt: number | undefined,
): Evidence => ({
  ...evidence,
  state: observed.state,
  changedAt: observed.state === evidence.state ? evidence.changedAt : now,
  missing: missingWith(evidence, observed),
  confirmAt,
});

/**
 * Since when the machine is missing with this answer. One from before the node turned not ready tells nothing of a missing
 * machine, and one that has the machine ends whatever was missing before.
 */
export function missingWith(
  { notReadyAt, missing }: Evidence,
  { state, requestedAt, trust }: Observation,
): Evidence['missing'] {
  if (state !== 'missing') return undefined;
  if (missing?.trust === trust) return missing;
  return requestedAt >= notReadyAt ? { since: requestedAt, trust } : undefined;
}

/** An answer made for somebody else has the machine that was missing: all is open again. */
export const foundAgain = (evidence: Evidence): Evidence => ({
  ...evidence,
  state: undefined,
  missing: undefined,
  confirmAt: undefined,
});

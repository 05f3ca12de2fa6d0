/** What an answer of Hetzner says of the machine of a node that is not ready. */
export type MachineState = 'running' | 'off' | 'missing';

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
  /** When the first of the answers was requested that lacked the machine, if all since then lacked it. */
  readonly missingSince: number | undefined;
  /** The next answer must have been requested at or after this, for the node is about to be judged by it. */
  readonly confirmAt: number | undefined;
}

/** Evidence of a node that was seen not ready just now. */
export const newEvidence = (uid: string, now: number): Evidence => ({
  uid,
  notReadyAt: now,
  state: undefined,
  changedAt: now,
  missingSince: undefined,
  confirmAt: undefined,
});

/**
 * Adds what an answer said. One from before the node turned not ready tells nothing of a missing machine, and one that
 * has the machine ends whatever was missing before.
 */
export function addObservation(
  evidence: Evidence,
  { state, requestedAt }: { readonly state: MachineState; readonly requestedAt: number },
  now: number,
  confirmAt?: number,
): Evidence {
  const since = requestedAt >= evidence.notReadyAt ? (evidence.missingSince ?? requestedAt) : evidence.missingSince;
  return {
    ...evidence,
    state,
    changedAt: state === evidence.state ? evidence.changedAt : now,
    missingSince: state === 'missing' ? since : undefined,
    confirmAt,
  };
}

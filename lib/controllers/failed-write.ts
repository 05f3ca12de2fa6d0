import { isConflict } from '../kubernetes/errors.ts';
import { failed, type Outcome } from '../streams/outcome.ts';

/** What somebody else wrote at the same moment is tried again after this, in ms, a few times. */
const conflictRetry = 200;
const conflictRetries = 5;

/**
 * How a run ends whose write to the Kubernetes API failed: a conflict is tried again soon, anything else by the queue's rule.
 *
 * @param attempt how many runs of the key failed in a row before
 */
export const failedWrite = (err: unknown, attempt: number): Outcome =>
  failed(err, isConflict(err) && attempt < conflictRetries ? conflictRetry : undefined);

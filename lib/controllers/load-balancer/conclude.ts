import { again, done, failed, type Outcome } from '../../streams/outcome.ts';
import { remindAfter } from '../reminders.ts';
import type { Applied } from './apply.ts';
import type { LeftOver, ResolvedCertificates } from './certificate-keeper.ts';
import { areLasting, lastingRetry } from './lasting.ts';
import type { ServiceReport } from './report.ts';

export interface Conclusion {
  readonly applied: Applied;
  /** So it was in the last run: looking again at once does not help. */
  readonly surprisedBefore: boolean;
  /** Failures in a row before this run. */
  readonly attempt: number;
  readonly created: boolean;
  readonly certificates: Pick<ResolvedCertificates, 'problem' | 'lookAgainIn'>;
  /** Certificates that should be gone. */
  readonly left: LeftOver | undefined;
  /** Whether all addresses are known. */
  readonly complete: boolean;
  /** Whether something stays wrong that only the user can change. */
  readonly hasNotices: boolean;
  readonly tell: ServiceReport;
}

/** The load balancer turned out to be another than it was taken for; ms until it is read again. */
const surpriseRetry = 1_000;
const surprise =
  'the load balancer is not what Hetzner says it is: a change that was missing is refused as made already';
/** What Hetzner has not told yet is looked for again after this, in ms. */
const incompleteRetry = 5_000;

/** How a run ends that has done what it could. */
export function conclude({
  applied,
  surprisedBefore,
  attempt,
  created,
  certificates,
  left,
  complete,
  hasNotices,
  tell,
}: Conclusion): Outcome {
  if (applied.failures.length > 0) {
    const isLasting = areLasting(applied.failures, attempt);
    return failed(new Error(tell.failures(applied.failures, isLasting)), isLasting ? lastingRetry : undefined);
  }
  if (created || applied.changes > 0) tell.ensured();
  if (certificates.problem !== undefined) return failed(certificates.problem, certificates.lookAgainIn);
  if (applied.surprised) return surprisedBefore ? failed(new Error(surprise)) : again(surpriseRetry);
  if (!complete) return again(incompleteRetry);
  if (certificates.lookAgainIn !== undefined) return again(certificates.lookAgainIn);
  if (left !== undefined) return left.lookAgainIn === undefined ? failed(left.err) : again(left.lookAgainIn);
  return hasNotices ? again(remindAfter) : done;
}

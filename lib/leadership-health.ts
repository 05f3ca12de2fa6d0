import type { LeadershipOptions } from './kubernetes/leadership.ts';
import type { Term } from './kubernetes/term.ts';
import { type Health, heartbeat } from './observability/health.ts';
import type { Settings } from './settings/settings.ts';
import type { Clock } from './streams/clock.ts';

export interface LeadershipHealth extends Required<Pick<LeadershipOptions, 'onTurn'>> {
  /** Told who else holds the lease. */
  onOther(holder: string): void;
  /** Told what `term$` says. */
  onTerm(term: Term | undefined): void;
}

/**
 * Makes the election visible to probes: /livez fails when its loop stopped turning, which a restart mends; /healthz also
 * while a lease was lost and nobody is known to have it. A follower is healthy, and so is who cannot reach the API server.
 */
export function leadershipHealth(
  health: Health,
  clock: Clock,
  { enabled, leaseDuration }: Settings['leaderElection'],
): LeadershipHealth {
  const loop = heartbeat(clock, 2 * leaseDuration);
  let lost = false;
  if (enabled) {
    health.setCheck('election', loop.check, 'live');
    health.setCheck('lease', () => (lost ? 'the lease was lost and nobody is known to hold it' : undefined), 'health');
  }
  return {
    onTurn: loop.beat,
    onOther: () => {
      lost = false;
    },
    onTerm: term => {
      lost = term === undefined;
    },
  };
}

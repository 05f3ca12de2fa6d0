import { ignoreElements, type Observable, Subject, tap } from 'rxjs';
import type { CallOptions } from '../hetzner/types.ts';
import type { EventReason } from '../kubernetes/event-reasons.ts';
import type { Logger } from '../observability/logger.ts';
import type { Clock } from '../streams/clock.ts';
import type { Instances } from './instances.ts';
import { createReminders } from './reminders.ts';
import type { Witness } from './witness.ts';

/**
 * The Hetzner project that the token leads to. By mistake it is another one, in which nothing may be made, and from which
 * nothing follows where something is not there.
 */
export interface Project {
  /**
   * In words why it may be that of somebody else; undefined where it is ours, or no node could tell. Sends a request only
   * where the newest list of servers can't tell. Rejects with the error of that request.
   */
  doubt(o: CallOptions): Promise<string | undefined>;
  /** Each time a doubt turns out to be none. */
  readonly cleared$: Observable<void>;
  /** Learns from each list of servers; completes never. */
  readonly run$: Observable<never>;
}

export interface ProjectDeps {
  readonly witness: Witness;
  readonly instances: Pick<Instances, 'latest' | 'readBest' | 'credentialsSince' | 'changes$'>;
  /** Tells users about the controller itself. */
  readonly warn: (reason: EventReason, message: string) => void;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}

/** Why nothing is made or given up, as a user reads it. */
export const foreignProject =
  'Hetzner Cloud knows none of the servers that nodes of this cluster name: HCLOUD_TOKEN is probably of another project; if these servers are gone, delete their Nodes';

/** All that doubt in the same minute share one list of servers, in ms. */
const maxAge = 60_000;

export function createProject({ witness, instances, warn, clock, logger }: ProjectDeps): Project {
  const reminders = createReminders(clock);
  let inDoubt = false;
  const cleared = new Subject<void>();

  const tell = (): void => {
    if (!reminders.isNews('project', foreignProject)) return;
    warn('ForeignProject', `Holding back changes at Hetzner: ${foreignProject}`);
    logger.warn('Held back changes, as Hetzner knows no server of this cluster', {
      setting: 'HCLOUD_TOKEN',
      hint: 'check that the token is of the project of this cluster; delete the Nodes whose servers are gone',
    });
  };

  const clear = (): void => {
    if (!inDoubt) return;
    inDoubt = false;
    reminders.forget('project');
    logger.info('Found servers of this cluster at Hetzner again', { setting: 'HCLOUD_TOKEN' });
    cleared.next();
  };

  return {
    doubt: async o => {
      const since = instances.credentialsSince('cloud');
      const known = instances.latest();
      const isCurrent = known.cloud !== undefined && known.cloud.requestedAt >= since;
      if (isCurrent && !witness.doubtsProject(known)) return undefined;
      const lists = await instances.readBest(Math.max(since, clock.monotonic() - maxAge), o);
      if (!witness.doubtsProject(lists)) return undefined;
      tell();
      inDoubt = true;
      return foreignProject;
    },
    cleared$: cleared.asObservable(),
    run$: instances.changes$.pipe(
      tap(lists => {
        witness.observe(lists);
        if (!witness.doubtsProject(lists)) clear();
      }),
      ignoreElements(),
    ),
  };
}

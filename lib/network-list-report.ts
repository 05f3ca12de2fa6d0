import type { NetworkListReport } from './cluster-networks.ts';
import type { EventReason } from './kubernetes/event-reasons.ts';
import type { Logger } from './observability/logger.ts';

export interface NetworkListReportDeps {
  readonly logger: Logger;
  /** Tells users about the controller itself. */
  readonly warn: (reason: EventReason, message: string) => void;
  /** Told whether the network of that name or id is missing. */
  readonly onMissing: (network: string, isMissing: boolean) => void;
}

/** Says once of each difference what became of the networks of a cluster that has several. */
export function createNetworkListReport({ logger, warn, onMissing }: NetworkListReportDeps): NetworkListReport {
  let said: string | undefined;
  let gone: string | undefined;
  const renamedTo = new Map<number, string>();
  return {
    onProblem(problem) {
      if (problem?.problem === said) return;
      said = problem?.problem;
      if (gone !== undefined) {
        onMissing(gone, false);
        if (problem === undefined) logger.info('Found the network again', { network: gone });
      }
      gone = problem?.missing;
      if (problem === undefined) return;
      if (gone === undefined) {
        const hint = 'a restart would be refused: let the settings fit the networks there are';
        logger.error('Left the networks as they were, which the settings do not fit any more', {
          hint,
          err: problem.problem,
        });
        return;
      }
      onMissing(gone, true);
      const hint = 'make a network of this name again, which is taken over without a restart';
      logger.error('Found the network gone', { network: gone, hint, err: problem.problem });
      warn('NetworkNotFound', `The network ${gone} does not exist any more: ${hint}`);
    },
    onRenamed(networks, nameBefore) {
      for (const { id, name } of networks) {
        if (renamedTo.get(id) === name) continue;
        renamedTo.set(id, name);
        const hint = `the settings have to know the new name, ${JSON.stringify(name)}, before the next start, or name the network as before`;
        logger.warn('Found a network renamed, and went on with it', { network: nameBefore(id), networkID: id, hint });
      }
    },
  };
}

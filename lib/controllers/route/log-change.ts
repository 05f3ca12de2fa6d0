import type { Logger } from '../../observability/logger.ts';
import type { RouteChange } from './plan.ts';

/** One line for one change that was made. */
export function logChange(log: Logger, change: RouteChange, networkID: number, durationMs: number): void {
  const { destination, gateway } = change;
  const fields = { networkID, destination, gateway, durationMs };
  if (change.kind === 'delete') {
    log.info('Deleted route', fields);
  } else if (change.kind === 'create') {
    if ('node' in change) log.info('Created route', { node: change.node, ...fields });
    else log.info('Created route to another network', { neighbour: change.neighbour, ...fields });
  } else {
    const { previousGateway } = change;
    if ('node' in change) log.info('Replaced route', { node: change.node, ...fields, previousGateway });
    else log.info('Replaced route to another network', { neighbour: change.neighbour, ...fields, previousGateway });
  }
}

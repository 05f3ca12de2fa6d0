import type { Cloud } from '../../hetzner/cloud.ts';
import { isNotFound } from '../../hetzner/errors.ts';
import type { Action } from '../../hetzner/types.ts';
import type { Pipeline, Step } from '../pipeline.ts';
import type { RouteChange } from './plan.ts';
import type { RouteTable } from './route-table.ts';

export interface ApplyDeps {
  readonly cloud: Pick<Cloud, 'addRoute' | 'deleteRoute'>;
  readonly networkID: number;
  readonly table: RouteTable;
  readonly pipeline: Pipeline;
  /** Whether a node claims the destination, asked when the turn of its deletion comes: that may be minutes later. */
  readonly isClaimed: (destination: string) => boolean;
}

/**
 * Makes one change real and records it in the table, step by step as the actions end. On any error the network is
 * read again before the next try: what the API did with a change it did not confirm is unknown. Resolves with false when a
 * deletion was dropped, because a node claims the destination by now.
 */
export async function applyRoute(change: RouteChange, deps: ApplyDeps, signal: AbortSignal): Promise<boolean> {
  let dropped = false;
  const unlessClaimed =
    (step: Step): Step =>
    async stepSignal => {
      dropped = deps.isClaimed(change.destination);
      return dropped ? undefined : step(stepSignal);
    };
  const steps = stepsOf(change, deps);
  try {
    await deps.pipeline.run(change.kind === 'delete' ? steps.map(unlessClaimed) : steps, signal);
  } catch (err) {
    deps.table.doubt(change.destination);
    throw err;
  }
  if (dropped) return false;
  deps.table.record(change.destination, change.kind === 'delete' ? undefined : change.gateway);
  return true;
}

function stepsOf(change: RouteChange, { cloud, networkID }: ApplyDeps): Step[] {
  const { destination } = change;
  const add =
    (gateway: string): Step =>
    signal =>
      cloud.addRoute(networkID, { destination, gateway }, { priority: 'route', signal });
  const remove =
    (gateway: string): Step =>
    signal =>
      cloud.deleteRoute(networkID, { destination, gateway }, { priority: 'route', signal }).catch(absentIsFine);
  switch (change.kind) {
    case 'create':
      return [add(change.gateway)];
    case 'replace':
      return [remove(change.previousGateway), add(change.gateway)];
    case 'delete':
      return [remove(change.gateway)];
  }
}

/** A route that is already gone is what a deletion wanted. */
function absentIsFine(err: unknown): Action | undefined {
  if (isNotFound(err)) return undefined;
  throw err;
}

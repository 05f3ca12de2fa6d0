import type { Actions } from '../../hetzner/actions.ts';
import { classOf } from '../../hetzner/errors.ts';
import type { Clock } from '../../streams/clock.ts';
import { createPipeline, type Pipeline } from '../pipeline.ts';

/** The pipelines of load balancers: changes of one are kept apart where the API asks for it, those of two never are. */
export interface Pipelines {
  /** That of the load balancer with this id. */
  of(id: number): Pipeline;
  /** The load balancer is gone. */
  delete(id: number): void;
}

export function createPipelines(actions: Actions, clock: Clock): Pipelines {
  const pipelines = new Map<number, Pipeline>();
  return {
    of(id) {
      const known = pipelines.get(id);
      if (known !== undefined) return known;
      const pipeline = createPipeline({
        waitForAction: (action, signal) => actions.wait(action, { priority: 'loadBalancer', signal }),
        isLocked: err => classOf(err) === 'locked',
        clock,
      });
      pipelines.set(id, pipeline);
      return pipeline;
    },
    delete: id => void pipelines.delete(id),
  };
}

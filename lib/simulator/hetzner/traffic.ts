import { portsOf } from './lb-services.ts';
import { healthOf, isReachable } from './lb-targets.ts';
import { isShown } from './records.ts';
import type { World } from './world.ts';

/** What clients of a load balancer would notice. */

export interface TrafficOptions {
  /** Whether a target counts only once its health checks have succeeded. Default false: it has to be reachable. */
  readonly healthy?: boolean;
}

/** A span of time in which a port was not served; `to` is undefined while it lasts. */
export interface Gap {
  readonly port: number;
  readonly from: number;
  readonly to: number | undefined;
}

export interface TrafficWatch {
  /** Spans without service since the watch began, by port and time. */
  gaps(): Gap[];
  /** How often was looked: after each change of anything in the project. */
  readonly samples: number;
  stop(): void;
}

/** Whether there is a listener for the port and at least one target that takes what comes in. */
export function serves(
  world: World,
  id: number,
  port: number,
  at: number,
  { healthy = false }: TrafficOptions = {},
): boolean {
  const lb = world.loadBalancers.get(id);
  if (lb === undefined || !isShown(lb)) return false;
  const service = lb.services.find(one => isShown(one) && portsOf(one.config).includes(port));
  if (service === undefined) return false;
  return lb.targets.some(
    target =>
      isShown(target) &&
      (healthy ? healthOf(world, lb, service, target, at) === 'healthy' : isReachable(world, lb, target, at)),
  );
}

/** Looks at the ports now and after each change of the state until it is stopped. */
export function watchTraffic(
  world: World,
  at: number,
  id: number,
  ports: readonly number[],
  options: TrafficOptions,
): TrafficWatch {
  const gaps: Gap[] = [];
  let samples = 0;
  const look = (when: number): void => {
    samples += 1;
    for (const port of ports) {
      const open = gaps.findIndex(one => one.port === port && one.to === undefined);
      const found = gaps[open];
      const served = serves(world, id, port, when, options);
      if (served && found !== undefined) gaps[open] = { ...found, to: when };
      else if (!served && found === undefined) gaps.push({ port, from: when, to: undefined });
    }
  };
  look(at);
  world.watchers.add(look);
  return {
    gaps: () => [...gaps],
    get samples() {
      return samples;
    },
    stop: () => {
      world.watchers.delete(look);
    },
  };
}

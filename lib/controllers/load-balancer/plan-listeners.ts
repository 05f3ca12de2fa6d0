import type { LoadBalancer, ServiceBody } from '../../hetzner/lb-types.ts';
import type { DesiredLoadBalancer } from './desired.ts';
import { listenerDifference } from './listener-difference.ts';
import type { LoadBalancerChange } from './plan.ts';

export interface PlannedListeners {
  readonly stages: readonly LoadBalancerChange[][];
  /** Listen ports there is no room for. */
  readonly withoutRoom: readonly number[];
}

/**
 * New ports come before old ones go, unless those are in the way. Listeners that are there keep their place, so that the
 * choice is the same after a restart.
 */
export function planListeners(
  present: Pick<LoadBalancer, 'services' | 'type'>,
  { listeners, heldPorts }: Pick<DesiredLoadBalancer, 'listeners' | 'heldPorts'>,
  maxServices: number,
): PlannedListeners {
  const there = new Map(present.services.map(service => [service.listenPort, service]));
  const isThere = ({ listenPort }: ServiceBody): boolean => there.has(listenPort);
  const held = heldPorts.filter(port => there.has(port));
  const preferred = [...listeners.filter(isThere), ...listeners.filter(service => !isThere(service))];
  const chosen = preferred.slice(0, Math.max(0, maxServices - held.length));

  const add = chosen.filter(service => !isThere(service)).map(service => ({ kind: 'addService', service }) as const);
  const update = chosen.flatMap(service => {
    const now = there.get(service.listenPort);
    const difference = now && listenerDifference(service, now);
    return difference === undefined ? [] : [{ kind: 'updateService', service: difference } as const];
  });
  const stays = new Set([...held, ...chosen.map(({ listenPort }) => listenPort)]);
  const remove = present.services
    .filter(({ listenPort }) => !stays.has(listenPort))
    .map(({ listenPort }) => ({ kind: 'deleteService', listenPort }) as const);

  // A redirect takes port 80 on the load balancer as well.
  const redirects = chosen.some(service => service.http?.redirectHTTP === true);
  const adds80 = add.some(({ service }) => service.listenPort === 80);
  const noRoom = present.services.length + add.length > Math.min(maxServices, present.type.maxServices ?? maxServices);
  const isInTheWay = ({ listenPort }: { readonly listenPort: number }): boolean =>
    noRoom || (redirects && listenPort === 80) || (adds80 && there.get(listenPort)?.http?.redirectHTTP === true);
  return {
    stages: [remove.filter(isInTheWay), update, add, remove.filter(one => !isInTheWay(one))],
    withoutRoom: preferred.slice(chosen.length).map(({ listenPort }) => listenPort),
  };
}

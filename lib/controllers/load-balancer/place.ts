import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import type { LoadBalancerConfig } from './config.ts';
import { type Notice, warning } from './wanted.ts';

/** Says that a load balancer can't move to where the annotations of its Service want it; defaults are for new ones only. */
export function placeNotices(
  { listener: { location = '', 'network-zone': zone } }: Pick<LoadBalancerConfig, 'listener'>,
  present: LoadBalancer | undefined,
): Notice[] {
  if (present === undefined) return [];
  const [what, wanted, now] =
    location === '' ? ['network zone', zone, present.networkZone] : ['location', location, present.location];
  // A place may be given by its number, too, which the answer does not tell.
  if (wanted === undefined || wanted === now || now === '' || /^\d+$/.test(wanted)) return [];
  const text = `the load balancer stays in the ${what} ${now}, as none can move to ${wanted}: delete and create the Service to have one there`;
  return [warning('LoadBalancerNotMoved', text)];
}

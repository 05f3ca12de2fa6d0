import type { Cloud } from './cloud.ts';
import { readsOfCloud, readsOfLoadBalancers } from './fence.ts';
import type { Hetzner } from './hetzner.ts';
import type { LoadBalancers } from './load-balancers.ts';

/** The part of the Hetzner side that changes nothing. */
export interface HetznerReads
  extends Pick<
    Hetzner,
    'servers' | 'networks' | 'tokenSince' | 'loadBalancerSnapshot' | 'loadBalancerTypes' | 'certificateSnapshot'
  > {
  readonly cloud: Pick<Cloud, (typeof readsOfCloud)[number]>;
  readonly loadBalancers: Pick<LoadBalancers, (typeof readsOfLoadBalancers)[number]>;
}

const only = <T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.map(name => [name, from[name]])) as Pick<T, K>;

/** An object that has the reads and nothing else: what is not there can't be called, whatever the types say. */
export const readsOf = (hetzner: Hetzner): HetznerReads => ({
  ...only(hetzner, [
    'servers',
    'networks',
    'tokenSince',
    'loadBalancerSnapshot',
    'loadBalancerTypes',
    'certificateSnapshot',
  ]),
  cloud: only(hetzner.cloud, readsOfCloud),
  loadBalancers: only(hetzner.loadBalancers, readsOfLoadBalancers),
});

import type { Cloud } from './cloud.ts';
import type { LoadBalancers } from './load-balancers.ts';
import type { CallOptions } from './types.ts';

/** What changes nothing at Hetzner, and so may be called without the lease. All else is fenced, also what is new. */
export const readsOfCloud = [
  'listServers',
  'hasServer',
  'listNetworks',
  'findNetwork',
  'getNetwork',
  'getActions',
] as const;
export const readsOfLoadBalancers = ['list', 'get', 'listTypes', 'listCertificates', 'getCertificate'] as const;

/**
 * The same API, but no change is sent once `isValid` says no (design rule 9): a process that was paused past its
 * lease must not write when it wakes up, before its timers had a chance to tell it so. That is asked first and last of
 * all, as a change may wait for the budget in between. The options are the last argument of every function.
 */
const fenced = <T extends object>(api: T, reads: readonly (keyof T & string)[], isValid: () => boolean): T => {
  const check = (): void => {
    if (!isValid()) throw new Error('The lease is no longer ours: the change was not sent');
  };
  const fence = (call: (...args: unknown[]) => Promise<unknown>) => {
    return async (...args: unknown[]): Promise<unknown> => {
      check();
      return call(...args.slice(0, -1), { ...(args.at(-1) as CallOptions), check });
    };
  };
  const open: readonly string[] = reads;
  const entries = Object.entries(api).map(([name, call]) => [name, open.includes(name) ? call : fence(call)]);
  return Object.fromEntries(entries);
};

export const fencedCloud = (cloud: Cloud, isValid: () => boolean): Cloud => fenced(cloud, readsOfCloud, isValid);

/** Both, as they are part of the Hetzner side. */
export const fencedHetzner = (
  { cloud, loadBalancers }: { readonly cloud: Cloud; readonly loadBalancers: LoadBalancers },
  isValid: () => boolean,
): { readonly cloud: Cloud; readonly loadBalancers: LoadBalancers } => ({
  cloud: fencedCloud(cloud, isValid),
  loadBalancers: fencedLoadBalancers(loadBalancers, isValid),
});

export const fencedLoadBalancers = (loadBalancers: LoadBalancers, isValid: () => boolean): LoadBalancers =>
  fenced(loadBalancers, readsOfLoadBalancers, isValid);

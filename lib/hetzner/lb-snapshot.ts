import type { Clock } from '../streams/clock.ts';
import type { Certificate, LoadBalancer, LoadBalancerType } from './lb-types.ts';
import type { LoadBalancers } from './load-balancers.ts';
import { createSharedList, type SharedList, type SharedListTiming } from './shared-list.ts';
import type { CallOptions } from './types.ts';

/** One answered list of all load balancers of the project. */
export interface LoadBalancerList {
  /** Monotonic ms; the list speaks for this instant at the earliest. */
  readonly requestedAt: number;
  readonly loadBalancers: readonly LoadBalancer[];
}

/** All load balancers of the project. */
export type LoadBalancerSnapshot = SharedList<LoadBalancerList>;

export const createLoadBalancerSnapshot = ({
  api,
  ...timing
}: SharedListTiming & { readonly api: Pick<LoadBalancers, 'list'> }): LoadBalancerSnapshot =>
  createSharedList({
    ...timing,
    fetch: api.list,
    build: (loadBalancers, requestedAt): LoadBalancerList => ({ requestedAt, loadBalancers }),
  });

/** One answered list of all certificates of the project. */
export interface CertificateList {
  readonly requestedAt: number;
  readonly certificates: readonly Certificate[];
}

/** All certificates of the project. */
export const createCertificateSnapshot = ({
  api,
  ...timing
}: SharedListTiming & { readonly api: Pick<LoadBalancers, 'listCertificates'> }): SharedList<CertificateList> =>
  createSharedList({
    ...timing,
    fetch: api.listCertificates,
    build: (certificates, requestedAt): CertificateList => ({ requestedAt, certificates }),
  });

/** The types of load balancers, which change a few times in a year. */
export interface LoadBalancerTypes {
  /** Not older than an hour, unless Hetzner does not answer: then as known. */
  get(o: CallOptions): Promise<readonly LoadBalancerType[]>;
}

const hour = 3_600_000;

export const createLoadBalancerTypes = ({
  api,
  clock,
}: {
  readonly api: Pick<LoadBalancers, 'listTypes'>;
  readonly clock: Clock;
}): LoadBalancerTypes => {
  const shared = createSharedList({
    clock,
    fetch: api.listTypes,
    build: (types: readonly LoadBalancerType[]) => types,
  });
  return {
    get: async o => {
      try {
        return await shared.notBefore(clock.monotonic() - hour, o);
      } catch (err) {
        const known = shared.latest();
        if (known === undefined || o.signal.aborted) throw err;
        return known;
      }
    },
  };
};

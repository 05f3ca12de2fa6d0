import type { Dispatcher } from 'undici';
import type { Logger } from '../observability/logger.ts';
import type { Clock } from '../streams/clock.ts';
import { type Actions, createActions } from './actions.ts';
import { createBudget } from './budget.ts';
import { type Cloud, createCloud } from './cloud.ts';
import { bearer } from './credentials.ts';
import { createHetznerHTTP, type RequestReport } from './http.ts';
import {
  type CertificateList,
  createCertificateSnapshot,
  createLoadBalancerSnapshot,
  createLoadBalancerTypes,
  type LoadBalancerSnapshot,
  type LoadBalancerTypes,
} from './lb-snapshot.ts';
import { createLoadBalancerAPI, type LoadBalancers } from './load-balancers.ts';
import { createNetworks, type Networks } from './networks.ts';
import { reportRefusals } from './refusal.ts';
import { createCall } from './retry.ts';
import { createServers, type Servers } from './servers.ts';
import type { SharedList } from './shared-list.ts';
import { sinceChange } from './since-change.ts';

export interface HetznerDeps {
  readonly endpoint: string;
  readonly token: () => string;
  readonly debug: boolean;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dispatcher: Dispatcher;
  readonly hooks: {
    readonly onRequest: (report: RequestReport) => void;
    readonly onInFlight: (count: number) => void;
    readonly onBudget: (budget: { readonly remaining: number; readonly limit: number }) => void;
    readonly onLookup: (hit: boolean) => void;
    /** Each call of a function of the API, such as `cloud.addRoute`. */
    readonly onOperation: (name: string) => void;
    readonly onActions: (inFlight: number) => void;
    /** The token that was good is refused now, or (undefined) accepted again. */
    readonly onToken?: (refusal: unknown) => void;
  };
}

/** The Hetzner side of the process: one client, one budget, one list of servers and of load balancers, one poll for all actions. */
export interface Hetzner {
  readonly cloud: Cloud;
  readonly servers: Servers;
  readonly networks: Networks;
  /** Monotonic ms since which the present token is in use; -Infinity while it never changed. */
  readonly tokenSince: () => number;
  readonly loadBalancers: LoadBalancers;
  readonly loadBalancerSnapshot: LoadBalancerSnapshot;
  readonly loadBalancerTypes: LoadBalancerTypes;
  readonly certificateSnapshot: SharedList<CertificateList>;
  readonly actions: Actions;
  close(): Promise<void>;
}

export function createHetzner({ hooks, clock, logger, token, ...options }: HetznerDeps): Hetzner {
  const secret = sinceChange(token, text => text, clock);
  const budget = createBudget({ clock, logger, onChange: hooks.onBudget });
  const http = createHetznerHTTP({
    ...options,
    credentials: () => bearer(secret.read()),
    clock,
    logger,
    onRequest: hooks.onRequest,
    onInFlight: hooks.onInFlight,
    onHeaders: budget.observe,
  });
  const call = reportRefusals(createCall({ http, budget }), logger, hooks.onToken);
  const cloud = counted('cloud', createCloud({ call }), hooks.onOperation);
  const loadBalancers = counted('loadBalancers', createLoadBalancerAPI({ call }), hooks.onOperation);
  const actions = createActions({ cloud, clock });
  let waiting = 0;
  return {
    cloud,
    tokenSince: secret.since,
    servers: createServers({ cloud, clock, onLookup: hooks.onLookup }),
    networks: createNetworks({ cloud, clock }),
    loadBalancers,
    loadBalancerSnapshot: createLoadBalancerSnapshot({ api: loadBalancers, clock }),
    loadBalancerTypes: createLoadBalancerTypes({ api: loadBalancers, clock }),
    certificateSnapshot: createCertificateSnapshot({ api: loadBalancers, clock }),
    actions: {
      wait: (action, o) => {
        hooks.onActions(++waiting);
        return actions.wait(action, o).finally(() => hooks.onActions(--waiting));
      },
    },
    close: http.close,
  };
}

type Operations<T> = Readonly<Record<keyof T, (...args: never[]) => unknown>>;

/** The same functions; each call is told by its name. */
const counted = <T extends Operations<T>>(api: string, functions: T, onCall: (name: string) => void): T => {
  const entries = Object.entries<(...args: never[]) => unknown>(functions).map(([name, call]) => [
    name,
    (...args: never[]) => {
      onCall(`${api}.${name}`);
      return call(...args);
    },
  ]);
  return Object.fromEntries(entries) as T;
};

import type { Dispatcher } from 'undici';
import type { Logger } from '../observability/logger.ts';
import type { Clock } from '../streams/clock.ts';
import { type Actions, createActions } from './actions.ts';
import { createBudget } from './budget.ts';
import { type Cloud, createCloud } from './cloud.ts';
import { createHetznerHTTP, type RequestReport } from './http.ts';
import { createCall } from './retry.ts';
import { createServers, type Servers } from './servers.ts';

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
    readonly onActions: (inFlight: number) => void;
  };
}

/** The Hetzner side of the process: one client, one budget, one list of servers, one poll for all actions. */
export interface Hetzner {
  readonly cloud: Cloud;
  readonly servers: Servers;
  readonly actions: Actions;
  close(): Promise<void>;
}

export function createHetzner({ hooks, clock, logger, ...options }: HetznerDeps): Hetzner {
  const budget = createBudget({ clock, logger, onChange: hooks.onBudget });
  const http = createHetznerHTTP({
    ...options,
    clock,
    logger,
    onRequest: hooks.onRequest,
    onInFlight: hooks.onInFlight,
    onHeaders: budget.observe,
  });
  const cloud = createCloud({ call: createCall({ http, budget }) });
  const actions = createActions({ cloud, clock });
  let waiting = 0;
  return {
    cloud,
    servers: createServers({ cloud, clock, onLookup: hooks.onLookup }),
    actions: {
      wait: (action, o) => {
        hooks.onActions(++waiting);
        return actions.wait(action, o).finally(() => hooks.onActions(--waiting));
      },
    },
    close: http.close,
  };
}

import type { SchedulerLike } from 'rxjs';
import type { Dispatcher } from 'undici';
import type { Logger } from '../observability/logger.ts';
import { exponentialBackoff } from '../streams/backoff.ts';
import type { Clock } from '../streams/clock.ts';
import { basic } from './credentials.ts';
import { decoded } from './decoded.ts';
import { HetznerError, isNotFound } from './errors.ts';
import { createHetznerHTTP, type HetznerHTTPOptions } from './http.ts';
import { createRobotGate, type RobotEndpoint, type RobotGateOptions } from './robot-gate.ts';
import type { RobotLogin } from './robot-login.ts';
import {
  createRobotServerList,
  decodeOperatingStatus,
  decodeRobotServers,
  type RobotServerList,
} from './robot-server.ts';
import { createSharedList, type SharedList } from './shared-list.ts';
import { sinceChange } from './since-change.ts';
import type { CallOptions } from './types.ts';

export interface RobotOptions {
  readonly endpoint: string;
  /** Asked for each call. */
  readonly login: () => RobotLogin;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Stays open: it is shared with the Cloud API. */
  readonly dispatcher: Dispatcher;
  /** ms that a list serves those who read without a special need. */
  readonly cacheTimeout?: number | undefined;
  readonly rateLimitWaitTime?: number | undefined;
  /** ms between two lists, however urgent. */
  readonly minInterval?: number;
  readonly debug?: boolean;
  /** ms for one request. */
  readonly timeout?: number;
  readonly scheduler?: SchedulerLike;
  readonly onRequest?: HetznerHTTPOptions['onRequest'];
  readonly onLookup?: (hit: boolean) => void;
  readonly onLoginRefused?: RobotGateOptions['onLoginRefused'];
  readonly onLoginAccepted?: RobotGateOptions['onLoginAccepted'];
}

/** All dedicated servers of the account. While Robot must not be asked, only lists that are there already are given. */
export interface RobotServers extends SharedList<RobotServerList> {
  /** A list that is fresh enough to read from: not older than the cache time-out. */
  recent(o: CallOptions): Promise<RobotServerList>;
  /**
   * What `select` finds in a recent list; if that is nothing, what it finds in a list requested now (within 20 s of the
   * one before). For those to whom a missing server is bad news; others read `recent`, as a miss costs a request.
   */
  find<T>(select: (list: RobotServerList) => T | undefined, o: CallOptions): Promise<T | undefined>;
}

/** The Robot web service, as far as it is used. Everything rejects with a HetznerError or the signal's reason. */
export interface Robot {
  readonly servers: RobotServers;
  /** False only when Robot says that there is no such server. */
  hasServer(number: number, o: CallOptions): Promise<boolean>;
  /** Monotonic ms since which the present login is in use; -Infinity while it never changed. */
  readonly loginSince: () => number;
  /** True only when Robot says so; false also for models that cannot tell. */
  isShutOff(number: number, o: CallOptions): Promise<boolean>;
}

/** No retries: they would count against quota and logins, and whoever asks comes again. */
export const createRobot = (options: RobotOptions): Robot => {
  const { clock, logger, cacheTimeout = 300_000, minInterval = 20_000 } = options;
  const login = sinceChange(options.login, ({ user, password }) => `${user}:${password}`, clock);
  const gate = createRobotGate({
    login: login.read,
    clock,
    logger,
    rateLimitWaitTime: options.rateLimitWaitTime,
    onLoginRefused: options.onLoginRefused,
    onLoginAccepted: options.onLoginAccepted,
  });
  let current: RobotLogin = { user: '', password: '' };
  const http = createHetznerHTTP({
    api: 'robot',
    endpoint: options.endpoint,
    credentials: () => basic(current.user, current.password),
    userAgent: options.userAgent,
    clock,
    logger,
    dispatcher: options.dispatcher,
    ...(options.debug === undefined ? {} : { debug: options.debug }),
    ...(options.timeout === undefined ? {} : { timeout: options.timeout }),
    ...(options.onRequest === undefined ? {} : { onRequest: options.onRequest }),
  });
  const untilAnswered = new AbortController().signal;
  const get = (endpoint: RobotEndpoint, path: string, { signal }: CallOptions): Promise<unknown> =>
    gate.run(endpoint, signal, admitted => {
      current = admitted;
      return http.request({ method: 'GET', path }, untilAnswered);
    });

  const fetch = async (o: CallOptions) => {
    try {
      return decoded('GET', '/server', decodeRobotServers, await get('server', '/server', o), 'robot');
    } catch (err) {
      // How Robot says that the account has no servers.
      if (isNotFound(err)) return [];
      throw err;
    }
  };
  const backoff = exponentialBackoff({ initial: 5_000, max: 60_000, jitter: 'equal' });
  const list = createSharedList({
    fetch,
    build: createRobotServerList,
    clock,
    minInterval,
    errorHoldOff: failures => backoff(failures - 1),
    ...(options.scheduler === undefined ? {} : { scheduler: options.scheduler }),
    ...(options.onLookup === undefined ? {} : { onLookup: options.onLookup }),
  });

  const notBefore = async (instant: number, o: CallOptions): Promise<RobotServerList> => {
    const newest = list.latest();
    if (newest === undefined || newest.requestedAt < instant) gate.check('server');
    return list.notBefore(instant, o);
  };
  const recent = (o: CallOptions): Promise<RobotServerList> => notBefore(clock.monotonic() - cacheTimeout, o);

  return {
    servers: {
      ...list,
      notBefore,
      recent,
      find: async (select, o) => {
        const startedAt = clock.monotonic();
        return select(await recent(o)) ?? select(await notBefore(startedAt, o));
      },
    },
    hasServer: async (number, o) => {
      const path = `/server/${number}`;
      try {
        const answer = await get('server', path, o);
        return decoded('GET', path, json => decodeRobotServers([json]), answer, 'robot').length === 1;
      } catch (err) {
        if (isNotFound(err)) return false;
        throw err;
      }
    },
    loginSince: login.since,
    isShutOff: async (number, o) => {
      const path = `/reset/${number}`;
      try {
        const answer = await get('reset', path, o);
        return decoded('GET', path, decodeOperatingStatus, answer, 'robot') === 'shut off';
      } catch (err) {
        if (err instanceof HetznerError && err.code === 'RESET_NOT_AVAILABLE') return false;
        throw err;
      }
    },
  };
};

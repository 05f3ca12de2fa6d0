import { from } from 'rxjs';
import type { Logger } from '../observability/logger.ts';
import type { Clock } from '../streams/clock.ts';
import { firstValue } from '../streams/first-value.ts';
import { createBucket } from './bucket.ts';
import { classOf, HetznerError, isRecord } from './errors.ts';
import type { RobotLogin } from './robot-login.ts';

/** Calls that share a quota at Robot; it counts each for the whole account, whoever sends them. */
export type RobotEndpoint = 'server' | 'reset';

export interface RobotGateOptions {
  readonly login: () => RobotLogin;
  readonly clock: Clock;
  readonly logger: Logger;
  /** ms to send nothing after a rate-limit answer; undefined: what the answer asks for. */
  readonly rateLimitWaitTime?: number | undefined;
  /** Robot refused the login; nothing is sent for the next `pause` ms unless the login changes. */
  readonly onLoginRefused?: ((err: HetznerError, pause: number) => void) | undefined;
  /** Robot accepted a login after it had refused one. */
  readonly onLoginAccepted?: (() => void) | undefined;
}

/** Decides whether a call may be sent to Robot, which punishes harder than the Cloud API does. */
export interface RobotGate {
  /** Throws while Robot must not be asked at all, with a HetznerError that names the instant when it may be. */
  check(endpoint: RobotEndpoint): void;
  /**
   * Runs `task`, one HTTP request, in its turn. Rejects like `check`, and when our share of the quota is used up. The signal
   * lets the caller leave, but the request goes on to its end: what it says about the login must be known.
   */
  run<T>(endpoint: RobotEndpoint, signal: AbortSignal, task: (login: RobotLogin) => Promise<T>): Promise<T>;
}

/** After a failed login nothing is sent for this long, in ms, unless the login changes. */
const loginPause = 900_000;
/** Robot blocks the address at the third failed login; a changed login is worth one more try, not two. */
const failuresAllowed = 2;
const defaultWait = 300_000;
const longestWait = 600_000;
/**
 * Requests an hour and at once that we allow ourselves. An hour can see twice as many (a full bucket and its refill):
 * 160 of the 200 that Robot allows for servers, 400 of 500 for resets; the rest is for other users of the account.
 */
const share: Readonly<Record<RobotEndpoint, number>> = { server: 80, reset: 200 };

type Refusal = { readonly status: number; readonly code: string };
const unauthorized: Refusal = { status: 401, code: 'UNAUTHORIZED' };
const limited: Refusal = { status: 403, code: 'RATE_LIMIT_EXCEEDED' };

/**
 * - One call at a time: a wrong password must cost one failed login, however many calls are wanted.
 * - After a 401 nothing is sent until the login changes, or for 15 minutes, then a single call. Never are there three
 *   failed logins within 15 minutes, since Robot would block the address, for all its other users too.
 * - After a rate-limit answer nothing is sent for a while, to none of the endpoints.
 */
export const createRobotGate = (options: RobotGateOptions): RobotGate => {
  const { login, clock, logger, rateLimitWaitTime } = options;
  const startedAt = clock.monotonic();
  const buckets = {
    server: createBucket(share.server, 0, startedAt),
    reset: createBucket(share.reset, 0, startedAt),
  };
  let turn: Promise<unknown> = Promise.resolve();
  /** Instants of the failed logins of the last `loginPause`. */
  let failures: readonly number[] = [];
  let refused: RobotLogin | undefined;
  let pausedUntil = Number.NEGATIVE_INFINITY;

  const tooEarly = (endpoint: RobotEndpoint, fault: Refusal, why: string, wait: number): HetznerError => {
    const at = new Date(clock.now() + Math.ceil(wait)).toISOString();
    const message = `Robot is not asked before ${at}: ${why}`;
    return new HetznerError({ api: 'robot', ...fault, message, method: 'GET', route: `/${endpoint}`, sent: false });
  };

  const admit = (endpoint: RobotEndpoint): RobotLogin => {
    const now = clock.monotonic();
    const current = login();
    failures = failures.filter(failure => now - failure < loginPause);
    const isNew = refused?.user !== current.user || refused.password !== current.password;
    const decisive = failures.at(isNew ? -failuresAllowed : -1);
    if (decisive !== undefined) {
      const why = isNew
        ? 'it refused several logins, one more would block this address'
        : 'it refused the login (ROBOT_USER, ROBOT_PASSWORD); a changed one is tried sooner';
      throw tooEarly(endpoint, unauthorized, why, decisive + loginPause - now);
    }
    if (now < pausedUntil)
      throw tooEarly(endpoint, limited, 'it answered that its rate limit is reached', pausedUntil - now);
    return current;
  };

  const spend = (endpoint: RobotEndpoint): void => {
    const now = clock.monotonic();
    const wait = buckets[endpoint].waitFor(now, 0);
    if (wait > 0) throw tooEarly(endpoint, limited, `our share of its quota for /${endpoint} is used up`, wait);
    buckets[endpoint].take(now);
  };

  const learn = (err: HetznerError | undefined, current: RobotLogin): void => {
    if (err !== undefined && classOf(err) === 'unauthorized') {
      failures = [...failures, clock.monotonic()];
      refused = current;
      const hint = 'correct the login; three refused ones would block this address for all who use Robot from it';
      logger.error('Stopped asking Robot, which refused the login', {
        setting: 'ROBOT_PASSWORD',
        after: loginPause,
        hint,
        err,
      });
      options.onLoginRefused?.(err, loginPause);
      return;
    }
    // A proxy's answer, or none, says nothing about the login.
    const accepted = err === undefined || (err.status > 0 && !err.code.startsWith('http_'));
    if (accepted && refused !== undefined) {
      refused = undefined;
      logger.info('Logged in to Robot again');
      options.onLoginAccepted?.();
    }
    if (err === undefined || classOf(err) !== 'rateLimited') return;
    const after = rateLimitWaitTime ?? waitOf(err);
    pausedUntil = clock.monotonic() + after;
    logger.warn('Paused requests to Robot, its rate limit is reached', { after, err });
  };

  const once = async <T>(
    endpoint: RobotEndpoint,
    signal: AbortSignal,
    task: (login: RobotLogin) => Promise<T>,
  ): Promise<T> => {
    signal.throwIfAborted();
    const current = admit(endpoint);
    spend(endpoint);
    try {
      const value = await task(current);
      learn(undefined, current);
      return value;
    } catch (err) {
      if (err instanceof HetznerError) learn(err, current);
      throw err;
    }
  };

  return {
    check: endpoint => {
      admit(endpoint);
    },
    run: (endpoint, signal, task) => {
      const result = turn.then(() => once(endpoint, signal, task));
      turn = result.catch(() => {});
      return firstValue(from(result), signal);
    },
  };
};

/** ms that a rate-limit answer asks to wait: its interval, which is the length of the quota's window, within bounds. */
const waitOf = ({ details }: HetznerError): number => {
  const seconds = isRecord(details) ? Number(details.interval) : Number.NaN;
  return seconds > 0 ? Math.min(seconds * 1_000, longestWait) : defaultWait;
};

import Bottleneck from 'bottleneck/light.js';
import { BehaviorSubject, distinctUntilChanged, type Observable } from 'rxjs';
import type { Logger } from '../observability/logger.ts';
import type { Clock } from '../streams/clock.ts';
import { createBucket } from './bucket.ts';
import { HetznerError } from './errors.ts';
import type { RateLimit } from './http.ts';
import { floorOf, type Level, levelOf, patienceOf } from './priority-level.ts';
import type { CallOptions } from './types.ts';

export interface BudgetOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Requests an hour until the first answer says otherwise. */
  readonly limit?: number;
  /** Requests under way at once. */
  readonly concurrency?: number;
  /** Share of the limit below which periodic work waits; load balancers at half of it, routes at a tenth. */
  readonly reserve?: number;
  readonly onChange?: (state: { readonly remaining: number; readonly limit: number }) => void;
  /** In [0, 1). */
  readonly random?: () => number;
}

/** The requests left at one API token, and who may send the next. */
export interface Budget {
  /** Runs `task`, one HTTP request, as soon as the budget allows. Rejects with the signal's reason while it waits. */
  run<T>(o: CallOptions, task: () => Promise<T>): Promise<T>;
  /** Keeps the budget in step with the RateLimit headers of an answer. */
  observe(headers: RateLimit): void;
  /** A request was refused with 429. To be called before the task of `run` ends. */
  throttled(): void;
  remaining(): number;
  readonly remaining$: Observable<number>;
}

interface Ticket {
  level: Level;
  /** Monotonic ms at which it came to its level. */
  since: number;
  /** Grows when the ticket is queued anew; older entries in the queue are void. */
  entry: number;
  waiting: boolean;
  readonly begin: () => Promise<void>;
}

const firstPause = 3_000;
const longestPause = 60_000;
/** What was known longer ago than this is checked with a single request before several are sent. */
const knowledgeAge = 60_000;
/** How long that single request may hold up the others. */
const checkPatience = 1_000;

/**
 * One budget per API token (design rule 5).
 *
 * Who decides what: the bucket mirrors Hetzner's quota; `pump` hands out one permit for each request that may be sent
 * now; bottleneck queues the calls by priority and starts the first for each permit (its reservoir counts permits, it has
 * no refill of its own). So there is no heartbeat: a single timer runs only while a call waits for tokens. A ticket that
 * moved up or was given up leaves a void entry in bottleneck's queue, which gives its permit back.
 *
 * After a 429 nothing is sent for 3 s, doubling up to 60 s, then a single request finds out whether there is quota
 * again. It does not sleep until RateLimit-Reset: that is when the quota will be full, up to an hour later.
 */
export const createBudget = (options: BudgetOptions): Budget => {
  const { clock, logger, limit = 3_600, concurrency = 8, reserve = 0.1, random = Math.random } = options;
  const now = (): number => clock.monotonic();
  const bucket = createBucket(limit, concurrency, now());
  const tickets = new Set<Ticket>();
  const remainingSubject = new BehaviorSubject(limit);
  let limiter = new Bottleneck({ maxConcurrent: concurrency, reservoir: 0 });
  let timer: NodeJS.Timeout | undefined;
  let permits = 0;
  let inFlight = 0;
  /** Monotonic ms until which nothing is sent. */
  let pausedUntil = 0;
  /** Refused requests in a row; while it is not 0, requests go out one by one. */
  let refusals = 0;
  /** Refused requests ever, tells a task whether it was refused itself. */
  let refused = 0;
  let heardAt = Number.NEGATIVE_INFINITY;
  let checkedSince = Number.NEGATIVE_INFINITY;
  let low = false;

  const publish = (): void => {
    const remaining = Math.max(0, Math.floor(bucket.tokens(now())));
    if (remaining === remainingSubject.value) return;
    remainingSubject.next(remaining);
    options.onChange?.({ remaining, limit: bucket.limit() });
    const full = bucket.limit();
    if (!low && remaining < full * reserve) {
      low = true;
      logger.warn('Held back periodic work, Hetzner quota ran low', { budgetRemaining: remaining, budgetLimit: full });
    } else if (low && remaining > full * reserve * 1.5) {
      low = false;
      logger.info('Resumed periodic work', { budgetRemaining: remaining, budgetLimit: full });
    }
  };

  /** ms until a call of this level may be sent. */
  const waitOf = (level: Level, at: number): number =>
    Math.max(pausedUntil - at, bucket.waitFor(at, floorOf(level, bucket.limit(), reserve)));

  const enqueue = (ticket: Ticket): void => {
    const entry = ++ticket.entry;
    void limiter.schedule({ priority: ticket.level }, async () => {
      permits -= 1;
      bucket.refund(now());
      // The permit may have been meant for a more urgent call that was still on its way into the queue, or a 429 came.
      const mayStart = ticket.waiting && ticket.entry === entry;
      if (mayStart && waitOf(ticket.level, now()) <= 0) {
        bucket.take(now());
        return ticket.begin();
      }
      if (mayStart) enqueue(ticket);
      return pump();
    });
  };

  const moveUp = (at: number): void => {
    for (const ticket of tickets) {
      const before = ticket.level;
      while (at - ticket.since >= patienceOf(ticket.level)) {
        ticket.since += patienceOf(ticket.level);
        ticket.level = (ticket.level - 1) as Level;
      }
      if (ticket.level !== before) enqueue(ticket);
    }
  };

  /** The call has become more urgent, maybe before it is queued. */
  const raise = (ticket: Ticket, level: Level): void => {
    if (level >= ticket.level) return;
    [ticket.level, ticket.since] = [level, now()];
    if (!tickets.has(ticket)) return;
    enqueue(ticket);
    pump();
  };

  /** Level of the first ticket that has no permit yet. */
  const nextLevel = (): Level => {
    const sorted = [...tickets].map(ticket => ticket.level).sort((a, b) => a - b);
    return sorted[permits] ?? levelOf('refresh');
  };

  const nextMove = (at: number): number => {
    let first = Number.POSITIVE_INFINITY;
    for (const ticket of tickets) first = Math.min(first, ticket.since + patienceOf(ticket.level) - at);
    return first;
  };

  /** Requests that may be under way now, and for how many ms that holds. */
  const width = (at: number): { readonly width: number; readonly lasts: number } => {
    if (refusals > 0) return { width: 1, lasts: Number.POSITIVE_INFINITY };
    if (at - heardAt < knowledgeAge) return { width: concurrency, lasts: Number.POSITIVE_INFINITY };
    if (inFlight + permits === 0) checkedSince = at;
    const left = checkedSince + checkPatience - at;
    return left > 0 ? { width: 1, lasts: left } : { width: concurrency, lasts: Number.POSITIVE_INFINITY };
  };

  const pump = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const at = now();
    moveUp(at);
    while (tickets.size > permits) {
      const allowed = width(at);
      const slotFree = inFlight + permits < allowed.width;
      const wait = slotFree ? waitOf(nextLevel(), at) : allowed.lasts;
      if (wait > 0) {
        // A finished request pumps too, so waiting for a slot needs no timer.
        const delay = Math.min(wait, slotFree ? nextMove(at) : Number.POSITIVE_INFINITY);
        if (delay !== Number.POSITIVE_INFINITY) timer = setTimeout(pump, Math.max(1, Math.ceil(delay)));
        break;
      }
      bucket.take(at);
      permits += 1;
      void limiter.incrementReservoir(1);
    }
    publish();
  };

  const run = <T>(o: CallOptions, task: () => Promise<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const { signal } = o;
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const leave = (): void => {
        ticket.waiting = false;
        tickets.delete(ticket);
        raises?.unsubscribe();
        signal.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        leave();
        // Void entries would pile up in a queue that nobody waits in: start with an empty one.
        if (tickets.size === 0 && permits === 0) limiter = new Bottleneck({ maxConcurrent: concurrency, reservoir: 0 });
        reject(signal.reason);
        pump();
      };
      const begin = async (): Promise<void> => {
        leave();
        inFlight += 1;
        const refusedBefore = refused;
        let heard = true;
        try {
          resolve(await task());
        } catch (err) {
          // Without an answer nothing is known about the quota.
          heard = err instanceof HetznerError && err.status > 0;
          reject(err);
        }
        inFlight -= 1;
        if (heard && refused === refusedBefore) answered();
        pump();
      };
      const ticket: Ticket = { level: levelOf(o.priority), since: now(), entry: 0, waiting: true, begin };
      const raises = o.raised$?.subscribe(priority => raise(ticket, levelOf(priority)));
      signal.addEventListener('abort', onAbort);
      tickets.add(ticket);
      enqueue(ticket);
      pump();
    });

  const answered = (): void => {
    heardAt = now();
    if (refusals === 0) return;
    refusals = 0;
    logger.info('Resumed requests to Hetzner', { budgetRemaining: remaining(), budgetLimit: bucket.limit() });
  };

  const throttled = (): void => {
    const at = now();
    refused += 1;
    bucket.drain(at);
    // Requests that were under way together are refused together: that is one refusal.
    if (at >= pausedUntil) {
      const after = Math.round(Math.min(longestPause, firstPause * 2 ** refusals) * (0.75 + random() / 4));
      refusals += 1;
      pausedUntil = at + after;
      const fields = { after, attempt: refusals, budgetLimit: bucket.limit() };
      if (refusals === 1) logger.warn('Paused requests to Hetzner, quota was used up', fields);
      else logger.debug('Prolonged the pause of requests to Hetzner', fields);
    }
    pump();
  };

  const remaining = (): number => Math.max(0, Math.floor(bucket.tokens(now())));

  return {
    run,
    throttled,
    remaining,
    observe: headers => {
      bucket.observe(now(), headers, Math.max(0, inFlight - 1 + permits));
      publish();
    },
    remaining$: remainingSubject.pipe(distinctUntilChanged()),
  };
};

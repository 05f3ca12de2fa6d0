import type { Budget } from './budget.ts';
import { classOf, HetznerError } from './errors.ts';
import type { HetznerHTTP, HetznerRequest } from './http.ts';
import { pause } from './pause.ts';
import type { CallOptions } from './types.ts';

/** One call to Hetzner, within the budget and with its retries. Rejects with a HetznerError or the signal's reason. */
export type Call = (request: HetznerRequest, o: CallOptions) => Promise<unknown>;

export interface CallerOptions {
  readonly http: HetznerHTTP;
  readonly budget: Budget;
  /** ms; the n-th retry waits a random part of `baseDelay * 2^(n-1)`. */
  readonly baseDelay?: number;
  /** In [0, 1). */
  readonly random?: () => number;
}

const tries = 3;
/** Only calls that the budget sends ahead to look for quota are refused, so this many means minutes. */
const refusalsAllowed = 5;

/**
 * The one place with retries.
 * - Refused with 429: nothing was done; goes again when the budget lets it.
 * - No answer, 5xx, half an answer: a GET is tried three times. A write only when it certainly was not sent: after a
 *   time-out nobody knows whether it was carried out, so the error surfaces and the caller reads the state again.
 * - Locked, conflict: not here. Who changes the resource knows what else is in its queue.
 */
export const createCall =
  ({ http, budget, baseDelay = 1_000, random = Math.random }: CallerOptions): Call =>
  async (request, o) => {
    const once = async (): Promise<unknown> => {
      o.check?.();
      try {
        return await http.request(request, o.signal);
      } catch (err) {
        if (classOf(err) === 'rateLimited') budget.throttled();
        throw err;
      }
    };
    for (let failures = 0, refusals = 0; ; ) {
      try {
        return await budget.run(o, once);
      } catch (err) {
        if (!(err instanceof HetznerError)) throw err;
        if (classOf(err) === 'rateLimited') {
          refusals += 1;
          if (refusals > refusalsAllowed) throw err;
          continue;
        }
        failures += 1;
        if (failures >= tries || !mayTryAgain(request, err)) throw err;
      }
      await pause(random() * baseDelay * 2 ** (failures - 1), o.signal);
    }
  };

const mayTryAgain = (request: HetznerRequest, err: HetznerError): boolean =>
  classOf(err) === 'transient' && (request.method === 'GET' || !err.sent);

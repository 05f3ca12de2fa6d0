import { createHash } from 'node:crypto';
import type { Exchanger } from '../../lib/simulator/kubernetes/dispatcher.ts';
import type { Numbers } from './random.ts';

/**
 * Our stand-in for a race detector: a seed decides which of two things that are due comes first. Timers of one instant are
 * permuted by virtual time (`order`); requests, answers and watch events come later by amounts of their own, so that they
 * overtake those of other connections. What one connection brings stays in its order.
 */
export interface Interleaving {
  /** Decides about jitter, too. */
  readonly random: Numbers;
  /** Stands between a controller and the API that answers it. */
  between(api: 'kubernetes' | 'hetzner', exchanger: Exchanger): Exchanger;
}

/** What happened, in its order, as one number: two runs of one seed have the same. */
export interface Trace {
  note(what: string): void;
  digest(): string;
}

/** Identities that the fakes make up anew in each run. */
const madeUp = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\ba[0-9a-f]{31}\b/g;

export const createTrace = (now: () => number): Trace => {
  const hash = createHash('sha256');
  let lines = 0;
  return {
    note: what => {
      lines += 1;
      hash.update(`${now()} ${what.replaceAll(madeUp, '')}\n`);
    },
    digest: () => `${lines} ${hash.copy().digest('hex').slice(0, 16)}`,
  };
};

/** Delays requests on their way there, and each part of their answers on its way back: mostly hardly, at times for long. */
export const interleaved = (inner: Exchanger, random: Numbers, { note }: Pick<Trace, 'note'>): Exchanger => {
  const delay = (): number => {
    const sort = random.next();
    return random.upTo(sort < 0.6 ? 4 : sort < 0.95 ? 60 : 1_500);
  };
  return {
    exchange: (request, answer) => {
      const name = `${request.method} ${request.url}`;
      const parts: (() => void)[] = [];
      let isGone = false;
      let leave = (): void => {};
      const later = (what: string, deliver: () => void): void => {
        parts.push(() => {
          note(`< ${what} ${name}`);
          deliver();
        });
        setTimeout(() => {
          if (!isGone) parts.shift()?.();
        }, delay());
      };
      setTimeout(() => {
        if (isGone) return;
        note(`> ${name}`);
        leave = inner.exchange(request, {
          start: (status, headers) => later(`${status}`, () => answer.start(status, headers)),
          write: chunk => later('part', () => answer.write(chunk)),
          end: () => later('end', answer.end),
          reset: () => later('reset', answer.reset),
        });
      }, delay());
      return () => {
        isGone = true;
        leave();
      };
    },
  };
};

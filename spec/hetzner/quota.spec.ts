import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBudget } from '../../lib/hetzner/budget.ts';
import type { HetznerRequest } from '../../lib/hetzner/http.ts';
import { createCall } from '../../lib/hetzner/retry.ts';
import type { Priority } from '../../lib/hetzner/types.ts';
import { calling, memoryLogger, refusal, virtualClock, virtualTime } from './support.ts';

/** Hetzner's bucket as it is, with other users: empty until `emptyFor` has passed, then refilled by one a second. */
const quota = (emptyFor: number, others: () => number) => {
  const startedAt = Date.now();
  let tokens = 0;
  let at = startedAt + emptyFor;
  return {
    take: (): boolean => {
      const now = Date.now();
      if (now > at) {
        tokens = Math.min(3600, tokens + (now - at) / 1_000 - others() * ((now - at) / 1_000));
        at = now;
      }
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    remaining: () => Math.max(0, Math.floor(tokens)),
  };
};

for (const { name, share } of [
  { name: 'alone', share: 0 },
  { name: 'while others use half of what comes back', share: 0.5 },
]) {
  describe(`an empty quota, ${name}`, () => {
    it('costs fewer than 8 requests in its minute and fewer than 10 refused later; joining nodes come first', async t => {
      const time = virtualTime(t);
      const startedAt = Date.now();
      const budget = createBudget({ clock: virtualClock, logger: memoryLogger(), random: () => 0.5 });
      const server = quota(60_000, () => share);
      const log: { readonly at: number; readonly ok: boolean; readonly path: string }[] = [];
      const http = {
        request: async ({ path }: HetznerRequest) => {
          await new Promise(resolve => setTimeout(resolve, 20));
          const ok = server.take();
          log.push({ at: Date.now() - startedAt, ok, path });
          budget.observe({ limit: 3600, remaining: server.remaining(), reset: undefined });
          if (!ok) throw refusal();
          return {};
        },
        close: async () => {},
      };
      const call = createCall({ http, budget });
      // Three nodes: a list, a route, its action. Six load balancers: a read, a POST, two looks at its actions.
      const work = async (priority: Priority, paths: readonly string[]) => {
        for (const path of paths) {
          for (;;) {
            const err = await call({ method: 'POST', path }, calling(priority)).then(
              () => undefined,
              failure => failure,
            );
            if (err === undefined) break;
          }
        }
      };
      const nodes = Array.from({ length: 3 }, (_, i) =>
        work('initialise', [`/node/${i}`, `/route/${i}`, `/action/${i}`]),
      );
      const balancers = Array.from({ length: 6 }, (_, i) =>
        work('loadBalancer', [`/read/${i}`, `/lb/${i}`, `/poll/${i}`, `/again/${i}`]),
      );
      await time.until(Promise.all([...nodes, ...balancers]), 5);

      const during = log.filter(({ at }) => at < 60_000);
      const refusedLater = log.filter(({ at, ok }) => at >= 60_000 && !ok);
      assert.ok(during.length < 8, `${during.length} requests while empty`);
      assert.ok(refusedLater.length < 10, `${refusedLater.length} refused later`);
      const order = log.filter(({ ok }) => ok).map(({ path }) => path.split('/')[1]);
      assert.ok(order.lastIndexOf('node') < order.indexOf('lb'), order.join());
      assert.ok(Date.now() - startedAt < 240_000, `complete after ${Date.now() - startedAt} ms`);
      t.diagnostic(
        `${during.length} while empty, ${refusedLater.length} refused later, complete after ${Date.now() - startedAt} ms`,
      );
    });
  });
}

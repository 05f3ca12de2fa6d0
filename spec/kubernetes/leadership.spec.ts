import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Subscription } from 'rxjs';
import type { KubeClient } from '../../lib/kubernetes/client.ts';
import { createLeadership, type Leadership } from '../../lib/kubernetes/leadership.ts';
import type { Term } from '../../lib/kubernetes/term.ts';
import { type Clock, systemClock } from '../../lib/streams/clock.ts';
import { type LeaseServer, leaseServer } from './lease-server.ts';
import { clientOf, recordingLogger } from './support.ts';

const settings = {
  enabled: true,
  leaseDuration: 1000,
  renewDeadline: 400,
  retryPeriod: 60,
  resourceName: 'ccm',
  resourceNamespace: 'kube-system',
};

interface Contender {
  readonly leadership: Leadership;
  readonly logger: ReturnType<typeof recordingLogger>;
  readonly client: KubeClient;
  readonly subscription: Subscription;
  readonly seen: (Term | undefined)[];
  /** How often its loops turned, and who it said holds the lease. */
  turns(): number;
  readonly others: string[];
  /** The next thing `term$` says. */
  next(): Promise<Term | undefined>;
  /** The next term. */
  term(): Promise<Term>;
  completed: boolean;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve());
  });

describe('leadership', () => {
  let server: LeaseServer;
  let contenders: Contender[] = [];

  beforeEach(async () => {
    server = await leaseServer();
  });
  afterEach(async () => {
    server.mode = 'up';
    for (const { subscription, leadership, client } of contenders) {
      subscription.unsubscribe();
      await leadership.release();
      await client.close();
    }
    contenders = [];
    await server.close();
  });

  const contend = (identity: string, clock: Clock = systemClock, more: Partial<typeof settings> = {}): Contender => {
    const logger = recordingLogger();
    const client = clientOf(server);
    let turns = 0;
    const others: string[] = [];
    const leadership = createLeadership({
      client,
      clock,
      settings: { ...settings, ...more },
      identity,
      logger,
      releaseTimeout: 300,
      onTurn: () => {
        turns += 1;
      },
      onOther: holder => others.push(holder),
    });
    const seen: (Term | undefined)[] = [];
    let waiting: ((term: Term | undefined) => void)[] = [];
    const next = (): Promise<Term | undefined> => new Promise(resolve => waiting.push(resolve));
    const contender: Contender = {
      leadership,
      logger,
      client,
      seen,
      turns: () => turns,
      others,
      next,
      term: async () => {
        for (;;) {
          const term = await next();
          if (term !== undefined) return term;
        }
      },
      completed: false,
      subscription: leadership.term$.subscribe({
        next: term => {
          seen.push(term);
          const resolves = waiting;
          waiting = [];
          for (const resolve of resolves) resolve(term);
        },
        complete: () => {
          contender.completed = true;
        },
      }),
    };
    contenders.push(contender);
    return contender;
  };
  const holder = () => server.lease?.spec.holderIdentity;
  const puts = () => server.server.seen.filter(seen => seen.method === 'PUT');
  /** Resolves at the `n`th renewal from now. */
  const renewals = (n: number): Promise<void> =>
    new Promise(resolve => {
      let left = n;
      server.onPut = () => {
        left -= 1;
        if (left === 0) resolve();
        return false;
      };
    });

  it('creates the lease, leads, and renews it by one PUT each', async () => {
    const term = await contend('a').term();
    assert.equal(term.identity, 'a');
    assert.equal(term.isValid(), true);
    await renewals(3);
    const methods = server.server.seen.map(seen => seen.method).slice(0, 5);
    assert.deepEqual(methods, ['GET', 'POST', 'PUT', 'PUT', 'PUT']);
    const spec = JSON.parse(puts()[1]?.body ?? '').spec;
    assert.match(spec.renewTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.notEqual(spec.renewTime, spec.acquireTime);
    assert.equal(spec.leaseDurationSeconds, 1);
  });

  it('outlives the renew deadline as long as renewals come through', async () => {
    const a = contend('a');
    const term = await a.term();
    await renewals(10);
    assert.equal(term.isValid(), true);
    assert.deepEqual(a.seen, [term]);
  });

  it('has one leader of two, and hands over at once when he releases', async () => {
    const slow = { retryPeriod: 500, renewDeadline: 900 };
    const [a, b] = [contend('a', systemClock, slow), contend('b', systemClock, slow)];
    const first = await Promise.race([a.term().then(() => a), b.term().then(() => b)]);
    const second = first === a ? b : a;
    await renewals(1);
    assert.deepEqual(second.seen, []);
    const taken = second.term();
    const started = performance.now();
    await first.leadership.release();
    assert.equal(first.seen[0]?.signal.aborted, true);
    assert.equal(first.seen[0]?.isValid(), false);
    await taken;
    assert.ok(performance.now() - started < 300, 'sooner than the shortest retry period');
    assert.deepEqual([first.seen.at(-1), first.completed], [undefined, true]);
    assert.equal(server.lease?.spec.leaseTransitions, 1);
  });

  it('ends the term and releases the lease when it is unsubscribed', async () => {
    const a = contend('a');
    const term = await a.term();
    a.subscription.unsubscribe();
    assert.equal(term.signal.aborted, true);
    await server.heldBy('');
    assert.equal(server.lease?.spec.leaseDurationSeconds, 1);
  });

  it('releases after a renewal whose answer was lost', async () => {
    const a = contend('a');
    await a.term();
    const lost = new Promise<void>(resolve => {
      server.onPut = () => {
        server.onPut = undefined;
        resolve();
        return true;
      };
    });
    await lost;
    await a.leadership.release();
    assert.equal(holder(), '');
  });

  it('does not release a lease that another has taken', async () => {
    const a = contend('a');
    await a.term();
    server.edit({ holderIdentity: 'b' });
    await a.leadership.release();
    assert.equal(holder(), 'b');
  });

  it('gives the release up in time when the API server is away', async () => {
    const a = contend('a');
    await a.term();
    server.mode = 'hang';
    const started = performance.now();
    await a.leadership.release();
    assert.ok(performance.now() - started < 600);
    assert.equal(a.completed, true);
  });

  it('follows by polling where it may not watch the lease', async () => {
    server.watchAllowed = false;
    const a = contend('a');
    await a.term();
    const b = contend('b');
    const taken = b.term();
    await renewals(2);
    await a.leadership.release();
    await taken;
    assert.equal(holder(), 'b');
    const warnings = b.logger.lines.filter(line => line.level === 'warn').map(line => line.msg);
    assert.deepEqual(warnings, ['Was not allowed to watch the lease']);
  });

  it('makes no request while it follows a leader whose lease it watches', async () => {
    const a = contend('a');
    await a.term();
    const b = contend('b');
    await renewals(3);
    const before = server.server.seen.filter(seen => seen.method === 'GET').length;
    await renewals(3);
    assert.equal(server.server.seen.filter(seen => seen.method === 'GET').length, before);
    assert.deepEqual(b.seen, []);
  });

  it('goes on turning, without a request, while it follows a holder whose record grants him an hour', async () => {
    const a = contend('a');
    await a.term();
    assert.ok(a.turns() >= 2, 'once to acquire, then to renew');
    await a.leadership.release();
    server.edit({ holderIdentity: 'silent', leaseDurationSeconds: 3600 });
    const b = contend('b', systemClock, { leaseDuration: 50 });
    while (b.turns() < 6) await new Promise(resolve => setTimeout(resolve, 10));
    const before = server.server.seen.length;
    const turns = b.turns();
    while (b.turns() < turns + 3) await new Promise(resolve => setTimeout(resolve, 10));
    assert.equal(server.server.seen.length, before);
    assert.deepEqual([b.seen, b.others], [[], ['silent']]);
  });

  it('takes the lease of a leader that vanished when it lapses by the own clock, however wrong his clock was', async () => {
    await contend('a').term();
    const [a] = contenders;
    await a?.client.close();
    a?.subscription.unsubscribe();
    await a?.leadership.release();
    server.edit({ holderIdentity: 'dead', renewTime: '2099-01-01T00:00:00.000000Z', leaseDurationSeconds: 1 });
    const started = performance.now();
    await contend('b').term();
    const waited = performance.now() - started;
    assert.ok(waited >= 990 && waited < 2000, `${waited} ms`);
  });

  it('ends the term at the renew deadline when the API server does not answer, before the lease can lapse', async () => {
    for (const mode of ['hang', 'reset'] as const) {
      const a = contend(`a-${mode}`);
      const term = await a.term();
      await renewals(1);
      const lost = a.next();
      const started = performance.now();
      server.mode = mode;
      await aborted(term.signal);
      const lasted = performance.now() - started;
      assert.ok(lasted > 300 && lasted <= 550, `${lasted} ms`);
      assert.equal(await lost, undefined);
      assert.equal(holder(), `a-${mode}`);
      const again = a.term();
      server.mode = 'up';
      assert.notEqual(await again, term);
      await a.leadership.release();
    }
  });

  it('survives API errors that are shorter than the renew deadline', async () => {
    const a = contend('a');
    const term = await a.term();
    server.mode = 'reset';
    await new Promise<void>(resolve => {
      const before = server.server.seen.length;
      const timer = setInterval(() => {
        if (server.server.seen.length < before + 2) return;
        clearInterval(timer);
        resolve();
      }, 5);
    });
    server.mode = 'up';
    await renewals(8);
    assert.equal(term.isValid(), true);
    assert.deepEqual(
      a.logger.lines.filter(line => line.level === 'warn').map(line => line.msg),
      ['Could not renew the lease'],
    );
  });

  it('loses the term when another has taken the lease, and says to whom', async () => {
    const a = contend('a');
    const term = await a.term();
    const lost = a.next();
    server.edit({ holderIdentity: 'b' });
    assert.equal(await lost, undefined);
    assert.equal(term.isValid(), false);
    const line = a.logger.lines.find(({ msg }) => msg === 'Lost the leadership');
    assert.match(String(line?.fields.reason), /taken by b/);
  });

  it('keeps the term when someone labels the lease, deletes it, or empties its holder', async () => {
    const a = contend('a');
    const term = await a.term();
    server.edit({}, { labels: { x: 'y' } });
    await renewals(3);
    assert.deepEqual(server.lease?.metadata.labels, { x: 'y' });
    const held = new Promise<void>(resolve => {
      server.remove();
      void server.heldBy('a').then(resolve);
    });
    await held;
    server.edit({ holderIdentity: '' });
    await server.heldBy('a');
    await renewals(2);
    assert.equal(term.isValid(), true);
    assert.deepEqual(a.seen, [term]);
  });

  it('does not take a lease that was emptied or deleted by hand from a leader who does not know yet', async () => {
    const slow = { leaseDuration: 3000, renewDeadline: 2000, retryPeriod: 400 };
    const a = contend('a', systemClock, slow);
    const term = await a.term();
    const b = contend('b', systemClock, slow);
    for (const meddle of [() => server.remove(), () => server.edit({ holderIdentity: '' })]) {
      await renewals(2);
      meddle();
      await server.heldBy('a');
    }
    await renewals(1);
    assert.deepEqual([a.seen, b.seen], [[term], []]);
    assert.equal(term.isValid(), true);
  });

  it('allows no write as soon as a paused process goes on, before any timer has run', async () => {
    let jump = 0;
    const clock: Clock = { now: () => Date.now(), monotonic: () => performance.now() + jump };
    const term = await contend('a', clock).term();
    assert.equal(term.isValid(), true);
    jump = 400;
    assert.equal(term.isValid(), false);
    assert.equal(term.signal.aborted, true);
  });

  it('counts the deadline from the sending of a renewal, not from its answer', async () => {
    let now = 0;
    const clock: Clock = { now: () => Date.now(), monotonic: () => now };
    const a = contend('a', clock);
    // The answer to the claim takes 300 of the 400 ms.
    const term = new Promise<Term>(resolve => {
      void a.term().then(resolve);
    });
    await server.heldBy('a');
    now = 300;
    const held = await term;
    assert.equal(held.isValid(), true);
    now = 399;
    assert.equal(held.isValid(), true);
    now = 400;
    assert.equal(held.isValid(), false);
  });

  it('leads for good, without a request, where the election is off', async () => {
    const a = contend('a', systemClock, { enabled: false });
    const [term] = a.seen;
    assert.equal(term?.isValid(), true);
    assert.equal(server.server.seen.length, 0);
    await a.leadership.release();
    assert.equal(term?.isValid(), false);
    assert.equal(a.completed, true);
  });
});

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createServerList } from '../../lib/hetzner/server-list.ts';
import { createServers } from '../../lib/hetzner/servers.ts';
import type { CallOptions, Server } from '../../lib/hetzner/types.ts';
import { calling, hetznerError, rejection, virtualClock, virtualTime } from './support.ts';

const server = (id: number, ip = `10.0.0.${id}`): Server => ({
  id,
  name: `w${id}`,
  status: 'running',
  type: 'cpx31',
  location: 'fsn1',
  ipv4: undefined,
  ipv6: undefined,
  privateNets: [{ network: 9, ip, aliasIPs: ['10.0.9.9'] }],
});

const setUp = (t: TestContext, options: { readonly minInterval?: number } = {}) => {
  const time = virtualTime(t);
  const calls: (CallOptions & {
    readonly answer: (servers: readonly Server[]) => void;
    readonly fail: (err: unknown) => void;
  })[] = [];
  const cloud = {
    listServers: (o: CallOptions) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Server[]>();
      calls.push({ ...o, answer: resolve, fail: reject });
      return promise;
    },
  };
  const hits: boolean[] = [];
  const servers = createServers({
    cloud,
    clock: virtualClock,
    onLookup: hit => hits.push(hit),
    errorHoldOff: () => 5_000,
    ...options,
  });
  return { time, servers, calls, hits };
};

describe('the shared list of servers', () => {
  it('answers all who wait with one request, and later ones without any', async t => {
    const { servers, calls, hits } = setUp(t);
    const now = Date.now();
    const waits = [servers.notBefore(now, calling()), servers.notBefore(now - 5_000, calling())];
    assert.equal(calls.length, 1);
    calls[0]?.answer([server(1)]);
    const [one, two] = await Promise.all(waits);
    assert.equal(one, two);
    assert.equal(one?.requestedAt, now);
    assert.equal(await servers.notBefore(now, calling()), one);
    assert.equal(servers.latest(), one);
    assert.equal(calls.length, 1);
    assert.deepEqual(hits, [false, false, true]);
  });

  it('asks again for who needs it newer', async t => {
    const { time, servers, calls } = setUp(t);
    const first = servers.notBefore(Date.now(), calling());
    calls[0]?.answer([server(1)]);
    await first;
    await time.advance(10);
    const second = servers.notBefore(Date.now(), calling());
    assert.equal(calls.length, 2);
    calls[1]?.answer([]);
    assert.equal((await second).servers.length, 0);
  });

  it('goes at the priority of the most urgent who waits', async t => {
    const { time, servers, calls } = setUp(t);
    const first = servers.notBefore(Date.now(), calling('refresh'));
    await time.advance(10);
    const later = [
      servers.notBefore(Date.now(), calling('refresh')),
      servers.notBefore(Date.now(), calling('initialise')),
    ];
    calls[0]?.answer([]);
    await first;
    await time.advance(1);
    assert.deepEqual(calls.map(({ priority }) => priority).slice(0, 2), ['refresh', 'initialise']);
    calls[1]?.answer([]);
    await Promise.all(later);
    await time.advance(10);
    void servers.notBefore(Date.now(), calling('loadBalancer'));
    assert.equal(calls[2]?.priority, 'loadBalancer');
  });

  it('is not bound to the signal of one who waits, and ends when all have left', async t => {
    const { servers, calls } = setUp(t);
    const [one, two] = [new AbortController(), new AbortController()];
    const first = rejection(servers.notBefore(Date.now(), calling('route', one.signal)));
    const second = rejection(servers.notBefore(Date.now(), calling('route', two.signal)));
    one.abort();
    assert.equal(await first, one.signal.reason);
    assert.equal(calls[0]?.signal.aborted, false);
    two.abort();
    await second;
    assert.equal(calls[0]?.signal.aborted, true);
  });

  it('BUG-015: a failed list reaches who waits as an error, keeps the last good one, and holds off the next', async t => {
    const { time, servers, calls } = setUp(t);
    const good = servers.notBefore(Date.now(), calling());
    calls[0]?.answer([server(1)]);
    const list = await good;
    await time.advance(10);
    const err = hetznerError({ status: 500 });
    const failed = rejection(servers.notBefore(Date.now(), calling()));
    calls[1]?.fail(err);
    assert.equal(await failed, err);
    assert.equal(servers.latest(), list);
    const next = servers.notBefore(Date.now(), calling());
    await time.advance(4_900, 50);
    assert.equal(calls.length, 2);
    await time.advance(200, 50);
    assert.equal(calls.length, 3);
    calls[2]?.answer([]);
    await next;
  });

  it('tells each new list, the newest at once', async t => {
    const { time, servers, calls } = setUp(t);
    const seen: number[] = [];
    const subscription = servers.changes$.subscribe(list => seen.push(list.servers.length));
    for (const count of [1, 2]) {
      await time.advance(10);
      const waiting = servers.notBefore(Date.now(), calling());
      calls.at(-1)?.answer(Array.from({ length: count }, (_, i) => server(i + 1)));
      assert.equal(await waiting, servers.latest());
    }
    subscription.unsubscribe();
    const late: unknown[] = [];
    servers.changes$.subscribe(list => late.push(list)).unsubscribe();
    assert.deepEqual(seen, [1, 2]);
    assert.deepEqual(late, [servers.latest()]);
  });
});

describe('a list of servers', () => {
  it('finds by id, by name and by own private address in a network', () => {
    const list = createServerList([server(1), server(2)], 7);
    assert.equal(list.byID(2)?.name, 'w2');
    assert.equal(list.byName('w1')?.id, 1);
    assert.equal(list.byPrivateIP(9, '10.0.0.2')?.id, 2);
    assert.equal(list.byPrivateIP(8, '10.0.0.2'), undefined);
    assert.equal(list.byPrivateIP(9, '10.0.9.9'), undefined);
    assert.equal(list.byID(3), undefined);
  });
});

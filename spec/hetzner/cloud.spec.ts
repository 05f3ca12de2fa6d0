import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createBudget } from '../../lib/hetzner/budget.ts';
import { createCloud } from '../../lib/hetzner/cloud.ts';
import { bearer } from '../../lib/hetzner/credentials.ts';
import { HetznerError } from '../../lib/hetzner/errors.ts';
import { createHetznerHTTP } from '../../lib/hetzner/http.ts';
import { createCall } from '../../lib/hetzner/retry.ts';
import { systemClock } from '../../lib/streams/clock.ts';
import { calling, type Handler, listen, memoryLogger, rejection, reply } from './support.ts';

/** The whole client against a loopback server. */
const setUp = async (t: TestContext, handler: Handler, timeout = 1_000) => {
  const { url, received } = await listen(t, handler);
  const logger = memoryLogger();
  const budget = createBudget({ clock: systemClock, logger });
  const http = createHetznerHTTP({
    endpoint: `${url}/v1`,
    credentials: () => bearer('secret'),
    userAgent: 'spec',
    logger,
    timeout,
    onHeaders: budget.observe,
  });
  t.after(() => http.close());
  const cloud = createCloud({ call: createCall({ http, budget, baseDelay: 1 }) });
  return { cloud, received, budget, urls: () => received.map(({ method, url }) => `${method} ${url.slice(3)}`) };
};

const servers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => ({ id: from + i, name: `w${from + i}` }));

const page = (items: readonly unknown[], next: number | null, total: number | null = null) => ({
  servers: items,
  meta: {
    pagination: { page: 1, per_page: 50, previous_page: null, next_page: next, last_page: null, total_entries: total },
  },
});

/** Answers each request with the next of these bodies; the last one repeats. */
const inTurn = (...bodies: readonly unknown[]): Handler => {
  let next = 0;
  return (_, response) => reply(response, 200, bodies[Math.min(next++, bodies.length - 1)]);
};

const failure = async (promise: Promise<unknown>): Promise<HetznerError> => {
  const err = await rejection(promise);
  assert.ok(err instanceof HetznerError, String(err));
  return err;
};

describe('the list of servers', () => {
  it('is read in pages of 50, as next_page leads', async t => {
    const { cloud, urls } = await setUp(t, inTurn(page(servers(1, 50), 2, 70), page(servers(51, 70), null, 70)));
    const found = await cloud.listServers(calling());
    assert.deepEqual(
      found.map(({ id }) => id),
      servers(1, 70).map(({ id }) => id),
    );
    assert.deepEqual(urls(), [
      'GET /servers?sort=id%3Aasc&page=1&per_page=50',
      'GET /servers?sort=id%3Aasc&page=2&per_page=50',
    ]);
  });

  it('is a single page without meta', async t => {
    const { cloud, received } = await setUp(t, inTurn({ servers: servers(1, 2) }));
    assert.equal((await cloud.listServers(calling())).length, 2);
    assert.equal(received.length, 1);
  });

  it('counts a server that shows up on two pages once, as read last', async t => {
    const moved = { id: 50, name: 'w50', status: 'off' };
    const { cloud } = await setUp(t, inTurn(page(servers(1, 50), 2), page([moved, ...servers(51, 52)], null)));
    const found = await cloud.listServers(calling());
    assert.equal(found.length, 52);
    assert.equal(found.find(({ id }) => id === 50)?.status, 'off');
  });

  it('BUG-015: is an error when page 2 fails, and nothing of page 1 is used', async t => {
    const { cloud, received } = await setUp(t, ({ url }, response) => {
      if (url.includes('page=1&')) reply(response, 200, page(servers(1, 50), 2, 70));
      else reply(response, 500, { error: { code: 'server_error', message: 'broken', details: null } });
    });
    assert.equal((await failure(cloud.listServers(calling()))).code, 'server_error');
    assert.equal(received.length, 4);
  });

  it('BUG-015: is an error when the answer is cut off, empty, a stranger or not authorised', async t => {
    const answers: ReadonlyArray<readonly [number, string]> = [
      [200, '{"servers":[{"id":1,"name":"a"}'],
      [200, ''],
      [200, 'null'],
      [200, '{"servers":null}'],
      [200, '{"networks":[]}'],
      [401, '{"error":{"code":"unauthorized","message":"unable to authenticate"}}'],
      [403, '{"error":{"code":"forbidden","message":"no"}}'],
      [500, '<html>'],
    ];
    for (const [status, text] of answers) {
      const { cloud } = await setUp(t, (_, response) => response.writeHead(status).end(text));
      await failure(cloud.listServers(calling()));
    }
  });

  it('BUG-015: is an error when one server has no id or no name', async t => {
    for (const broken of [{ id: 2 }, { name: 'b' }, null]) {
      const { cloud } = await setUp(t, inTurn(page([{ id: 1, name: 'a' }, broken], null)));
      assert.equal((await failure(cloud.listServers(calling()))).code, 'invalid_response');
    }
  });

  it('is an error when a page leads back', async t => {
    const { cloud, received } = await setUp(t, inTurn(page(servers(1, 50), 2), page(servers(51, 60), 2)));
    assert.equal((await failure(cloud.listServers(calling()))).code, 'invalid_response');
    assert.equal(received.length, 2);
  });

  it('is read again when servers vanish between two pages, for a later one may have been skipped', async t => {
    const shrinking = [page(servers(1, 50), 2, 60), page(servers(52, 60), null, 59)];
    const whole = [page(servers(2, 51), 2, 59), page(servers(52, 60), null, 59)];
    const { cloud, received } = await setUp(t, inTurn(...shrinking, ...whole));
    assert.deepEqual(
      new Set((await cloud.listServers(calling())).map(({ id }) => id)),
      new Set(servers(2, 60).map(({ id }) => id)),
    );
    assert.equal(received.length, 4);
  });

  it('BUG-015: is read again when it holds fewer servers than Hetzner counts, and is an error when it stays so', async t => {
    const [hole, whole] = [page(servers(2, 3), null, 3), page(servers(1, 3), null, 3)];
    const { cloud } = await setUp(t, inTurn(hole, whole));
    assert.equal((await cloud.listServers(calling())).length, 3);
    const broken = await setUp(t, inTurn(hole, hole, hole, hole));
    assert.equal((await failure(broken.cloud.listServers(calling()))).code, 'invalid_response');
    const cut = await setUp(t, inTurn(...Array.from({ length: 4 }, () => page(servers(1, 50), null, 60))));
    assert.equal((await failure(cut.cloud.listServers(calling()))).code, 'invalid_response');
  });

  it('is an error when it shrinks each time it is read', async t => {
    const shrinking = [page(servers(1, 50), 2, 60), page(servers(52, 60), null, 59)];
    const { cloud } = await setUp(t, inTurn(...shrinking, ...shrinking, ...shrinking, ...shrinking));
    assert.match((await failure(cloud.listServers(calling()))).message, /were missing each time/);
  });

  it('BUG-070: fails after its time-outs when the API hangs', async t => {
    const { cloud, received } = await setUp(t, () => {}, 30);
    assert.equal((await failure(cloud.listServers(calling()))).code, 'timeout');
    assert.equal(received.length, 3);
  });
});

describe('a network', () => {
  const network = { id: 9, name: '4711', ip_range: '10.0.0.0/8', routes: [], servers: [1] };
  const notFound = { error: { code: 'not_found', message: 'network not found', details: null } };

  it('is found by its id', async t => {
    const { cloud, urls } = await setUp(t, inTurn({ network }));
    assert.equal((await cloud.findNetwork('9', calling()))?.id, 9);
    assert.deepEqual(urls(), ['GET /networks/9']);
  });

  it('is found by a name, also one of digits that is no id', async t => {
    const { cloud, urls } = await setUp(t, ({ url }, response) =>
      url.includes('?') ? reply(response, 200, { networks: [network] }) : reply(response, 404, notFound),
    );
    assert.equal((await cloud.findNetwork('4711', calling()))?.id, 9);
    assert.deepEqual(urls(), ['GET /networks/4711', 'GET /networks?name=4711&page=1&per_page=50']);
  });

  it('is not found when Hetzner says so, or gives one with another name', async t => {
    const { cloud, urls } = await setUp(t, inTurn({ networks: [network] }));
    assert.equal(await cloud.findNetwork('a&b', calling()), undefined);
    assert.deepEqual(urls(), ['GET /networks?name=a%26b&page=1&per_page=50']);
    const gone = await setUp(t, (_, response) => reply(response, 404, notFound));
    assert.equal(await gone.cloud.getNetwork(9, calling()), undefined);
  });

  it('is not taken for absent when a proxy or a wrong endpoint answers 404', async t => {
    const proxy = await setUp(t, (_, response) => response.writeHead(404).end('<html>'));
    assert.equal((await failure(proxy.cloud.getNetwork(9, calling()))).code, 'http_404');
    const body = { error: { code: 'not_found', message: 'api route not found', details: null } };
    const wrong = await setUp(t, (_, response) => reply(response, 404, body));
    await failure(wrong.cloud.getNetwork(9, calling()));
  });
});

describe('a route', () => {
  const route = { destination: '10.244.0.0/24', gateway: '10.0.0.3' };
  const action = { id: 3, command: 'add_route', status: 'running', error: null };

  it('is added and deleted by one POST each, which gives the action', async t => {
    const { cloud, received, urls } = await setUp(t, (_, response) => reply(response, 201, { action }));
    assert.deepEqual(await cloud.addRoute(9, route, calling()), {
      id: 3,
      command: 'add_route',
      status: 'running',
      error: undefined,
    });
    await cloud.deleteRoute(9, route, calling());
    assert.deepEqual(urls(), ['POST /networks/9/actions/add_route', 'POST /networks/9/actions/delete_route']);
    assert.deepEqual(
      received.map(({ body }) => JSON.parse(body)),
      [route, route],
    );
  });

  it('is never sent twice when its answer is missing or makes no sense', async t => {
    const silent = await setUp(t, () => {}, 30);
    assert.equal((await failure(silent.cloud.addRoute(9, route, calling()))).code, 'timeout');
    assert.equal(silent.received.length, 1);
    const strange = await setUp(t, (_, response) => reply(response, 201, {}));
    assert.equal((await failure(strange.cloud.addRoute(9, route, calling()))).code, 'invalid_response');
    assert.equal(strange.received.length, 1);
  });
});

describe('actions', () => {
  it('are looked up 50 at a time, each id once', async t => {
    const { cloud, received } = await setUp(t, ({ url }, response) => {
      const ids = new URL(url, 'http://x').searchParams.getAll('id');
      reply(response, 200, { actions: ids.map(id => ({ id: Number(id), command: 'add_route', status: 'success' })) });
    });
    const ids = Array.from({ length: 70 }, (_, i) => i + 1);
    assert.deepEqual(
      (await cloud.getActions(ids, calling())).map(({ id }) => id),
      ids,
    );
    const counts = received.map(({ url }) => new URL(url, 'http://x').searchParams.getAll('id').length);
    assert.deepEqual(counts, [50, 20]);
  });

  it('cost no request when there are none', async t => {
    const { cloud, received } = await setUp(t, () => {});
    assert.deepEqual(await cloud.getActions([], calling()), []);
    assert.equal(received.length, 0);
  });
});

describe('the client', () => {
  it('keeps its budget in step with the answers', async t => {
    const headers = { 'RateLimit-Limit': '7200', 'RateLimit-Remaining': '5000' };
    const { cloud, budget } = await setUp(t, (_, response) => reply(response, 200, { servers: [] }, headers));
    await cloud.listServers(calling());
    assert.equal(budget.remaining(), 5000);
  });

  it('BUG-068: tells the budget of a refusal and asks again', async t => {
    let requests = 0;
    const { url } = await listen(t, (_, response) => {
      if (requests++ === 0)
        reply(response, 429, { error: { code: 'rate_limit_exceeded', message: 'limit', details: null } });
      else reply(response, 200, { servers: [] });
    });
    const logger = memoryLogger();
    let refusals = 0;
    // The pause itself is shown in virtual time.
    const budget = { ...createBudget({ clock: systemClock, logger }), throttled: () => void refusals++ };
    const http = createHetznerHTTP({ endpoint: url, credentials: () => bearer('x'), userAgent: 'spec', logger });
    t.after(() => http.close());
    const cloud = createCloud({ call: createCall({ http, budget }) });
    assert.deepEqual(await cloud.listServers(calling()), []);
    assert.deepEqual([requests, refusals], [2, 1]);
  });
});

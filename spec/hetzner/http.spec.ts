import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { basic, bearer } from '../../lib/hetzner/credentials.ts';
import { createDispatcher, proxiesOf } from '../../lib/hetzner/dispatcher.ts';
import { classOf, HetznerError } from '../../lib/hetzner/errors.ts';
import {
  createHetznerHTTP,
  type HetznerHTTPOptions,
  type RateLimit,
  type RequestReport,
} from '../../lib/hetzner/http.ts';
import { type Handler, listen, memoryLogger, rejection, reply } from './support.ts';

const token = 'very-secret-token-0123456789';
const open = new AbortController().signal;

const setUp = async (t: TestContext, handler: Handler, options: Partial<HetznerHTTPOptions> = {}) => {
  const server = await listen(t, handler);
  const logger = memoryLogger();
  const reports: RequestReport[] = [];
  const limits: RateLimit[] = [];
  const http = createHetznerHTTP({
    endpoint: `${server.url}/v1`,
    credentials: () => bearer(token),
    userAgent: 'hcloud-reactive-controller/1.2.3',
    logger,
    onRequest: report => reports.push(report),
    onHeaders: limit => limits.push(limit),
    ...options,
  });
  t.after(() => http.close());
  return { ...server, http, logger, reports, limits };
};

const failure = async (promise: Promise<unknown>): Promise<HetznerError> => {
  const err = await rejection(promise);
  assert.ok(err instanceof HetznerError, String(err));
  return err;
};

describe('a request to Hetzner', () => {
  it('carries token, user agent and repeated query keys, and gives the parsed answer', async t => {
    const { http, received } = await setUp(t, (_, response) => reply(response, 200, { actions: [] }));
    const query = [
      ['id', '1'],
      ['id', '2'],
      ['name', 'a b&c'],
    ] as const;
    assert.deepEqual(await http.request({ method: 'GET', path: '/actions', query }, open), { actions: [] });
    const [request] = received;
    assert.equal(request?.url, '/v1/actions?id=1&id=2&name=a+b%26c');
    assert.equal(request.headers.authorization, `Bearer ${token}`);
    assert.equal(request.headers['user-agent'], 'hcloud-reactive-controller/1.2.3');
    assert.equal(request.headers.accept, 'application/json');
    assert.equal(request.headers['content-type'], undefined);
  });

  it('has a content type only with a body', async t => {
    const { http, received } = await setUp(t, (_, response) => reply(response, 201, { action: null }));
    await http.request({ method: 'POST', path: '/servers/1/actions/poweron' }, open);
    await http.request({ method: 'POST', path: '/networks/1/actions/add_route', body: { gateway: '10.0.0.2' } }, open);
    assert.equal(received[0]?.headers['content-type'], undefined);
    assert.equal(received[0]?.body, '');
    assert.equal(received[1]?.headers['content-type'], 'application/json');
    assert.deepEqual(JSON.parse(received[1]?.body ?? ''), { gateway: '10.0.0.2' });
  });

  it('gives undefined for an empty answer', async t => {
    const { http } = await setUp(t, (_, response) => response.writeHead(204).end());
    assert.equal(await http.request({ method: 'DELETE', path: '/load_balancers/1' }, open), undefined);
  });

  it('uses the token of the moment', async t => {
    let current = 'first';
    const { http, received } = await setUp(t, (_, response) => reply(response, 200, {}), {
      credentials: () => bearer(current),
    });
    await http.request({ method: 'GET', path: '/servers' }, open);
    current = 'second';
    await http.request({ method: 'GET', path: '/servers' }, open);
    assert.deepEqual(
      received.map(request => request.headers.authorization),
      ['Bearer first', 'Bearer second'],
    );
  });

  it('carries user and password for Robot', async t => {
    const { http, received } = await setUp(t, (_, response) => reply(response, 200, []), {
      credentials: () => basic('#ws+u', 'p:ä'),
    });
    await http.request({ method: 'GET', path: '/server' }, open);
    const [scheme, encoded = ''] = received[0]?.headers.authorization?.split(' ') ?? [];
    assert.deepEqual([scheme, Buffer.from(encoded, 'base64').toString()], ['Basic', '#ws+u:p:ä']);
  });

  it('reports route template, status and rate limit', async t => {
    const headers = { 'RateLimit-Limit': '3600', 'RateLimit-Remaining': '3599', 'RateLimit-Reset': '1700000001' };
    const { http, reports, limits } = await setUp(t, (_, response) => reply(response, 200, {}, headers));
    await http.request({ method: 'POST', path: '/networks/42/actions/add_route', body: {} }, open);
    assert.deepEqual(limits, [{ limit: 3600, remaining: 3599, reset: 1_700_000_001 }]);
    assert.deepEqual(
      reports.map(({ method, route, code }) => [method, route, code]),
      [['POST', '/networks/-/actions/add_route', 200]],
    );
  });

  it('ignores rate limit headers that are no numbers', async t => {
    const headers = { 'RateLimit-Limit': 'many', 'RateLimit-Remaining': '-1' };
    const { http, limits } = await setUp(t, (_, response) => reply(response, 200, {}, headers));
    await http.request({ method: 'GET', path: '/servers' }, open);
    assert.deepEqual(limits, [{ limit: undefined, remaining: undefined, reset: undefined }]);
  });
});

describe('a request to Hetzner that fails', () => {
  it('says code, message, correlation id and what was asked', async t => {
    const body = { error: { code: 'invalid_input', message: 'invalid gateway', details: null } };
    const { http } = await setUp(t, (_, response) => reply(response, 422, body, { 'X-Correlation-Id': 'abc123' }));
    const err = await failure(http.request({ method: 'POST', path: '/networks/1/actions/add_route', body: {} }, open));
    const { status, code, message, correlationID, method, route, sent } = err;
    assert.deepEqual(
      { status, code, message, correlationID, method, route, sent },
      {
        status: 422,
        code: 'invalid_input',
        message: 'invalid gateway (invalid_input)',
        correlationID: 'abc123',
        method: 'POST',
        route: '/networks/-/actions/add_route',
        sent: true,
      },
    );
  });

  it('with an HTML page is known by its status', async t => {
    const { http } = await setUp(t, (_, response) => {
      response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>');
    });
    const err = await failure(http.request({ method: 'GET', path: '/servers' }, open));
    assert.equal(err.code, 'http_502');
    assert.match(err.message, /HTTP status 502 of http:\/\/\S+ to GET \/servers /);
    assert.equal(classOf(err), 'transient');
  });

  it('by a redirect does not follow it, so that the token stays here', async t => {
    const { http, received } = await setUp(t, (_, response) => response.writeHead(302, { location: '/else' }).end());
    const err = await failure(http.request({ method: 'GET', path: '/servers' }, open));
    assert.equal(err.code, 'http_302');
    assert.equal(received.length, 1);
  });

  it('BUG-015: by JSON that ends too soon is transient', async t => {
    const { http } = await setUp(t, (_, response) => response.writeHead(200).end('{"servers":[{"id":1,'));
    const err = await failure(http.request({ method: 'GET', path: '/servers' }, open));
    assert.equal(err.code, 'invalid_response');
    assert.match(err.message, /answer of http:\/\/\S+ to GET \/servers is not valid JSON/);
    assert.equal(classOf(err), 'transient');
  });

  it('BUG-015: by a connection that breaks within the answer is transient', async t => {
    const { http } = await setUp(t, (_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"servers":[]}', () => response.destroy());
    });
    const err = await failure(http.request({ method: 'GET', path: '/servers' }, open));
    assert.equal(err.status, 0);
    assert.equal(classOf(err), 'transient');
  });

  it('BUG-070: by silence ends at the time-out and leaves no socket', async t => {
    const { http, server, reports } = await setUp(t, () => {}, { timeout: 50 });
    const closed = new Promise<void>(resolve => {
      server.on('connection', socket => socket.on('close', () => resolve()));
    });
    const err = await failure(http.request({ method: 'GET', path: '/servers' }, open));
    assert.equal(err.code, 'timeout');
    assert.equal(err.sent, true);
    await closed;
    assert.equal(reports[0]?.code, 'timeout');
  });

  it('BUG-070: by an answer that never ends, too', async t => {
    const { http } = await setUp(t, (_, response) => response.writeHead(200).write('{'), { timeout: 50 });
    assert.equal((await failure(http.request({ method: 'GET', path: '/servers' }, open))).code, 'timeout');
  });

  it('by an answer without end is cut off', async t => {
    const { http } = await setUp(t, (_, response) => response.end('x'.repeat(9 * 1024 * 1024)));
    const err = await failure(http.request({ method: 'GET', path: '/servers' }, open));
    assert.equal(err.code, 'answer_too_large');
  });

  it('knows that nothing was sent when nobody listens', async t => {
    const { http, server } = await setUp(t, () => {});
    server.close();
    await once(server, 'close');
    const err = await failure(http.request({ method: 'POST', path: '/servers', body: {} }, open));
    assert.equal(err.code, 'ECONNREFUSED');
    assert.equal(err.sent, false);
  });

  it('by its signal rejects with the reason of the signal and closes the connection', async t => {
    const abort = new AbortController();
    const reason = new Error('term ended');
    const { http, server } = await setUp(t, () => abort.abort(reason));
    const closed = new Promise<void>(resolve => {
      server.on('connection', socket => socket.on('close', () => resolve()));
    });
    assert.equal(await rejection(http.request({ method: 'GET', path: '/servers' }, abort.signal)), reason);
    await closed;
  });

  it('while it waits for a connection is never sent', async t => {
    const dispatcher = await createDispatcher(undefined, { connections: 1 });
    const answers: (() => void)[] = [];
    const setting = await setUp(t, (_, response) => void answers.push(() => reply(response, 200, {})), { dispatcher });
    const { http, received, server } = setting;
    const arrived = once(server, 'request');
    const first = http.request({ method: 'GET', path: '/first' }, open);
    await arrived;
    const abort = new AbortController();
    const second = rejection(http.request({ method: 'POST', path: '/second' }, abort.signal));
    abort.abort();
    await second;
    const third = http.request({ method: 'GET', path: '/third' }, open);
    answers[0]?.();
    await first;
    await once(server, 'request');
    await new Promise(resolve => setImmediate(resolve));
    assert.deepEqual(
      received.map(({ url }) => url),
      ['/v1/first', '/v1/third'],
    );
    answers[1]?.();
    await third;
  });

  it('is not even tried with a signal that has fired', async t => {
    const { http, received } = await setUp(t, (_, response) => reply(response, 200, {}));
    await rejection(http.request({ method: 'GET', path: '/servers' }, AbortSignal.abort()));
    await http.request({ method: 'GET', path: '/locations' }, open);
    assert.deepEqual(
      received.map(({ url }) => url),
      ['/v1/locations'],
    );
  });
});

describe('the token', () => {
  const echo =
    (status: number): Handler =>
    (_, response) =>
      reply(
        response,
        status,
        { error: { code: 'forbidden', message: `bad ${token}`, details: { fields: [{ name: token }] } } },
        { 'x-echo': token },
      );

  it('is in no error, even when the answer echoes it', async t => {
    const { http } = await setUp(t, echo(403));
    const err = await failure(http.request({ method: 'GET', path: '/servers' }, open));
    const everything = JSON.stringify([err, err.message, err.stack, err.details]);
    assert.match(everything, /\[redacted\]/);
    assert.ok(!everything.includes(token));
  });

  it('is in no HCLOUD_DEBUG trace, which has headers and bodies at info', async t => {
    const { http, logger } = await setUp(t, echo(200), { debug: true });
    await http.request({ method: 'POST', path: '/servers/7', body: { user_data: token } }, open);
    const [line] = logger.lines;
    assert.equal(line?.level, 'info');
    const text = JSON.stringify(line);
    assert.ok(!text.includes(token));
    assert.match(text, /"authorization":"\[redacted\]"/);
    assert.match(text, /x-echo/);
    assert.match(text, /user_data/);
  });

  it('is in no debug line, which has neither headers nor bodies', async t => {
    const { http, logger } = await setUp(t, echo(200));
    await http.request({ method: 'GET', path: '/servers/7' }, open);
    assert.deepEqual(
      logger.lines.map(({ level, fields }) => [level, fields.route, fields.statusCode, 'body' in fields]),
      [['debug', '/servers/-', 200, false]],
    );
  });
});

describe('proxies', () => {
  it('are read from the environment in both cases of letters', () => {
    assert.equal(proxiesOf({ NO_PROXY: 'x' }), undefined);
    assert.deepEqual(proxiesOf({ HTTPS_PROXY: 'http://a:1', https_proxy: 'http://b:1', NO_PROXY: 'x' }), {
      httpProxy: '',
      httpsProxy: 'http://b:1',
      noProxy: 'x',
    });
  });

  const setUpProxy = async (t: TestContext) => {
    const tunnels: string[] = [];
    const proxy = createServer();
    proxy.on('connect', (request, socket) => {
      tunnels.push(request.url ?? '');
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    t.after(() => proxy.close());
    return { tunnels, url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
  };

  it('are used for Hetzner, and their refusal is an error before anything was sent', async t => {
    const { tunnels, url } = await setUpProxy(t);
    const dispatcher = await createDispatcher(proxiesOf({ HTTPS_PROXY: url }));
    const { http } = await setUp(t, () => {}, { endpoint: 'https://api.hetzner.invalid/v1', dispatcher });
    const err = await failure(http.request({ method: 'GET', path: '/servers' }, open));
    assert.deepEqual(tunnels, ['api.hetzner.invalid:443']);
    assert.equal(err.status, 0);
    assert.equal(err.sent, false);
  });

  it('are left out for hosts in NO_PROXY', async t => {
    const { tunnels, url } = await setUpProxy(t);
    const dispatcher = await createDispatcher(proxiesOf({ HTTP_PROXY: url, NO_PROXY: '127.0.0.1' }));
    const { http } = await setUp(t, (_, response) => reply(response, 200, {}), { dispatcher });
    await http.request({ method: 'GET', path: '/servers' }, open);
    assert.deepEqual(tunnels, []);
  });
});

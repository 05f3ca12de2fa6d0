import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { createKubeClient, type KubeClient, type RequestReport } from '../../lib/kubernetes/client.ts';
import type { TLSMaterial } from '../../lib/kubernetes/credentials.ts';
import {
  isConflict,
  isGone,
  isInvalid,
  isNotFound,
  isTooManyRequests,
  KubeError,
} from '../../lib/kubernetes/errors.ts';
import { resourceOf } from '../../lib/kubernetes/resource-of.ts';
import { clientOf, connectionTo, json, type Script, type ScriptedServer, scriptedServer, status } from './support.ts';

const never = new AbortController().signal;
const get = (path: string, signal = never, timeout?: number) => ({
  method: 'GET' as const,
  path,
  signal,
  ...(timeout === undefined ? {} : { timeout }),
});

describe('kube client', () => {
  const servers: ScriptedServer[] = [];
  const clients: KubeClient[] = [];
  const serve = async (script: Script) => {
    const server = await scriptedServer(script);
    const client = clientOf(server);
    servers.push(server);
    clients.push(client);
    return { server, client };
  };
  afterEach(async () => {
    await Promise.all(clients.splice(0).map(client => client.close()));
    await Promise.all(servers.splice(0).map(server => server.close()));
  });
  const failure = async (client: KubeClient, request = get('/api/v1/nodes/n1')): Promise<KubeError> => {
    const err = await client.request(request).catch(e => e);
    assert.ok(err instanceof KubeError, String(err));
    return err;
  };

  it('sends method, query, token, user agent and a JSON body, and parses the answer', async () => {
    const server = await scriptedServer((_, response) => json(response, 200, { ok: true }));
    servers.push(server);
    const client = createKubeClient({ connection: connectionTo(`${server.url}/prefix`, 't1'), userAgent: 'agent/1' });
    clients.push(client);
    const answer = await client.request({
      method: 'PATCH',
      path: '/api/v1/nodes/n1',
      query: { a: 'x y', none: undefined, n: 1 },
      body: [{ op: 'test' }],
      contentType: 'application/json-patch+json',
      signal: never,
    });
    assert.deepEqual(answer, { ok: true });
    const [seen] = server.seen;
    assert.equal(seen?.method, 'PATCH');
    assert.equal(seen?.path, '/prefix/api/v1/nodes/n1');
    assert.equal(String(seen?.query), 'a=x+y&n=1');
    assert.equal(seen?.headers.authorization, 'Bearer t1');
    assert.equal(seen?.headers['user-agent'], 'agent/1');
    assert.equal(seen?.headers['content-type'], 'application/json-patch+json');
    assert.equal(seen?.body, '[{"op":"test"}]');
  });

  it('uses its connections again', async () => {
    const { server, client } = await serve((_, response) => json(response, 200, {}));
    for (let i = 0; i < 20; i++) await client.request(get('/api/v1/nodes'));
    // undici needs a moment to free a connection, so the next call may take a second one.
    assert.ok(server.connections() <= 2, String(server.connections()));
  });

  it('lets many calls share ten connections, and neither a watch nor an urgent call wait for them', async () => {
    const { server, client } = await serve(({ path }, response) => {
      if (path.startsWith('/slow')) return;
      if (path === '/watch') response.writeHead(200).write('{}\n');
      else json(response, 200, {});
    });
    const abort = new AbortController();
    const slow = Array.from({ length: 30 }, (_, i) => client.request(get(`/slow/${i}`, abort.signal)).catch(() => {}));
    await server.requested(10);
    await client.request({ ...get('/lease'), urgent: true });
    await client.stream(get('/watch', abort.signal));
    assert.equal(server.seen.filter(({ path }) => path.startsWith('/slow')).length, 10);
    abort.abort();
    await Promise.all(slow);
  });

  it('tells errors by the Status of the API server', async () => {
    const answers = [
      [404, 'NotFound', isNotFound],
      [409, 'Conflict', isConflict],
      [410, 'Expired', isGone],
      [422, 'Invalid', isInvalid],
      [429, 'TooManyRequests', isTooManyRequests],
    ] as const;
    const { client } = await serve((_, response, nth) => {
      const [code, reason] = answers[nth - 1] ?? [500, ''];
      json(response, code, status(code, reason, 'why'), { 'retry-after': '7' });
    });
    for (const [code, reason, predicate] of answers) {
      const err = await failure(client);
      assert.ok(predicate(err));
      assert.equal(err.reason, reason);
      assert.equal(err.retryAfter, 7000);
      assert.equal(err.message, `GET /api/v1/nodes/n1: ${code} why`);
      assert.equal(answers.filter(([, , other]) => other(err)).length, 1);
    }
  });

  it('does not take AlreadyExists for a conflict of versions', async () => {
    const { client } = await serve((_, response) => json(response, 409, status(409, 'AlreadyExists')));
    assert.equal(isConflict(await failure(client)), false);
  });

  it('keeps the causes of an invalid object', async () => {
    const causes = [{ field: 'spec.x', reason: 'FieldValueInvalid', message: 'bad x' }];
    const { client } = await serve((_, response) =>
      json(response, 422, status(422, 'Invalid', 'm', { details: { causes } })),
    );
    assert.deepEqual((await failure(client)).causes, causes);
  });

  it('repeats nothing of a body that is not a Status', async () => {
    const { client } = await serve((_, response) => {
      response.writeHead(503, { 'content-type': 'text/html' });
      response.end(`<html>secret${'x'.repeat(1_000_000)}`);
    });
    const err = await failure(client);
    assert.equal(err.status, 503);
    assert.ok(!JSON.stringify({ ...err, m: err.message }).includes('secret'));
  });

  it('gives a network failure status 0 and its code', async () => {
    const { server, client } = await serve(() => undefined);
    await server.close();
    servers.pop();
    const err = await failure(client);
    assert.equal(err.status, 0);
    assert.equal(err.reason, 'ECONNREFUSED');
  });

  it('fails after the timeout when no answer comes, and when the body does not end', async () => {
    const { client } = await serve((_, response, nth) => {
      if (nth === 2) response.write('{');
    });
    for (let i = 0; i < 2; i++) {
      const err = await failure(client, get('/api/v1/nodes', never, 50));
      assert.equal(err.status, 0);
      assert.equal(err.reason, 'Timeout');
    }
  });

  it('says so when a good answer is not JSON', async () => {
    const { client } = await serve((_, response) => response.end('<html>'));
    assert.equal((await failure(client)).reason, 'BadAnswer');
  });

  it('rejects with the reason of the signal and drops the connection', async () => {
    const { server, client } = await serve(() => undefined);
    const controller = new AbortController();
    const call = client.request(get('/api/v1/nodes', controller.signal));
    await server.requested(1);
    const closed = new Promise(resolve => [...server.sockets][0]?.on('close', resolve));
    controller.abort(new Error('term ended'));
    await assert.rejects(call, /term ended/);
    await closed;
  });

  it('sends nothing when the signal has aborted already', async () => {
    const { server, client } = await serve((_, response) => json(response, 200, {}));
    await assert.rejects(client.request(get('/api/v1/nodes', AbortSignal.abort(new Error('too late')))), /too late/);
    await client.request(get('/api/v1/pods'));
    assert.deepEqual(
      server.seen.map(seen => seen.path),
      ['/api/v1/pods'],
    );
  });

  it('streams a body that pauses for longer than the timeout', async () => {
    const { client } = await serve((_, response) => {
      response.write('a');
      setTimeout(() => response.end('b'), 120);
    });
    let text = '';
    for await (const chunk of await client.stream(get('/api/v1/nodes', never, 60))) text += Buffer.from(chunk);
    assert.equal(text, 'ab');
  });

  it('fails a stream whose headers do not come in time', async () => {
    const { client } = await serve(() => undefined);
    await assert.rejects(client.stream(get('/api/v1/nodes', never, 50)), { name: 'KubeError', status: 0 });
  });

  it('fails a stream with the Status of the API server', async () => {
    const { client } = await serve((_, response) => json(response, 410, status(410, 'Expired')));
    await assert.rejects(client.stream(get('/api/v1/nodes')), isGone);
  });

  it('opens new connections when the certificates have changed, and lets old requests end', async () => {
    let tls: TLSMaterial = {};
    const server = await scriptedServer((seen, response) => {
      if (seen.path !== '/api/v1/slow') json(response, 200, {});
      else setTimeout(() => json(response, 200, { slow: true }), 50);
    });
    servers.push(server);
    const client = createKubeClient({ connection: { ...connectionTo(server.url), tls: () => tls }, userAgent: 'spec' });
    clients.push(client);
    await client.request(get('/api/v1/nodes'));
    const slow = client.request(get('/api/v1/slow'));
    await server.requested(2);
    const before = server.connections();
    tls = {};
    await client.request(get('/api/v1/nodes'));
    assert.equal(server.connections(), before + 1);
    assert.deepEqual(await slow, { slow: true });
  });

  it('reports each call with its resource, never a name', async () => {
    const reports: RequestReport[] = [];
    const server = await scriptedServer((seen, response) =>
      seen.path.endsWith('n1') ? json(response, 404, {}) : json(response, 200, {}),
    );
    servers.push(server);
    const client = createKubeClient({
      connection: connectionTo(server.url),
      userAgent: 'spec',
      onRequest: report => reports.push(report),
    });
    clients.push(client);
    await client.request(get('/api/v1/nodes'));
    await client.request(get('/api/v1/nodes/n1')).catch(() => undefined);
    assert.deepEqual(
      reports.map(({ method, resource, code }) => [method, resource, code]),
      [
        ['GET', 'nodes', 200],
        ['GET', 'nodes', 404],
      ],
    );
    assert.ok(reports.every(report => report.durationMs >= 0 && report.durationMs < 5000));
  });
});

describe('resourceOf', () => {
  it('names the resource and subresource of a path', () => {
    assert.equal(resourceOf('/api/v1/nodes'), 'nodes');
    assert.equal(resourceOf('/api/v1/nodes/a/status'), 'nodes/status');
    assert.equal(resourceOf('/api/v1/namespaces/kube-system'), 'namespaces');
    assert.equal(resourceOf('/api/v1/namespaces/a/events/x'), 'events');
    assert.equal(resourceOf('/apis/coordination.k8s.io/v1/namespaces/a/leases'), 'leases');
    assert.equal(resourceOf('/healthz'), 'unknown');
  });
});

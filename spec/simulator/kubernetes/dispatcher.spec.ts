import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { request } from 'undici';
import { InProcessDispatcher } from '../../../lib/simulator/kubernetes/dispatcher.ts';
import { createFakeKubernetes } from '../../../lib/simulator/kubernetes/fake.ts';
import { listenKubernetes } from '../../../lib/simulator/kubernetes/listen.ts';

const NODES = '/api/v1/nodes';
const ORIGIN = 'http://in-process';

describe('the in-process dispatcher', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_000_000 }));
  afterEach(() => mock.timers.reset());

  it('carries requests, bodies, headers and queries', async () => {
    const fake = createFakeKubernetes({ tokens: { t: 'ada' } });
    const dispatcher = new InProcessDispatcher(fake);
    const headers = { authorization: 'Bearer t', 'content-type': 'application/json' };
    const created = await request(ORIGIN + NODES, {
      dispatcher,
      method: 'POST',
      headers,
      body: '{"metadata":{"name":"a"}}',
    });
    assert.equal(created.statusCode, 201);
    assert.equal(((await created.body.json()) as { kind: string }).kind, 'Node');
    const list = await request(ORIGIN + NODES, { dispatcher, headers, query: { limit: 1 } });
    assert.equal(list.headers['content-type'], 'application/json');
    assert.equal(((await list.body.json()) as { items: unknown[] }).items.length, 1);
    assert.deepEqual(
      fake.journal.all().map(entry => [entry.user, entry.path]),
      [
        ['ada', NODES],
        ['ada', `${NODES}?limit=1`],
      ],
    );
  });

  it('streams a watch in virtual time and frees it when the client aborts', async () => {
    const fake = createFakeKubernetes({ bookmarkInterval: 60_000 });
    const abort = new AbortController();
    const dispatcher = new InProcessDispatcher(fake);
    const { body } = await request(`${ORIGIN}${NODES}?watch=true&allowWatchBookmarks=true`, {
      dispatcher,
      signal: abort.signal,
    });
    const lines = body[Symbol.asyncIterator]();
    mock.timers.tick(60_000);
    assert.match(String((await lines.next()).value), /^\{"type":"BOOKMARK"/);
    fake.create(NODES, { metadata: { name: 'a' } });
    assert.match(String((await lines.next()).value), /^\{"type":"ADDED"/);
    assert.equal(fake.openWatches().length, 1);
    abort.abort();
    await assert.rejects(async () => lines.next());
    assert.deepEqual(fake.openWatches(), []);
  });

  it('fails like a socket when the server resets, and aborts a request that hangs', async () => {
    const fake = createFakeKubernetes();
    const dispatcher = new InProcessDispatcher(fake);
    fake.faults.add({ times: 1, fault: { kind: 'reset' } });
    await assert.rejects(request(ORIGIN + NODES, { dispatcher }), { code: 'UND_ERR_SOCKET' });
    fake.faults.add({ times: 1, fault: { kind: 'hang' } });
    const abort = new AbortController();
    const hanging = request(ORIGIN + NODES, { dispatcher, signal: abort.signal });
    queueMicrotask(() => abort.abort());
    await assert.rejects(hanging, { name: 'AbortError' });
  });
});

describe('the socket front', () => {
  it('answers, streams, resets, and closes with open watches', async () => {
    const fake = createFakeKubernetes();
    const listening = await listenKubernetes(fake);
    const watch = await request(`${listening.url}${NODES}?watch=true`);
    const lines = watch.body[Symbol.asyncIterator]();
    fake.create(NODES, { metadata: { name: 'a' } });
    assert.match(String((await lines.next()).value), /^\{"type":"ADDED"/);
    fake.faults.add({ verb: 'list', times: 1, fault: { kind: 'reset' } });
    await assert.rejects(request(listening.url + NODES));
    fake.cutWatches();
    await assert.rejects(async () => lines.next());
    const second = await request(`${listening.url}${NODES}?watch=true`);
    await listening.close();
    await assert.rejects(async () => second.body.text());
    await assert.rejects(request(listening.url + NODES));
    const again = await listenKubernetes(fake, listening.port);
    assert.equal(again.url, listening.url);
    assert.equal((await request(`${again.url}/readyz`)).statusCode, 200);
    await again.close();
  });
});

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFakeHetzner, type FakeHetzner } from '../../../lib/simulator/hetzner/fake.ts';
import { type Listening, listenHetzner } from '../../../lib/simulator/hetzner/listen.ts';

describe('The fake on a socket', () => {
  let fake: FakeHetzner;
  let listening: Listening;
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(listening.url + path, {
      ...init,
      headers: { authorization: `Bearer ${fake.settings.token}`, 'user-agent': 'spec' },
    });

  beforeEach(async () => {
    fake = createFakeHetzner({ actionDuration: 0 });
    fake.networks.create({ id: 1, name: 'net', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/24'] });
    listening = await listenHetzner(fake);
  });
  afterEach(() => listening.close());

  it('carries requests and answers, with status, headers and body', async () => {
    const body = JSON.stringify({ destination: '10.244.0.0/24', gateway: '10.0.0.2' });
    const made = await ask('/networks/1/actions/add_route', { method: 'POST', body });
    assert.equal(made.status, 201);
    assert.equal(((await made.json()) as { action: { status: string } }).action.status, 'success');
    const read = await ask('/networks?name=net');
    assert.equal(read.headers.get('content-type'), 'application/json');
    assert.equal(read.headers.get('ratelimit-remaining'), '3598');
    assert.match(read.headers.get('link') ?? '', new RegExp(`^<${listening.url}/networks\\?page=1`));
    assert.equal(((await read.json()) as { networks: unknown[] }).networks.length, 1);
    const gone = await ask('/networks/1', { method: 'DELETE' });
    assert.deepEqual([gone.status, await gone.text(), gone.headers.get('content-length')], [204, '', null]);
    assert.match(fake.requests[0]?.writer ?? '', /^spec 127\.0\.0\.1:\d+$/);
  });

  it('serves the metadata on the same port', async () => {
    fake.servers.create({ id: 42, name: 'cp1' });
    fake.metadataFor(42);
    assert.equal(await (await fetch(`${listening.metadataUrl}/instance-id`)).text(), '42');
  });

  it('answers after the delay', async () => {
    fake.settings.answerDelay = 30;
    const sent = performance.now();
    assert.equal((await ask('/locations')).status, 200);
    assert.ok(performance.now() - sent >= 29);
  });

  it('resets a connection', async () => {
    fake.faults.add({ kind: 'reset' });
    await assert.rejects(ask('/locations'), (err: Error) => (err.cause as { code: string }).code === 'ECONNRESET');
  });

  it('cuts an answer off', async () => {
    fake.faults.add({ kind: 'truncated' });
    const answer = await ask('/locations');
    assert.equal(answer.status, 200);
    await assert.rejects(answer.text());
  });

  it('lets a request hang until the client gives up, or the fake is closed', async () => {
    fake.faults.add({ kind: 'lost-after-effect' });
    const giveUp = new AbortController();
    const hanging = ask('/networks/1', { method: 'DELETE', signal: giveUp.signal });
    while (fake.count() === 0) await new Promise(resolve => setTimeout(resolve, 1));
    giveUp.abort();
    await assert.rejects(hanging, { name: 'AbortError' });
    assert.deepEqual(fake.networks.list(), []);

    const other = ask('/locations');
    while (fake.count() === 1) await new Promise(resolve => setTimeout(resolve, 1));
    await Promise.all([assert.rejects(other), listening.close()]);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toRequest } from '../../../lib/simulator/hetzner/wire.ts';
import { overlappingWrites, turns } from '../../../lib/simulator/hetzner/writers.ts';
import { type Project, project, start } from './project.ts';

describe('The request log', () => {
  it('keeps who asked what when, with the answer', () => {
    const { fake, get, post, pass } = project();
    fake.networks.create({ id: 1, name: 'net', ipRange: '10.0.0.0/8' });
    get('/servers?page=2');
    pass(5);
    post('/networks/1/actions/add_route', {});
    const [read, write] = fake.requests;
    assert.deepEqual(
      [read?.at, read?.method, read?.path, read?.query, read?.route, read?.status, read?.client, read?.writer],
      [start, 'GET', '/servers', 'page=2', '/servers', 200, 'spec', undefined],
    );
    assert.deepEqual(
      [write?.at, write?.path, write?.route, write?.status, write?.code, write?.writer],
      [start + 5, '/networks/1/actions/add_route', '/networks/{id}/actions/add_route', 422, 'invalid_input', 'spec'],
    );
  });

  it('counts by method, route and time', () => {
    const { fake, get, pass, now } = project();
    get('/servers');
    get('/servers/1');
    get('/servers/2');
    pass(1000);
    const since = now();
    get('/servers/3');
    get('/nothing');
    assert.deepEqual(fake.counts(), { 'GET /servers': 1, 'GET /servers/{id}': 3, 'GET /nothing': 1 });
    assert.deepEqual(fake.counts({ since }), { 'GET /servers/{id}': 1, 'GET /nothing': 1 });
    assert.deepEqual([fake.count(), fake.count({ route: '/servers/{id}' }), fake.count({ method: 'POST' })], [5, 3, 0]);
    fake.clearRequests();
    assert.equal(fake.count(), 0);
  });

  it('is bounded, the oldest go first', () => {
    const { fake, get } = project({ keepRequests: 2 });
    for (const id of [1, 2, 3]) get(`/servers/${id}`);
    assert.deepEqual(
      fake.requests.map(one => one.path),
      ['/servers/2', '/servers/3'],
    );
  });
});

const writing = (made: Project, client: string | undefined, port: number, third: number): void => {
  const headers = { authorization: `Bearer ${made.fake.settings.token}`, 'user-agent': 'ctl', 'x-client': client };
  const body = JSON.stringify({ destination: `10.244.${third}.0/24`, gateway: '10.0.0.2' });
  made.fake.handle(
    toRequest('POST', '/v1/networks/1/actions/add_route', { headers, body, client: `127.0.0.1:${port}` }),
  );
};

function twoWriters(): Project {
  const made = project();
  made.fake.networks.create({ id: 1, name: 'net', ipRange: '10.0.0.0/8' });
  return made;
}

describe('The check for two writers', () => {
  it('tells writers apart by X-Client, or by user agent and connection', () => {
    const made = twoWriters();
    writing(made, 'a', 1, 1);
    writing(made, undefined, 2, 2);
    assert.deepEqual(
      made.fake.requests.map(one => one.writer),
      ['a', 'ctl 127.0.0.1:2'],
    );
  });

  it('finds turns', () => {
    const made = twoWriters();
    for (const [index, name] of ['a', 'a', 'b', 'a'].entries()) {
      writing(made, name, 1, index);
      made.get('/servers');
      made.pass(1000);
    }
    assert.deepEqual(turns(made.fake.requests), [
      { writer: 'a', from: start, to: start + 1000, writes: 2 },
      { writer: 'b', from: start + 2000, to: start + 2000, writes: 1 },
      { writer: 'a', from: start + 3000, to: start + 3000, writes: 1 },
    ]);
  });

  it('finds a write that came while the action of another writer ran', () => {
    const made = twoWriters();
    writing(made, 'a', 1, 1);
    made.pass(399);
    writing(made, 'b', 2, 2);
    made.pass(400);
    writing(made, 'a', 1, 3);
    made.pass(500);
    writing(made, 'b', 2, 4);
    assert.deepEqual(
      overlappingWrites(made.fake.requests).map(pair => pair.map(one => one.writer)),
      [['a', 'b']],
    );
    // With a second of grace: a at 0 and b at 399, b at 399 and a at 799, a at 799 and b at 1299.
    assert.equal(overlappingWrites(made.fake.requests, 1000).length, 3);
  });
});

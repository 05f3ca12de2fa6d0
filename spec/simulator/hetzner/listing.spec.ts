import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Json, type Project, project } from './project.ts';

function withServers(count: number): Project {
  const made = project();
  for (let number = 1; number <= count; number++) {
    made.fake.servers.create({
      id: number,
      name: `w${String(count - number).padStart(3, '0')}`,
      status: number % 3 === 0 ? 'off' : 'running',
      labels: { parity: number % 2 === 0 ? 'even' : 'odd' },
    });
    made.pass(number % 10 === 0 ? 1000 : 0);
  }
  return made;
}

const ids = (body: Json): number[] => body.servers.map((one: Json) => one.id);

describe('A list', () => {
  it('is served in pages of 25 with all six numbers', () => {
    const { get } = withServers(60);
    const { body } = get('/servers');
    assert.equal(body.servers.length, 25);
    assert.deepEqual(body.meta.pagination, {
      page: 1,
      per_page: 25,
      previous_page: null,
      next_page: 2,
      last_page: 3,
      total_entries: 60,
    });
    assert.deepEqual(get('/servers?page=3').body.meta.pagination, {
      page: 3,
      per_page: 25,
      previous_page: 2,
      next_page: null,
      last_page: 3,
      total_entries: 60,
    });
  });

  it('clamps per_page to 50 and says so', () => {
    const { body } = withServers(60).get('/servers?per_page=500');
    assert.equal(body.servers.length, 50);
    assert.equal(body.meta.pagination.per_page, 50);
  });

  it('has one empty page when nothing is there, and empty pages beyond the end', () => {
    const { get } = project();
    const { body } = get('/networks');
    assert.deepEqual(body.networks, []);
    assert.deepEqual(body.meta.pagination, {
      page: 1,
      per_page: 25,
      previous_page: null,
      next_page: null,
      last_page: 1,
      total_entries: 0,
    });
    assert.deepEqual(withServers(3).get('/servers?page=9').body.servers, []);
  });

  it('links to its neighbours', () => {
    const { headers } = withServers(60).call('GET', '/servers?page=2', undefined, { host: '127.0.0.1:1' });
    assert.equal(
      headers.Link,
      ['prev', 'next', 'last']
        .map((rel, index) => `<http://127.0.0.1:1/v1/servers?page=${[1, 3, 3][index]}&per_page=25>; rel="${rel}"`)
        .join(', '),
    );
  });

  for (const query of [
    'page=0',
    'page=x',
    'per_page=0',
    'page=-1',
    'sort=size',
    'sort=id:up',
    'status=asleep',
    'label_selector=%2C',
  ])
    it(`refuses ?${query} as invalid_input with the field`, () => {
      const got = project().get(`/servers?${query}`);
      assert.deepEqual([got.status, got.code], [422, 'invalid_input']);
      assert.equal(got.body.error.details.fields[0].name, query.slice(0, query.indexOf('=')));
    });

  it('is ordered by id, or by the keys asked for', () => {
    const { get } = withServers(30);
    assert.deepEqual(ids(get('/servers?per_page=3').body), [1, 2, 3]);
    assert.deepEqual(ids(get('/servers?per_page=3&sort=id:desc').body), [30, 29, 28]);
    assert.deepEqual(ids(get('/servers?per_page=3&sort=name').body), [30, 29, 28]);
    assert.deepEqual(ids(get('/servers?per_page=2&sort=created:desc&sort=id:desc').body), [30, 29]);
    assert.deepEqual(ids(get('/servers?per_page=2&sort=created:desc&sort=name:desc').body), [21, 22]);
  });

  it('is filtered by name, labels and repeated statuses', () => {
    const { get } = withServers(12);
    assert.deepEqual(ids(get('/servers?name=w011').body), [1]);
    assert.deepEqual(ids(get('/servers?name=w01').body), []);
    assert.deepEqual(ids(get('/servers?status=off').body), [3, 6, 9, 12]);
    assert.equal(get('/servers?status=off&status=running').body.meta.pagination.total_entries, 12);
    assert.deepEqual(ids(get('/servers?status=off&label_selector=parity%3Deven').body), [6, 12]);
  });

  it('of a fixed catalogue knows names and ids', () => {
    const { get } = project();
    assert.deepEqual(
      get('/locations').body.locations.map((one: Json) => one.name),
      ['fsn1', 'nbg1', 'hel1', 'ash', 'hil', 'sin'],
    );
    assert.equal(get('/locations?name=hel1').body.locations[0].network_zone, 'eu-central');
    assert.equal(get('/locations/4').body.location.name, 'ash');
    assert.equal(get('/locations/99').status, 404);
    assert.equal(get('/server_types?name=cpx31').body.server_types[0].cores, 4);
    assert.equal(get('/server_types/45').body.server_type.architecture, 'arm');
    assert.equal(get('/server_types?per_page=50').body.server_types.length, 17);
  });
});

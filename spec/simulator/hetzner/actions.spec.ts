import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Json, project } from './project.ts';

const network = { id: 1, name: 'net', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/24'] };

const addRoute = (third: number): Json => ({ destination: `10.244.${third}.0/24`, gateway: '10.0.0.2' });

describe('An action', () => {
  it('runs, and what it does is there from its end on', () => {
    const { fake, get, post, pass } = project();
    fake.networks.create(network);
    pass(250);
    const { status, body } = post('/networks/1/actions/add_route', addRoute(1));
    assert.equal(status, 201);
    assert.deepEqual(body.action, {
      id: 10_001,
      command: 'add_route',
      status: 'running',
      progress: 0,
      started: '2026-03-01T12:00:00Z',
      finished: null,
      resources: [{ id: 1, type: 'network' }],
      error: null,
    });
    pass(399);
    assert.equal(get('/actions/10001').body.action.progress, 99);
    assert.deepEqual(get('/networks/1').body.network.routes, []);
    pass(1);
    const done = get('/actions/10001').body.action;
    assert.deepEqual(
      [done.status, done.progress, done.finished, done.error],
      ['success', 100, '2026-03-01T12:00:00Z', null],
    );
    assert.deepEqual(get('/networks/1').body.network.routes, [addRoute(1)]);
  });

  it('is born finished when actions take no time', () => {
    const { fake, get, post } = project({ actionDuration: 0 });
    fake.networks.create(network);
    assert.equal(post('/networks/1/actions/add_route', addRoute(1)).body.action.status, 'success');
    assert.equal(get('/networks/1').body.network.routes.length, 1);
  });

  it('takes as long as its command is given', () => {
    const { fake, get, post, pass } = project({ actionDuration: command => (command === 'add_route' ? 60_000 : 0) });
    fake.networks.create(network);
    post('/networks/1/actions/add_route', addRoute(1));
    pass(59_999);
    assert.equal(get('/actions/10001').body.action.status, 'running');
    pass(1);
    assert.equal(get('/actions/10001').body.action.status, 'success');
  });

  it('can fail, and then nothing of what was promised stays', () => {
    const { fake, get, post, pass } = project();
    fake.networks.create(network);
    fake.faults.add({ kind: 'action', error: { code: 'action_failed', message: 'Action failed' }, times: 1 });
    assert.equal(post('/networks/1/actions/add_route', addRoute(1)).body.action.error, null);
    pass(400);
    const { action } = get('/actions/10001').body;
    assert.deepEqual([action.status, action.error], ['error', { code: 'action_failed', message: 'Action failed' }]);
    assert.deepEqual(get('/networks/1').body.network.routes, []);
    assert.equal(post('/networks/1/actions/add_route', addRoute(1)).status, 201);
  });

  it('can keep running although its effect is there', () => {
    const { fake, get, post, pass } = project();
    fake.networks.create(network);
    fake.faults.add({ kind: 'action', duration: 300_000, effectAfter: 400 });
    post('/networks/1/actions/add_route', addRoute(1));
    pass(400);
    assert.equal(get('/networks/1').body.network.routes.length, 1);
    assert.equal(get('/actions/10001').body.action.status, 'running');
    pass(299_600);
    assert.equal(get('/actions/10001').body.action.status, 'success');
  });

  it('has its effect once, also when that comes before its end', () => {
    const { fake, post, pass } = project();
    fake.servers.create({ id: 5, name: 'w1' });
    fake.faults.add({ kind: 'action', duration: 1000, effectAfter: 100 });
    post('/servers/5/actions/poweroff');
    pass(100);
    assert.equal(fake.servers.get(5)?.status, 'off');
    fake.servers.setStatus(5, 'running');
    pass(900);
    assert.equal(fake.servers.get(5)?.status, 'running');
  });

  it('ends in the order of time, whatever the pauses between requests', () => {
    const { fake, get, post, pass } = project({ networkChanges: 'parallel' });
    fake.networks.create(network);
    fake.faults.add({ kind: 'action', duration: 2000, times: 1 });
    post('/networks/1/actions/add_route', addRoute(1));
    post('/networks/1/actions/add_route', addRoute(2));
    pass(60_000);
    const actions = get('/actions?id=10001&id=10002').body.actions;
    assert.deepEqual(
      actions.map((one: Json) => one.finished),
      ['2026-03-01T12:00:02Z', '2026-03-01T12:00:00Z'],
    );
  });
});

describe('The list of actions', () => {
  it('demands ids, leaves unknown ones out and has no meta', () => {
    const { fake, get, post } = project();
    fake.networks.create(network);
    for (let third = 0; third < 30; third++) post('/networks/1/actions/add_route', addRoute(third));
    const refused = get('/actions');
    assert.deepEqual([refused.status, refused.code], [422, 'invalid_input']);
    const { body } = get('/actions?id=10001&id=10003&id=7&page=1&sort=status&sort=id:desc');
    assert.deepEqual(
      body.actions.map((one: Json) => one.id),
      [10_003, 10_001],
    );
    assert.equal(body.meta, undefined);
    const many = Array.from({ length: 30 }, (_, index) => `id=${10_001 + index}`).join('&');
    assert.equal(get(`/actions?${many}`).body.actions.length, 25);
    assert.equal(get(`/actions?${many}&per_page=50`).body.actions.length, 30);
  });

  it('is also there below each resource, filtered by status', () => {
    const { fake, get, post, pass } = project();
    fake.networks.create(network);
    fake.networks.create({ ...network, id: 2, name: 'other' });
    fake.servers.create({ id: 101, name: 'w1' });
    post('/networks/1/actions/add_route', addRoute(1));
    post('/networks/2/actions/add_route', addRoute(1));
    pass(400);
    post('/servers/101/actions/reboot');
    const list = (target: string): number[] => get(target).body.actions.map((one: Json) => one.id);
    assert.deepEqual(list('/networks/actions'), [10_001, 10_002]);
    assert.deepEqual(list('/networks/2/actions'), [10_002]);
    assert.deepEqual(list('/servers/actions?status=running'), [10_003]);
    assert.deepEqual(list('/networks/actions?status=running'), []);
    assert.deepEqual(list('/networks/actions?id=10002'), [10_002]);
    assert.equal(get('/networks/2/actions/10002').body.action.id, 10_002);
    assert.equal(get('/networks/2/actions/10001').status, 404);
    assert.equal(get('/networks/actions/10003').status, 404);
    assert.equal(get('/networks/3/actions').status, 404);
    assert.equal(get('/actions/1').status, 404);
  });
});

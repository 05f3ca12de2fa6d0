import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeHetzner, type FakeHetznerOptions } from '../../../lib/simulator/hetzner/fake.ts';
import { listenHetzner } from '../../../lib/simulator/hetzner/listen.ts';
import { toRequest } from '../../../lib/simulator/hetzner/wire.ts';
import { type Json, start } from './project.ts';

const basic = ({ user, password }: { user: string; password: string }) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

function account(options: FakeHetznerOptions = {}) {
  let at = start;
  const fake = createFakeHetzner({ now: () => at, ...options });
  const call = (method: string, path: string, form?: string, headers: Record<string, string> = {}) => {
    const answer = fake.handle(
      toRequest(method, `/robot${path}`, {
        headers: {
          authorization: basic(fake.robot.settings.login),
          ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
          ...headers,
        },
        body: form,
      }),
    );
    const body: Json = answer.body === '' ? undefined : JSON.parse(answer.body);
    return { status: answer.status, body, error: body?.error, headers: answer.headers };
  };
  return {
    fake,
    call,
    get: (path: string) => call('GET', path),
    wrong: () => call('GET', '/server', undefined, { authorization: basic({ user: 'x', password: 'y' }) }),
    pass: (ms: number) => {
      at += ms;
    },
  };
}

describe('The fake Robot web service', () => {
  it('lists servers as a bare array of wrapped entries, with what Robot documents', () => {
    const { fake, get } = account();
    fake.robot.create({ number: 321, name: 'bm1', ipv4: '198.51.100.21', ipv6Net: '2001:db8:9::' });
    assert.deepEqual(get('/server').body, [
      {
        server: {
          server_ip: '198.51.100.21',
          server_ipv6_net: '2001:db8:9::',
          server_number: 321,
          server_name: 'bm1',
          product: 'AX41-NVMe',
          dc: 'FSN1-DC14',
          traffic: 'unlimited',
          status: 'ready',
          cancelled: false,
          paid_until: '2026-12-31',
          ip: ['198.51.100.21'],
          subnet: [{ ip: '2001:db8:9::', mask: '64' }],
          linked_storagebox: null,
        },
      },
    ]);
  });

  it('has null where a server lacks an address or a subnet', () => {
    const { fake, get } = account();
    fake.robot.create({ name: 'bm1', ipv4: null, ipv6Net: null });
    const { server_ip, server_ipv6_net, ip, subnet, server_number } = get('/server').body[0].server;
    assert.deepEqual([server_ip, server_ipv6_net, ip, subnet, server_number], [null, null, null, null, 321]);
  });

  it('gives one server by number or main address, with its options', () => {
    const { fake, get } = account();
    fake.robot.create({ number: 321, name: 'bm1', ipv4: '198.51.100.21' });
    const { server } = get('/server/321').body;
    assert.deepEqual([server.server_name, server.reset, server.hot_swap], ['bm1', true, false]);
    assert.deepEqual(get('/server/198.51.100.21').body.server, server);
  });

  it('renames by a form, and shows the new name', () => {
    const { fake, call, get } = account();
    fake.robot.create({ number: 321, name: 'bm1' });
    assert.equal(call('POST', '/server/321', 'server_name=other-cluster-7').body.server.server_name, 'other-cluster-7');
    assert.equal(get('/server').body[0].server.server_name, 'other-cluster-7');
    fake.robot.rename(321, 'bm1');
    assert.equal(get('/server/321').body.server.server_name, 'bm1');
    fake.robot.remove(321);
    assert.equal(get('/server/321').status, 404);
    assert.throws(() => fake.robot.remove(321), /no Robot server 321; there are none/);
  });

  const refusals: [what: string, method: string, path: string, form: string | undefined, error: object][] = [
    ['a form without the name', 'POST', '/server/321', 'x=1', { missing: ['server_name'], invalid: null }],
    ['a bad name', 'POST', '/server/321', 'server_name=a%20b', { missing: null, invalid: ['server_name'] }],
    ['an unknown reset', 'POST', '/reset/321', 'type=soft', { missing: null, invalid: ['type'] }],
  ];
  for (const [what, method, path, form, error] of refusals)
    it(`answers 400 INVALID_INPUT to ${what}`, () => {
      const { fake, call } = account();
      fake.robot.create({ number: 321, name: 'bm1' });
      const got = call(method, path, form);
      assert.deepEqual(
        [got.status, got.error],
        [400, { status: 400, code: 'INVALID_INPUT', message: 'invalid input', ...error }],
      );
    });

  it('takes JSON for no input at all', () => {
    const { fake, call } = account();
    fake.robot.create({ number: 321, name: 'bm1' });
    const got = call('POST', '/server/321', '{"server_name":"x"}', { 'content-type': 'application/json' });
    assert.deepEqual(got.error.missing, ['server_name']);
  });

  it('tells the operating status of one server only, and changes it by the buttons', () => {
    const { fake, call, get } = account();
    fake.robot.create({ number: 321, name: 'bm1' });
    assert.equal('operating_status' in get('/reset').body[0].reset, false);
    assert.equal(get('/reset/321').body.reset.operating_status, 'running');
    assert.equal(call('POST', '/reset/321', 'type=power_long').body.reset.type, 'power_long');
    assert.equal(get('/reset/321').body.reset.operating_status, 'shut off');
    call('POST', '/reset/321', 'type=power');
    assert.equal(get('/reset/321').body.reset.operating_status, 'running');
    fake.robot.setOperatingStatus(321, 'not supported');
    assert.equal(get('/reset/321').body.reset.operating_status, 'not supported');
  });

  it('has its own codes for what is not there', () => {
    const { fake, get } = account();
    const codes = (paths: string[]) => paths.map(path => `${get(path).status} ${get(path).error.code}`);
    assert.deepEqual(codes(['/server', '/reset', '/server/1', '/reset/1', '/nothing']), [
      '404 SERVER_NOT_FOUND',
      '404 NOT_FOUND',
      '404 SERVER_NOT_FOUND',
      '404 SERVER_NOT_FOUND',
      '404 NOT_FOUND',
    ]);
    fake.robot.create({ number: 1, name: 'bm1', resetTypes: [] });
    assert.deepEqual(codes(['/reset', '/reset/1']), ['404 NOT_FOUND', '404 RESET_NOT_AVAILABLE']);
  });

  it('keeps its requests in the same log, with templates, and takes faults by them', () => {
    const { fake, get } = account();
    fake.robot.create({ number: 321, name: 'bm1' });
    fake.faults.add({ kind: 'error', status: 503, code: 'MAINTENANCE', path: '/robot/reset/{number}', times: 1 });
    get('/server');
    get('/server/321');
    const failed = get('/reset/321');
    assert.deepEqual([failed.status, failed.error.status, failed.error.code], [503, 503, 'MAINTENANCE']);
    assert.deepEqual(fake.counts(), {
      'GET /robot/server': 1,
      'GET /robot/server/{number}': 1,
      'GET /robot/reset/{number}': 1,
    });
  });

  it('can answer 403 without a body', () => {
    const { fake, get } = account({ robot: { bareRefusals: true } });
    fake.robot.create({ number: 321, name: 'bm1' });
    fake.robot.drain();
    const got = get('/server');
    assert.deepEqual([got.status, got.body, got.headers], [403, undefined, {}]);
  });
});

describe('The quota of Robot', () => {
  it('is 200 an hour for reading servers, shared by list and single reads, and then says how many and how long', () => {
    const { fake, get, pass } = account();
    fake.robot.create({ number: 321, name: 'bm1' });
    for (let count = 0; count < 100; count += 1)
      assert.deepEqual([get('/server').status, get('/server/321').status], [200, 200]);
    const got = get('/server');
    assert.deepEqual(
      [got.status, got.error],
      [
        403,
        {
          status: 403,
          code: 'RATE_LIMIT_EXCEEDED',
          message: 'rate limit exceeded',
          max_request: 200,
          max_requests: 200,
          interval: 3600,
        },
      ],
    );
    assert.equal(get('/reset/321').status, 200);
    pass(3_600_000);
    assert.equal(get('/server').status, 200);
  });

  it('is another one for each endpoint', () => {
    const { fake, get, call } = account({
      robot: { limits: { 'GET /server': 1, 'POST /server': 1, 'GET /reset': 500, 'POST /reset': 1 } },
    });
    fake.robot.create({ number: 321, name: 'bm1' });
    const statuses = [];
    for (let count = 0; count < 2; count += 1) {
      statuses.push(get('/server').status, call('POST', '/server/321', 'server_name=a').status);
      statuses.push(call('POST', '/reset/321', 'type=hw').status);
    }
    for (let count = 0; count < 500; count += 1) assert.equal(get('/reset/321').status, 200);
    assert.deepEqual(statuses, [200, 200, 200, 403, 403, 403]);
    assert.equal(get('/reset').status, 403);
  });
});

describe('Logins at Robot', () => {
  it('are refused when wrong or absent, in the words of Robot', () => {
    const { fake, wrong, call } = account({ robot: { banAfter: 0 } });
    assert.deepEqual(wrong().error, { status: 401, code: 'UNAUTHORIZED', message: 'Unauthorized' });
    assert.equal(call('GET', '/server', undefined, { authorization: '' }).status, 401);
    assert.equal(call('GET', '/server', undefined, { authorization: `Bearer ${fake.settings.token}` }).status, 401);
  });

  it('block everybody for ten minutes after three failures within ten minutes', () => {
    const { fake, wrong, get, pass } = account();
    fake.robot.create({ number: 321, name: 'bm1' });
    wrong();
    pass(300_000);
    wrong();
    assert.deepEqual([get('/server').status, fake.robot.isBanned()], [200, false]);
    pass(299_999);
    wrong();
    assert.deepEqual([get('/server').status, fake.robot.isBanned()], [401, true]);
    pass(599_999);
    assert.equal(get('/server').status, 401);
    pass(1);
    assert.deepEqual([get('/server').status, fake.robot.isBanned()], [200, false]);
  });

  it('do not block when failures are far apart, or when blocking is off', () => {
    const { fake, wrong, pass } = account();
    for (let count = 0; count < 6; count += 1) {
      wrong();
      pass(300_001);
    }
    assert.equal(fake.robot.isBanned(), false);
    fake.robot.settings.banAfter = 0;
    for (let count = 0; count < 6; count += 1) wrong();
    assert.equal(fake.robot.isBanned(), false);
  });

  it('can change', () => {
    const { fake, get, call } = account();
    fake.robot.create({ number: 321, name: 'bm1' });
    const old = basic(fake.robot.settings.login);
    fake.robot.setLogin({ user: 'u', password: 'pä:ss' });
    assert.equal(get('/server').status, 200);
    assert.equal(call('GET', '/server', undefined, { authorization: old }).status, 401);
  });
});

describe('The fake Robot on a socket', () => {
  it('is below its own base URL', async () => {
    const fake = createFakeHetzner();
    fake.robot.create({ number: 321, name: 'bm1' });
    const listening = await listenHetzner(fake);
    try {
      const headers = { authorization: basic(fake.robot.settings.login) };
      const body = new URLSearchParams({ server_name: 'bm2' });
      const answer = await fetch(`${listening.robotUrl}/server/321`, { method: 'POST', headers, body });
      assert.equal(answer.status, 200);
      assert.equal(fake.robot.get(321)?.name, 'bm2');
    } finally {
      await listening.close();
    }
  });
});

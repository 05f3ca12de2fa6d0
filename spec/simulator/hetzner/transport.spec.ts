import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { project, start } from './project.ts';

describe('The fake Cloud API', () => {
  it('refuses an unknown path before it looks at the token, pretty-printed and with a charset', () => {
    const got = project().call('GET', '/nothing', undefined, { authorization: '' });
    assert.equal(got.status, 404);
    assert.equal(got.headers['Content-Type'], 'application/json; charset=UTF-8');
    assert.match(got.answer.body, /^\{\n {2}"error"/);
    assert.deepEqual(got.body.error, { code: 'not_found', message: 'api route not found', details: null });
  });

  const refusals: [what: string, authorization: string, message: string][] = [
    ['without a token', '', 'token is required'],
    ['with another scheme', 'Basic eHg=', 'token is required'],
    ['with a wrong token', 'Bearer wrong', 'the token you have provided is invalid'],
  ];
  for (const [what, authorization, message] of refusals)
    it(`answers 401 ${what}, also for a wrong verb, and does not count it`, () => {
      const { call, get } = project();
      for (const method of ['GET', 'DELETE']) {
        const got = call(method, '/locations', undefined, { authorization });
        assert.deepEqual([got.status, got.code, got.message], [401, 'unauthorized', message]);
      }
      assert.equal(get('/locations').headers['RateLimit-Remaining'], '3599');
    });

  it('answers 405 for a wrong verb with a good token', () => {
    const got = project().call('DELETE', '/locations');
    assert.deepEqual([got.status, got.code], [405, 'method_not_allowed']);
  });

  it('lets a read-only token read and nothing else', () => {
    const { get, post } = project({ readOnly: true });
    assert.equal(get('/servers').status, 200);
    assert.deepEqual([post('/networks', {}).status, post('/networks', {}).code], [401, 'token_readonly']);
  });

  it('takes a revoked token for wrong from that moment on', () => {
    const { fake, get, call } = project();
    const old = fake.settings.token;
    assert.equal(get('/servers').status, 200);
    fake.settings.token = 'y'.repeat(64);
    assert.equal(call('GET', '/servers', undefined, { authorization: `Bearer ${old}` }).status, 401);
  });

  for (const text of ['{', '[]', '"x"'])
    it(`answers json_error to the body ${text}`, () => {
      const got = project().call('POST', '/networks', text);
      assert.deepEqual([got.status, got.code], [400, 'json_error']);
    });

  it('labels answers as plain application/json with a correlation id that differs each time', () => {
    const { get } = project();
    const ids = new Set<string>();
    for (let count = 0; count < 20; count++) {
      const { headers } = get('/locations');
      assert.equal(headers['Content-Type'], 'application/json');
      assert.match(headers['X-Correlation-Id'] ?? '', /^[1-9a-f][0-9a-f]{14,31}$/);
      ids.add(headers['X-Correlation-Id'] ?? '');
    }
    assert.equal(ids.size, 20);
  });

  it('says 410 with the announcement for the removed datacenters', () => {
    for (const path of ['/datacenters', '/datacenters/1']) {
      const got = project().get(path);
      assert.deepEqual([got.status, got.code], [410, 'deprecated_api_endpoint']);
      assert.match(got.body.error.details.announcement, /datacenters-deprecated$/);
    }
  });

  it('delays answers by what is configured', () => {
    assert.deepEqual(project({ answerDelay: 20 }).get('/locations').answer.disposition, { kind: 'send', delay: 20 });
  });
});

describe('The quota of a project', () => {
  it('counts down, refills at one a second and names the second at which it is full', () => {
    const { get, pass } = project();
    const headers = get('/locations').headers;
    assert.equal(headers['RateLimit-Limit'], '3600');
    assert.equal(headers['RateLimit-Remaining'], '3599');
    assert.equal(headers['RateLimit-Reset'], String(start / 1000 + 1));
    get('/locations');
    pass(1000);
    assert.equal(get('/locations').headers['RateLimit-Remaining'], '3598');
  });

  it('answers 429 when it is empty, still with the headers, and recovers by refill', () => {
    const { fake, get, pass } = project();
    fake.setRateLimit({ remaining: 1 });
    assert.equal(get('/servers').status, 200);
    const got = get('/servers');
    assert.deepEqual(
      [got.status, got.code, got.message],
      [429, 'rate_limit_exceeded', 'limit of 3600 requests per hour reached'],
    );
    assert.equal(got.headers['RateLimit-Remaining'], '0');
    assert.equal(got.headers['RateLimit-Reset'], String(start / 1000 + 3600));
    pass(999);
    assert.equal(get('/servers').status, 429);
    pass(1);
    assert.equal(get('/servers').status, 200);
  });

  it('never holds more than its limit and follows a changed one', () => {
    const { fake, get, pass } = project({ limit: 7200 });
    pass(3_600_000);
    assert.equal(get('/servers').headers['RateLimit-Remaining'], '7199');
    fake.setRateLimit({ limit: 10 });
    assert.equal(get('/servers').headers['RateLimit-Remaining'], '9');
    assert.equal(get('/servers').headers['RateLimit-Limit'], '10');
  });

  it('can be used up by others, for a while including all refills', () => {
    const { fake, get, pass } = project();
    fake.drain({ tokens: 100 });
    assert.equal(get('/servers').headers['RateLimit-Remaining'], '3499');
    fake.drain({ forMs: 60_000 });
    pass(60_999);
    assert.equal(get('/servers').status, 429);
    pass(1);
    assert.equal(get('/servers').status, 200);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  classOf,
  type ErrorClass,
  faultOfAnswer,
  isLimitExceeded,
  isNotFound,
  isReadOnlyToken,
} from '../../lib/hetzner/errors.ts';
import { hetznerError } from './support.ts';

const answered = (status: number, body: unknown) => hetznerError(faultOfAnswer(status, body));
const coded = (status: number, code: string) => answered(status, { error: { code, message: 'm', details: null } });

describe('the class of a Hetzner error', () => {
  const table: ReadonlyArray<readonly [number, string, ErrorClass]> = [
    [401, 'unauthorized', 'unauthorized'],
    [401, 'token_readonly', 'unauthorized'],
    [403, 'forbidden', 'permanent'],
    [403, 'resource_limit_exceeded', 'permanent'],
    [403, 'maintenance', 'transient'],
    [404, 'not_found', 'permanent'],
    [409, 'uniqueness_error', 'permanent'],
    [409, 'conflict', 'locked'],
    [412, 'unavailable', 'transient'],
    [422, 'invalid_input', 'permanent'],
    [423, 'locked', 'locked'],
    [423, 'protected', 'permanent'],
    [422, 'resource_locked', 'locked'],
    [429, 'rate_limit_exceeded', 'rateLimited'],
    [500, 'server_error', 'transient'],
    [502, 'bad_gateway', 'transient'],
    [503, 'unavailable', 'transient'],
    [504, 'timeout', 'transient'],
    [200, 'invalid_response', 'transient'],
  ];
  for (const [status, code, expected] of table) {
    it(`${status} ${code} is ${expected}`, () => assert.equal(classOf(coded(status, code)), expected));
  }

  it('of a change that a token may not make is that of refused credentials, in whatever words', () => {
    const said = (method: string, code: string, message: string) =>
      hetznerError({ ...faultOfAnswer(403, { error: { code, message } }), method });
    for (const message of [
      'insufficient permissions for this request',
      'token only has read access',
      'the token is only allowed to perform GET requests',
      'token is read-only',
    ]) {
      assert.equal(classOf(said('POST', 'forbidden', message)), 'unauthorized', message);
      assert.ok(isReadOnlyToken(said('DELETE', 'forbidden', message)));
      assert.ok(!isReadOnlyToken(said('GET', 'forbidden', message)), 'nothing is read then');
    }
    assert.ok(isReadOnlyToken(said('POST', 'token_readonly', 'x')));
    assert.equal(classOf(said('POST', 'forbidden', 'the resource is protected')), 'permanent');
    assert.equal(classOf(said('POST', 'resource_limit_exceeded', 'no permission')), 'permanent');
  });

  it('without an answer is transient', () => {
    assert.equal(classOf(hetznerError({ status: 0, code: 'timeout' })), 'transient');
    assert.equal(classOf(hetznerError({ status: 0, code: 'ECONNREFUSED' })), 'transient');
  });

  it('of a body that is no error envelope follows from the status', () => {
    assert.equal(classOf(answered(502, undefined)), 'transient');
    assert.equal(classOf(answered(429, { error: 'slow down' })), 'rateLimited');
    assert.equal(classOf(answered(423, 'nope')), 'locked');
    assert.equal(classOf(answered(302, undefined)), 'permanent');
    assert.equal(answered(502, undefined).code, 'http_502');
  });

  it('of anything else is permanent', () => assert.equal(classOf(new TypeError('bug')), 'permanent'));

  it('BUG-068: a 429 is the rate limit whatever its code, a 403 about a quota never is', () => {
    assert.equal(classOf(coded(429, 'something_new')), 'rateLimited');
    assert.equal(classOf(coded(403, 'limit_reached')), 'permanent');
    assert.ok(isLimitExceeded(coded(403, 'resource_limit_exceeded')));
    assert.ok(!isLimitExceeded(coded(429, 'rate_limit_exceeded')));
  });
});

describe('an error of Robot', () => {
  const robot = (status: number, body: unknown) => hetznerError({ api: 'robot', ...faultOfAnswer(status, body) });
  const said = (status: number, code: string, more: object = {}) =>
    robot(status, { error: { status, code, message: 'm', ...more } });
  const table: ReadonlyArray<readonly [number, string, ErrorClass]> = [
    [400, 'INVALID_INPUT', 'permanent'],
    [401, 'UNAUTHORIZED', 'unauthorized'],
    [403, 'RATE_LIMIT_EXCEEDED', 'rateLimited'],
    [403, 'FORBIDDEN', 'permanent'],
    [404, 'SERVER_NOT_FOUND', 'permanent'],
    [404, 'RESET_NOT_AVAILABLE', 'permanent'],
    [500, 'RESET_FAILED', 'transient'],
    [503, 'MAINTENANCE', 'transient'],
  ];
  for (const [status, code, expected] of table) {
    it(`${status} ${code} is ${expected}`, () => assert.equal(classOf(said(status, code)), expected));
  }

  it('is the rate limit also when it is a 403 without a body, which for Cloud it is not', () => {
    assert.equal(classOf(robot(403, undefined)), 'rateLimited');
    assert.equal(classOf(answered(403, undefined)), 'permanent');
    assert.equal(classOf(coded(403, 'RATE_LIMIT_EXCEEDED')), 'permanent');
  });

  it('has its details beside the message', () => {
    const details = { max_request: 200, interval: 3600 };
    assert.deepEqual(said(403, 'RATE_LIMIT_EXCEEDED', details).details, details);
    assert.equal(said(404, 'SERVER_NOT_FOUND').details, undefined);
  });

  it('is "not found" by the code for servers only', () => {
    assert.ok(isNotFound(said(404, 'SERVER_NOT_FOUND')));
    assert.ok(!isNotFound(said(404, 'RESET_NOT_AVAILABLE')));
    assert.ok(!isNotFound(said(404, 'not_found')));
    assert.ok(!isNotFound(robot(404, undefined)));
    assert.ok(!isNotFound(coded(404, 'SERVER_NOT_FOUND')));
  });
});

describe('the message of a Hetzner error', () => {
  it('BUG-060: names the fields of invalid input with their messages', () => {
    const err = answered(422, {
      error: {
        code: 'invalid_input',
        message: 'invalid input',
        details: {
          fields: [{ name: 'timeout_idle', messages: ['must be between 30s and 300s', 'too short'] }, { name: 'port' }],
        },
      },
    });
    assert.equal(
      err.message,
      'invalid input: timeout_idle: must be between 30s and 300s, too short; port (invalid_input)',
    );
  });

  it('survives details of any shape', () => {
    for (const details of [null, 7, [], { fields: 3 }, { fields: [null, 'x', { messages: 4 }] }]) {
      assert.match(answered(422, { error: { code: 'invalid_input', message: 'bad', details } }).message, /^bad/);
    }
  });
});

describe('not found', () => {
  it('is what Hetzner says about the entity, not what a proxy or a wrong endpoint says', () => {
    assert.ok(isNotFound(coded(404, 'not_found')));
    assert.ok(!isNotFound(answered(404, undefined)));
    assert.ok(!isNotFound(answered(404, { error: { code: 'not_found', message: 'api route not found' } })));
    assert.ok(!isNotFound(coded(422, 'not_found')));
    assert.ok(!isNotFound(new Error('not_found')));
  });
});

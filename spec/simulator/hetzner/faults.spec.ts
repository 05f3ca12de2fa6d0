import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Fault } from '../../../lib/simulator/hetzner/faults.ts';
import { type Project, project } from './project.ts';

const route = { destination: '10.244.1.0/24', gateway: '10.0.0.2' };

function withFault(fault: Fault): Project & { addRoute(): ReturnType<Project['post']>; routes(): number } {
  const made = project({ answerDelay: 20 });
  made.fake.networks.create({ id: 1, name: 'net', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/24'] });
  made.fake.faults.add(fault);
  return {
    ...made,
    addRoute: () => made.post('/networks/1/actions/add_route', route),
    routes: () => {
      made.pass(400);
      return made.fake.networks.get(1)?.routes.length ?? 0;
    },
  };
}

describe('A fault', () => {
  it('of kind error answers the envelope without any effect, and counts against the quota', () => {
    const { addRoute, routes, get } = withFault({
      kind: 'error',
      status: 503,
      code: 'unavailable',
      message: 'later',
      times: 1,
    });
    const got = addRoute();
    assert.deepEqual([got.status, got.code, got.message], [503, 'unavailable', 'later']);
    assert.equal(got.headers['RateLimit-Remaining'], '3599');
    assert.equal(routes(), 0);
    assert.equal(get('/networks/1').status, 200);
  });

  it('of kind html answers like a gateway, without the headers of the API', () => {
    const { addRoute, routes } = withFault({ kind: 'html', status: 502 });
    const { answer } = addRoute();
    assert.deepEqual([answer.status, answer.headers], [502, { 'Content-Type': 'text/html' }]);
    assert.match(answer.body, /^<html>/);
    assert.equal(routes(), 0);
  });

  it('of kind redirect points elsewhere', () => {
    const { answer } = withFault({ kind: 'redirect', location: 'http://127.0.0.1:1/', status: 301 }).addRoute();
    assert.deepEqual([answer.status, answer.headers.Location], [301, 'http://127.0.0.1:1/']);
  });

  const silent: [
    kind: 'hang' | 'reset' | 'lost-after-effect' | 'reset-after-effect',
    disposition: object,
    effects: number,
  ][] = [
    ['hang', { kind: 'hang' }, 0],
    ['reset', { kind: 'reset', delay: 20 }, 0],
    ['lost-after-effect', { kind: 'hang' }, 1],
    ['reset-after-effect', { kind: 'reset', delay: 20 }, 1],
  ];
  for (const [kind, disposition, effects] of silent)
    it(`of kind ${kind} brings no answer and has ${effects === 0 ? 'no' : 'its'} effect`, () => {
      const { addRoute, routes } = withFault({ kind, times: 1 });
      assert.deepEqual(addRoute().answer.disposition, disposition);
      assert.equal(routes(), effects);
    });

  it('of kind slow adds to the delay', () => {
    assert.deepEqual(withFault({ kind: 'slow', ms: 5000 }).addRoute().answer.disposition, {
      kind: 'send',
      delay: 5020,
    });
  });

  it('of kind truncated sends a part', () => {
    const { answer } = withFault({ kind: 'truncated' }).addRoute();
    assert.deepEqual([answer.status, answer.disposition], [201, { kind: 'truncate', delay: 20 }]);
  });

  it('of kind wrong-type mislabels JSON', () => {
    const { answer } = withFault({ kind: 'wrong-type' }).addRoute();
    assert.equal(answer.headers['Content-Type'], 'text/plain');
    assert.equal(JSON.parse(answer.body).action.command, 'add_route');
  });

  it('of kind rewrite changes body, status and headers on their way', () => {
    const { get } = withFault({
      kind: 'rewrite',
      status: 299,
      headers: { 'ratelimit-limit': undefined, 'RateLimit-Remaining': 'many' },
      body: body => ({ ...(body as object), extra: 1 }),
    });
    const { status, headers, body } = get('/networks/1');
    assert.deepEqual([status, headers['RateLimit-Limit'], headers['RateLimit-Remaining']], [299, undefined, 'many']);
    assert.deepEqual([body.extra, body.network.id], [1, 1]);
  });

  it('of kind rewrite can send no JSON at all', () => {
    const { answer } = withFault({
      kind: 'rewrite',
      headers: { 'Content-Type': 'text/html' },
      body: () => 'nonsense',
    }).addRoute();
    assert.equal(answer.body, 'nonsense');
  });

  const error = { kind: 'error', status: 500, code: 'server_error' } as const;
  const paths: [what: string, fault: Partial<Fault>, strikes: boolean[]][] = [
    ['the route template', { path: '/networks/{id}' }, [true, false, false]],
    ['the path', { path: '/networks/1' }, [true, false, false]],
    ['an expression', { path: /^\/networks/ }, [true, true, false]],
    ['the method', { method: 'GET' }, [true, false, true]],
    ['a condition', { when: request => request.query.has('name') }, [false, false, true]],
    ['nothing', {}, [true, true, true]],
  ];
  for (const [what, fault, strikes] of paths)
    it(`strikes by ${what}`, () => {
      const { get, addRoute } = withFault({ ...error, ...fault } as Fault);
      const found = [get('/networks/1'), addRoute(), get('/servers?name=x')].map(one => one.status === 500);
      assert.deepEqual(found, strikes);
    });

  it('ends when it is used up, removed, cleared or its time is over', () => {
    const { fake, get, pass } = project();
    const failing = (): boolean => get('/servers').status === 500;
    const twice = fake.faults.add({ ...error, times: 2, skip: 1 });
    assert.deepEqual([failing(), failing(), failing(), failing(), twice.struck], [false, true, true, false, 2]);
    const removed = fake.faults.add(error);
    assert.equal(failing(), true);
    removed.remove();
    assert.equal(failing(), false);
    fake.faults.add({ ...error, forMs: 1000 });
    pass(999);
    assert.equal(failing(), true);
    pass(1);
    assert.equal(failing(), false);
    fake.faults.add(error);
    fake.faults.clear();
    assert.equal(failing(), false);
  });

  it('strikes in the order of adding, one a request', () => {
    const { fake, get } = project();
    fake.faults.add({ ...error, times: 1 });
    fake.faults.add({ kind: 'error', status: 503, code: 'unavailable', times: 1 });
    assert.deepEqual([get('/servers').status, get('/servers').status, get('/servers').status], [500, 503, 200]);
  });

  it('does not hide a wrong token', () => {
    const { fake, call } = project();
    fake.faults.add(error);
    assert.equal(call('GET', '/servers', undefined, { authorization: '' }).status, 401);
  });
});

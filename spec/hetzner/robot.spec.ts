import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { classOf, HetznerError } from '../../lib/hetzner/errors.ts';
import { createRobot, type RobotOptions } from '../../lib/hetzner/robot.ts';
import { createFakeHetzner, type FakeHetznerOptions } from '../../lib/simulator/hetzner/fake.ts';
import { InProcessDispatcher } from '../../lib/simulator/kubernetes/dispatcher.ts';
import { exchangerOf } from '../support/hetzner-exchanger.ts';
import { useVirtualTime } from '../support/virtual-time.ts';
import { calling, memoryLogger, rejection } from './support.ts';

const minute = 60_000;
const hour = 3_600_000;
const user = '#ws+spec';
const password = 'secret-pässword-0123456789';

/** A client and an account with the server bm1 (321), in virtual time. */
const setUp = (t: TestContext, options: Partial<RobotOptions> = {}, fakeOptions: FakeHetznerOptions = {}) => {
  const time = useVirtualTime(t);
  const fake = createFakeHetzner({ now: time.now, answerDelay: 20, ...fakeOptions });
  fake.robot.setLogin({ user, password });
  fake.robot.create({ number: 321, name: 'bm1', ipv4: '198.51.100.21', ipv6Net: '2001:db8:9::' });
  const logger = memoryLogger();
  const refusals: [string, number][] = [];
  const login = { user, password };
  const robot = createRobot({
    endpoint: 'http://hetzner/robot',
    login: () => ({ ...login }),
    userAgent: 'spec',
    clock: time.clock,
    logger,
    dispatcher: new InProcessDispatcher(exchangerOf(fake, 'spec')),
    onLoginRefused: (err, pause) => refusals.push([err.code, pause]),
    ...options,
  });
  const now = () => time.clock.monotonic();
  const o = calling();
  return {
    ...time,
    fake,
    robot,
    logger,
    login,
    refusals,
    mono: now,
    o,
    recent: () => time.settled(robot.servers.recent(o), hour),
    newest: () => time.settled(robot.servers.notBefore(now(), o), hour),
    shutOff: (number = 321) => time.settled(robot.isShutOff(number, o), hour),
    failure: async (promise: Promise<unknown>): Promise<HetznerError> => {
      const err = await time.settled(rejection(promise), hour);
      assert.ok(err instanceof HetznerError, String(err));
      assert.equal(err.api, 'robot');
      return err;
    },
    lists: () => fake.count({ route: '/robot/server' }),
    resets: () => fake.count({ route: '/robot/reset/{number}' }),
  };
};

describe('one Robot server', () => {
  it('exists unless Robot itself says that it does not', async t => {
    const { fake, robot, settled, failure, o } = setUp(t);
    const has = (number: number) => settled(robot.hasServer(number, o), hour);
    assert.deepEqual([await has(321), await has(322)], [true, false]);
    for (const fault of [
      { kind: 'html', status: 502 },
      { kind: 'error', status: 404, code: 'NOT_FOUND' },
      { kind: 'rewrite', body: () => ({ server: null }) },
    ] as const) {
      const { remove } = fake.faults.add({ ...fault, path: /\/server\/\d/ });
      assert.equal((await failure(robot.hasServer(321, o))).api, 'robot');
      remove();
    }
  });

  it('is asked for with a login that is known since its change', async t => {
    const { robot, recent, login, fake, advance, mono, newest } = setUp(t);
    await recent();
    assert.equal(robot.loginSince(), Number.NEGATIVE_INFINITY);
    await advance(minute);
    login.password = 'another-password-0123456789';
    fake.robot.setLogin({ user, password: login.password });
    const at = mono();
    await newest();
    assert.equal(robot.loginSince(), at);
  });
});

describe('the list of Robot servers', () => {
  it('is read once for all who wait, and serves ordinary reads for the cache time-out', async t => {
    const { robot, recent, advance, settled, lists, o } = setUp(t);
    const [one, two] = await settled(Promise.all([robot.servers.recent(o), robot.servers.recent(o)]));
    assert.equal(one, two);
    assert.deepEqual(one.servers, [
      { number: 321, name: 'bm1', product: 'AX41-NVMe', dc: 'FSN1-DC14', ipv4: '198.51.100.21', ipv6: '2001:db8:9::1' },
    ]);
    await advance(5 * minute - 100);
    assert.equal(await recent(), one);
    assert.equal(lists(), 1);
    await advance(100);
    assert.notEqual(await recent(), one);
    assert.equal(lists(), 2);
  });

  it('has the cache time-out of the setting', async t => {
    const { recent, advance, lists } = setUp(t, { cacheTimeout: minute });
    await recent();
    await advance(minute + 1);
    await recent();
    assert.equal(lists(), 2);
  });

  it('is empty for an account without servers, which Robot says by a 404', async t => {
    const { fake, recent } = setUp(t);
    fake.robot.remove(321);
    assert.deepEqual((await recent()).servers, []);
  });

  for (const [what, body] of [
    ['a 404 of somebody else', () => '<html>not here</html>'],
    ['a 404 of another code', () => ({ error: { status: 404, code: 'NOT_FOUND', message: 'not found' } })],
  ] as const)
    it(`BUG-015: is an error, not empty, after ${what}`, async t => {
      const { fake, robot, failure, o } = setUp(t);
      fake.faults.add({ kind: 'rewrite', status: 404, path: '/robot/server', body });
      assert.equal((await failure(robot.servers.recent(o))).status, 404);
    });

  for (const [what, body] of [
    ['an object', () => ({ server: [] })],
    ['nothing', () => ''],
    ['an entry without a number', (list: unknown) => [...(list as unknown[]), { server: { server_name: 'x' } }]],
    ['an entry without a server', (list: unknown) => [...(list as unknown[]), null]],
    ['half a list', () => '[{"server":{"server_number":321,'],
  ] as const)
    it(`BUG-015: is an error and replaces nothing when the answer is ${what}`, async t => {
      const { fake, robot, failure, recent, advance, mono, o } = setUp(t);
      const good = await recent();
      await advance(minute);
      fake.faults.add({ kind: 'rewrite', path: '/robot/server', body });
      const err = await failure(robot.servers.notBefore(mono(), o));
      assert.deepEqual([err.code, classOf(err)], ['invalid_response', 'transient']);
      assert.equal(robot.servers.latest(), good);
      assert.equal(await recent(), good);
    });

  it('finds by number, and by name all that have it, as Robot does not keep names unique', async t => {
    const { fake, recent } = setUp(t);
    fake.robot.create({ number: 322, name: 'bm1' });
    fake.robot.create({ number: 323, name: '' });
    const list = await recent();
    assert.equal(list.byNumber(322)?.name, 'bm1');
    assert.equal(list.byNumber(1), undefined);
    assert.deepEqual(
      list.byName('bm1').map(({ number }) => number),
      [321, 322],
    );
    assert.deepEqual(list.byName('bm9'), []);
    assert.deepEqual(
      list.byName('').map(({ number }) => number),
      [323],
    );
  });

  it('is read anew before somebody hears that a server is missing, and not when it is there', async t => {
    const { fake, robot, recent, advance, settled, lists, o } = setUp(t);
    await recent();
    fake.robot.create({ number: 322, name: 'bm2' });
    await advance(minute);
    const find = (number: number) => settled(robot.servers.find(list => list.byNumber(number), o));
    assert.equal((await find(321))?.name, 'bm1');
    assert.equal(lists(), 1);
    assert.equal((await find(322))?.name, 'bm2');
    assert.equal(lists(), 2);
    assert.equal(await find(323), undefined);
    assert.equal(lists(), 3);
  });

  it('is read once only for a miss when there was no list before', async t => {
    const { robot, settled, lists, o } = setUp(t);
    assert.equal(await settled(robot.servers.find(list => list.byNumber(1), o)), undefined);
    assert.equal(lists(), 1);
  });

  it('is read at most every 20 s, and in the long run takes less than half of the quota, whatever is asked for', async t => {
    const { fake, robot, advance, mono, now, o } = setUp(t);
    const startedAt = now();
    for (let second = 0; second < 2 * 3600; second += 1) {
      void robot.servers.notBefore(mono(), o).catch(() => {});
      await advance(1_000);
    }
    const times = fake.requests.map(({ at }) => at);
    assert.ok(times.every((at, i) => i === 0 || at - (times[i - 1] ?? 0) >= 20_000));
    const inHour = (from: number) =>
      fake.count({ since: startedAt + from }) - fake.count({ since: startedAt + from + hour });
    assert.ok(inHour(0) > 120 && inHour(0) <= 160, `${inHour(0)}`);
    assert.ok(inHour(hour) > 60 && inHour(hour) <= 90, `${inHour(hour)}`);
    assert.ok(fake.requests.every(({ status }) => status === 200));
  });

  it('is ended for nobody by one who leaves, and tells each new list', async t => {
    const { robot, settled, recent, o } = setUp(t);
    const seen: number[] = [];
    robot.servers.changes$.subscribe(list => seen.push(list.servers.length));
    const leaving = new AbortController();
    const left = rejection(robot.servers.recent(calling('route', leaving.signal)));
    const stays = robot.servers.recent(o);
    leaving.abort();
    assert.equal(await settled(left), leaving.signal.reason);
    assert.equal((await settled(stays)).servers.length, 1);
    assert.equal(await recent(), robot.servers.latest());
    assert.deepEqual(seen, [1]);
  });
});

describe('whether a Robot server is shut off', () => {
  for (const [status, expected] of [
    ['shut off', true],
    ['running', false],
    ['not supported', false],
    ['Shut Off', false],
    ['off', false],
    ['', false],
  ] as const)
    it(`is ${expected} for the status ${JSON.stringify(status)}`, async t => {
      const { fake, shutOff } = setUp(t);
      fake.robot.setOperatingStatus(321, status);
      assert.equal(await shutOff(), expected);
    });

  it('is false when the answer does not tell, or the model has no reset', async t => {
    const { fake, shutOff } = setUp(t);
    fake.robot.create({ number: 322, name: 'bm2', resetTypes: [], operatingStatus: 'shut off' });
    assert.equal(await shutOff(322), false);
    fake.faults.add({
      kind: 'rewrite',
      path: '/robot/reset/{number}',
      body: () => ({ reset: { server_number: 321 } }),
    });
    assert.equal(await shutOff(), false);
  });

  it('is an error for a server that is not there and for an answer that is none', async t => {
    const { fake, robot, failure, o } = setUp(t);
    assert.equal((await failure(robot.isShutOff(1, o))).code, 'SERVER_NOT_FOUND');
    fake.faults.add({ kind: 'rewrite', path: '/robot/reset/{number}', body: () => [] });
    assert.equal((await failure(robot.isShutOff(321, o))).code, 'invalid_response');
  });

  it('is an error that says so when our share of the quota is used up, and goes on as it refills', async t => {
    const { fake, robot, shutOff, failure, advance, resets, o } = setUp(t);
    for (let count = 0; count < 200; count += 1) await shutOff();
    const before = resets();
    const first = await failure(robot.isShutOff(321, o));
    assert.match(first.message, /^Robot is not asked before 2026-\S+Z: our share of its quota for \/reset is used up/);
    assert.deepEqual([classOf(first), first.sent, resets()], ['rateLimited', false, before]);
    await advance(18_000);
    assert.equal(await shutOff(), false);
    for (let count = 0; count < 3 * 3600; count += 1) {
      void robot.isShutOff(321, o).catch(() => {});
      await advance(1_000);
    }
    assert.ok(fake.requests.every(({ status }) => status === 200));
  });
});

describe('the rate limit of Robot', () => {
  const limited = (interval: unknown) => ({
    kind: 'error' as const,
    status: 403,
    code: 'RATE_LIMIT_EXCEEDED',
    message: 'rate limit exceeded',
    details: { max_request: 200, interval },
  });
  const bare = { kind: 'rewrite' as const, status: 403, body: () => '' };
  const rows: [
    what: string,
    fault: ReturnType<typeof limited> | typeof bare,
    waitTime: number | undefined,
    ms: number,
  ][] = [
    ['as long as the answer says', limited(60), undefined, minute],
    ['ten minutes when the answer says an hour', limited(3600), undefined, 10 * minute],
    ['five minutes when the answer does not say', limited(undefined), undefined, 5 * minute],
    ['five minutes when the answer says nonsense', limited('soon'), undefined, 5 * minute],
    ['five minutes when the answer says zero', limited(0), undefined, 5 * minute],
    ['five minutes after a 403 without a body', bare, undefined, 5 * minute],
    ['as long as ROBOT_RATE_LIMIT_WAIT_TIME says', limited(3600), 2 * minute, 2 * minute],
    ['as long as ROBOT_RATE_LIMIT_WAIT_TIME says after a 403 without a body', bare, 2 * minute, 2 * minute],
  ];
  for (const [what, fault, rateLimitWaitTime, ms] of rows)
    it(`BUG-068: pauses all calls ${what}`, async t => {
      const { fake, robot, failure, shutOff, advance, logger, o } = setUp(t, { rateLimitWaitTime });
      fake.faults.add({ ...fault, path: '/robot/reset/{number}', times: 1 });
      const err = await failure(robot.isShutOff(321, o));
      assert.equal(classOf(err), 'rateLimited');
      assert.deepEqual(
        logger.lines.filter(({ level }) => level === 'warn').map(({ msg, fields }) => [msg, fields.after]),
        [['Paused requests to Robot, its rate limit is reached', ms]],
      );
      await advance(ms - 1);
      const refused = await failure(robot.isShutOff(321, o));
      await failure(robot.servers.recent(o));
      assert.match(refused.message, /^Robot is not asked before 2026-11-01T00:\d\d:\d\d\.\d{3}Z: it answered/);
      assert.deepEqual([classOf(refused), refused.sent], ['rateLimited', false]);
      assert.equal(fake.count(), 1);
      await advance(1);
      assert.equal(await shutOff(), false);
    });

  it('leaves the list that is there to those who accept its age, and refuses the others at once', async t => {
    const { fake, robot, recent, failure, advance, mono, now, lists, o } = setUp(t);
    const list = await recent();
    await advance(minute);
    fake.robot.drain();
    assert.equal((await failure(robot.servers.notBefore(mono(), o))).code, 'RATE_LIMIT_EXCEEDED');
    assert.equal(await recent(), list);
    const before = now();
    const err = await failure(robot.servers.notBefore(mono(), o));
    assert.equal(now(), before);
    assert.match(err.message, /Robot is not asked before/);
    assert.equal((await failure(robot.servers.find(found => found.byNumber(9), o))).code, 'RATE_LIMIT_EXCEEDED');
    assert.equal(lists(), 2);
  });
});

describe('a refused login at Robot', () => {
  it('stops all calls after one failure, with one error in the log and one report', async t => {
    const { fake, robot, login, failure, advance, settled, logger, refusals, o } = setUp(t);
    login.password = 'wrong';
    const numbers = Array.from({ length: 10 }, (_, i) => i + 1);
    const errs = await settled(
      Promise.all([...numbers.map(n => rejection(robot.isShutOff(n, o))), rejection(robot.servers.recent(o))]),
    );
    assert.ok(errs.every(err => classOf(err) === 'unauthorized'));
    for (let count = 0; count < 60; count += 1) {
      await advance(10_000);
      const err = await failure(robot.servers.recent(o));
      assert.match(err.message, /not asked before 2026-\S+: it refused the login \(ROBOT_USER, ROBOT_PASSWORD\)/);
      assert.deepEqual([err.status, err.code, err.sent], [401, 'UNAUTHORIZED', false]);
    }
    assert.equal(fake.count(), 1);
    assert.deepEqual(refusals, [['UNAUTHORIZED', 900_000]]);
    const errors = logger.lines.filter(({ level }) => level === 'error');
    assert.deepEqual(
      errors.map(({ msg, fields }) => [msg, fields.after]),
      [['Stopped asking Robot, which refused the login', 900_000]],
    );
  });

  it('is tried again by a single call every 15 minutes, so that three never fall into 10 minutes', async t => {
    const { fake, robot, login, advance, o } = setUp(t);
    login.password = 'wrong';
    for (let second = 0; second < 4 * 3600; second += 5) {
      for (const number of [1, 2, 3]) void robot.isShutOff(number, o).catch(() => {});
      void robot.servers.recent(o).catch(() => {});
      await advance(5_000);
      assert.equal(fake.robot.isBanned(), false);
    }
    assert.equal(fake.count(), 16);
    assert.ok(fake.requests.every(({ at }, i, all) => i === 0 || at - (all[i - 1]?.at ?? 0) >= 900_000));
  });

  it('ends when the login changes, at once', async t => {
    const { fake, robot, login, failure, shutOff, recent, advance, logger, o } = setUp(t);
    login.password = 'wrong';
    await failure(robot.isShutOff(321, o));
    await advance(1_000);
    login.password = password;
    assert.equal(await shutOff(), false);
    assert.equal((await recent()).servers.length, 1);
    assert.deepEqual(
      logger.lines.filter(({ level }) => level === 'info').map(({ msg }) => msg),
      ['Logged in to Robot again'],
    );
    assert.equal(fake.robot.isBanned(), false);
  });

  it('is not risked a third time, however often the login changes', async t => {
    const { fake, robot, login, failure, shutOff, advance, o } = setUp(t);
    for (let count = 0; count < 20; count += 1) {
      login.password = `wrong ${count}`;
      const err = await failure(robot.isShutOff(321, o));
      if (count > 1) assert.match(err.message, /it refused several logins, one more would block this address/);
      await advance(30_000);
    }
    assert.deepEqual([fake.count(), fake.robot.isBanned()], [2, false]);
    login.password = password;
    await failure(robot.isShutOff(321, o));
    await advance(5 * minute);
    assert.equal(await shutOff(), false);
  });

  it('that is changed back to the one refused before is still not risked a third time', async t => {
    const { fake, robot, login, failure, advance, o } = setUp(t);
    for (const attempt of ['one', 'two', 'one', 'two', 'one']) {
      login.password = attempt;
      await failure(robot.isShutOff(321, o));
      await advance(minute);
    }
    assert.equal(fake.count(), 2);
  });

  it('of a login that worked before stops as well', async t => {
    const { fake, robot, failure, recent, advance, mono, o } = setUp(t);
    const list = await recent();
    fake.robot.setLogin({ user, password: 'changed at Hetzner' });
    await advance(minute);
    await failure(robot.isShutOff(321, o));
    await failure(robot.servers.notBefore(mono(), o));
    assert.equal(await recent(), list);
    assert.equal(fake.count(), 2);
  });

  it('is noticed also when the caller has left meanwhile', async t => {
    const { fake, robot, login, failure, advance, o } = setUp(t);
    login.password = 'wrong';
    for (let count = 0; count < 5; count += 1) {
      const leaving = new AbortController();
      const left = rejection(robot.isShutOff(321, calling('route', leaving.signal)));
      await advance(5);
      leaving.abort();
      await left;
      await advance(1_000);
    }
    await failure(robot.servers.recent(o));
    assert.equal(fake.count(), 1);
  });

  it('is not taken for mended by an answer that is not from Robot', async t => {
    const { fake, robot, failure, shutOff, advance, login, logger, o } = setUp(t);
    login.password = 'wrong';
    await failure(robot.isShutOff(321, o));
    login.password = password;
    fake.faults.add({ kind: 'html', status: 502, times: 1 });
    assert.equal(classOf(await failure(robot.isShutOff(321, o))), 'transient');
    fake.faults.add({ kind: 'reset', times: 1 });
    assert.equal((await failure(robot.isShutOff(321, o))).status, 0);
    await advance(1_000);
    const mended = () => logger.lines.filter(({ msg }) => msg === 'Logged in to Robot again').length;
    assert.equal(mended(), 0);
    assert.equal(await shutOff(), false);
    assert.equal(mended(), 1);
  });
});

describe('a call to Robot', () => {
  it('that waits for its turn is not sent when its caller has left', async t => {
    const { robot, settled, advance, resets, o } = setUp(t);
    const leaving = new AbortController();
    const first = robot.isShutOff(321, o);
    const second = rejection(robot.isShutOff(322, calling('route', leaving.signal)));
    leaving.abort();
    assert.equal(await settled(second), leaving.signal.reason);
    await settled(first);
    await advance(1_000);
    assert.equal(resets(), 1);
  });

  it('that hangs ends at the time-out and lets the next one go', async t => {
    const { fake, robot, failure, shutOff, o } = setUp(t);
    fake.faults.add({ kind: 'hang', times: 1 });
    assert.equal((await failure(robot.isShutOff(321, o))).code, 'timeout');
    assert.equal(await shutOff(), false);
  });

  it('is not repeated by itself', async t => {
    const { fake, robot, failure, advance, o } = setUp(t);
    fake.faults.add({ kind: 'error', status: 503, code: 'MAINTENANCE' });
    assert.equal(classOf(await failure(robot.isShutOff(321, o))), 'transient');
    await failure(robot.servers.recent(o));
    await advance(minute);
    assert.equal(fake.count(), 2);
  });

  it('writes the password and its base64 form nowhere, not even with HCLOUD_DEBUG and an answer that echoes them', async t => {
    const { fake, robot, failure, recent, logger, o } = setUp(t, { debug: true });
    const encoded = Buffer.from(`${user}:${password}`).toString('base64');
    await recent();
    fake.faults.add({
      kind: 'rewrite',
      status: 400,
      headers: { 'X-Echo': encoded },
      body: () => ({
        error: { status: 400, code: 'INVALID_INPUT', message: `${password} ${encoded}`, invalid: [password] },
      }),
    });
    const err = await failure(robot.isShutOff(321, o));
    const everything = JSON.stringify([logger.lines, err, err.message, err.stack, err.details]);
    assert.match(everything, /x-echo/i);
    assert.match(everything, /\[redacted\]/);
    for (const secret of [password, encoded]) assert.ok(!everything.includes(secret), everything);
  });

  it('is understood also when the password is a word of the answer', async t => {
    const { fake, login, recent } = setUp(t);
    login.password = 'server';
    fake.robot.setLogin({ user, password: 'server' });
    assert.equal((await recent()).servers.length, 1);
  });
});

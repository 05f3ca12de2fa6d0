import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import type { ApiRequest } from '../../../lib/simulator/kubernetes/api.ts';
import { createFakeKubernetes } from '../../../lib/simulator/kubernetes/fake.ts';
import type { JsonObject } from '../../../lib/simulator/kubernetes/json.ts';

const NODES = '/api/v1/nodes';

const get = (url: string): ApiRequest => ({ method: 'GET', url, headers: { 'user-agent': 'spec/1' }, body: '' });

/** Records one answer. */
const recorder = () => {
  const seen = {
    status: 0,
    chunks: [] as string[],
    ended: false,
    wasReset: false,
    headers: {} as Readonly<Record<string, string>>,
  };
  return {
    seen,
    events: () =>
      seen.chunks
        .join('')
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line)),
    answer: {
      start: (status: number, headers: Readonly<Record<string, string>>) => Object.assign(seen, { status, headers }),
      write: (chunk: string) => void seen.chunks.push(chunk),
      end: () => {
        seen.ended = true;
      },
      reset: () => {
        seen.wasReset = true;
      },
    },
  };
};

const open = (fake: ReturnType<typeof createFakeKubernetes>, query = '') => {
  const record = recorder();
  const leave = fake.exchange(get(`${NODES}?watch=true${query}`), record.answer);
  return { ...record, leave };
};

describe('the fake in virtual time', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_000_000 }));
  afterEach(() => mock.timers.reset());

  it('sends a bookmark every minute to whom asked for them, and one more 2 s before the end', () => {
    const fake = createFakeKubernetes();
    const asked = open(fake, '&allowWatchBookmarks=true&timeoutSeconds=150');
    const not = open(fake, '&timeoutSeconds=150');
    mock.timers.tick(60_000);
    assert.equal(asked.events().length, 1);
    mock.timers.tick(60_000);
    mock.timers.tick(28_000);
    assert.deepEqual(
      asked.events().map(event => event.type),
      ['BOOKMARK', 'BOOKMARK', 'BOOKMARK'],
    );
    assert.equal(asked.seen.ended, false);
    mock.timers.tick(2000);
    assert.equal(asked.seen.ended, true);
    assert.deepEqual(not.seen.chunks, []);
    assert.equal(not.seen.ended, true);
    assert.deepEqual(fake.openWatches(), []);
  });

  it('stops delivering and frees its timers when the client leaves', () => {
    const fake = createFakeKubernetes();
    const watch = open(fake, '&allowWatchBookmarks=true');
    watch.leave();
    fake.create(NODES, { metadata: { name: 'a' } });
    mock.timers.tick(3_600_000);
    assert.deepEqual(watch.seen.chunks, []);
    assert.equal(watch.seen.ended, false);
    assert.deepEqual(fake.openWatches(), []);
  });

  it('delivers nothing and closes nothing on a frozen watch (BUG-073)', () => {
    const fake = createFakeKubernetes();
    const frozen = open(fake, '&allowWatchBookmarks=true&timeoutSeconds=90');
    fake.freezeWatches();
    const fresh = open(fake);
    fake.create(NODES, { metadata: { name: 'a' } });
    mock.timers.tick(600_000);
    assert.deepEqual([frozen.seen.chunks, frozen.seen.ended, frozen.seen.wasReset], [[], false, false]);
    assert.equal(fresh.events().length, 1);
  });

  it('answers later with a delay fault, and not at all when the client left before', () => {
    const fake = createFakeKubernetes();
    fake.faults.add({ fault: { kind: 'delay', ms: 500 }, times: 2 });
    const [patient, gone] = [recorder(), recorder()];
    fake.exchange(get(NODES), patient.answer);
    fake.exchange(get(NODES), gone.answer)();
    mock.timers.tick(499);
    assert.equal(patient.seen.status, 0);
    mock.timers.tick(1);
    assert.deepEqual([patient.seen.status, gone.seen.status], [200, 0]);
  });

  it('does with a late fault what was asked, though the client left before', () => {
    const fake = createFakeKubernetes();
    fake.faults.add({ fault: { kind: 'late', ms: 500 }, times: 2 });
    const [patient, gone] = [recorder(), recorder()];
    const create = (name: string) => ({ ...get(NODES), method: 'POST', body: JSON.stringify({ metadata: { name } }) });
    fake.exchange(create('a'), patient.answer);
    fake.exchange(create('b'), gone.answer)();
    mock.timers.tick(499);
    assert.equal(fake.list(NODES).length, 0);
    mock.timers.tick(1);
    assert.deepEqual([patient.seen.status, gone.seen.status], [201, 0]);
    assert.equal(fake.list(NODES).length, 2);
  });
});

describe('scripted trouble', () => {
  it('meets the matching requests as often as asked, then no more', () => {
    const fake = createFakeKubernetes({ tokens: { t: 'ada' } });
    fake.faults.add({
      verb: 'list',
      path: NODES,
      user: 'ada',
      times: 2,
      fault: { kind: 'status', code: 429, retryAfter: 3 },
    });
    const ask = (token: string, url = NODES) => {
      const record = recorder();
      fake.exchange({ ...get(url), headers: { authorization: `Bearer ${token}` } }, record.answer);
      return record.seen;
    };
    assert.equal(ask('t', '/version').status, 200);
    assert.equal(ask('wrong').status, 401);
    const first = ask('t');
    assert.deepEqual([first.status, first.headers['retry-after']], [429, '3']);
    assert.deepEqual([ask('t').status, ask('t').status], [429, 200]);
  });

  it('hangs, resets before the effect, and resets after it', () => {
    const fake = createFakeKubernetes();
    const post = (name: string): ApiRequest => ({
      method: 'POST',
      url: NODES,
      headers: {},
      body: JSON.stringify({ metadata: { name } }),
    });
    const send = (name: string) => {
      const record = recorder();
      fake.exchange(post(name), record.answer);
      return record.seen;
    };
    fake.faults.add({ times: 1, fault: { kind: 'hang' } });
    fake.faults.add({ times: 1, fault: { kind: 'reset' } });
    fake.faults.add({ times: 1, fault: { kind: 'reset', after: true } });
    const [hung, cut, lost] = [send('a'), send('b'), send('c')];
    assert.deepEqual([hung.status, hung.wasReset], [0, false]);
    assert.deepEqual([cut.status, cut.wasReset, lost.status, lost.wasReset], [0, true, 0, true]);
    assert.deepEqual(
      fake.list(NODES).map(node => (node.metadata as { name: string }).name),
      ['c'],
    );
  });

  it('cuts a watch in the middle of a line', () => {
    const fake = createFakeKubernetes();
    fake.faults.add({ verb: 'watch', times: 1, fault: { kind: 'partial-line' } });
    const watch = open(fake);
    fake.create(NODES, { metadata: { name: 'a' } });
    const text = watch.seen.chunks.join('');
    assert.ok(text.startsWith('{"type":"ADDED"') && !text.endsWith('\n'));
    assert.throws(() => JSON.parse(text));
    assert.equal(watch.seen.ended, true);
  });

  it('forgets the history and says so as an event or as HTTP 410', () => {
    const fake = createFakeKubernetes();
    fake.create(NODES, { metadata: { name: 'a' } });
    fake.compact();
    const told = open(fake, '&resourceVersion=2');
    assert.deepEqual(
      told.events().map(event => [event.type, event.object.code]),
      [['ERROR', 410]],
    );
    assert.equal(told.seen.ended, true);
    fake.compact({ gone: 'http' });
    assert.equal(open(fake, '&resourceVersion=2').seen.status, 410);
    assert.deepEqual(fake.openWatches(), []);
  });

  it('loses everything, or keeps objects under lower versions, and cuts the watches', () => {
    const fake = createFakeKubernetes();
    fake.create(NODES, { metadata: { name: 'a' } });
    for (let i = 0; i < 20; i++) fake.patch(`${NODES}/a`, { metadata: { labels: { i: String(i) } } });
    const version = () => Number((fake.list(NODES)[0]?.metadata as JsonObject | undefined)?.resourceVersion);
    const before = version();
    const first = open(fake);
    fake.newResourceVersions();
    assert.equal(first.seen.wasReset, true);
    assert.ok(version() < before, `${version()} < ${before}`);
    const second = open(fake);
    fake.resetStore();
    assert.equal(second.seen.wasReset, true);
    assert.deepEqual(fake.list(NODES), []);
    assert.notEqual(fake.get('/api/v1/namespaces/kube-system'), undefined);
  });

  it('journals who asked what, without tokens, and tells writes from reads', () => {
    const fake = createFakeKubernetes({ tokens: { secret: 'ada' }, now: () => 5 });
    const headers = { authorization: 'Bearer secret', 'user-agent': 'spec/1' };
    fake.exchange({ ...get(NODES), headers }, recorder().answer);
    fake.exchange({ method: 'DELETE', url: `${NODES}/x`, headers, body: '{}' }, recorder().answer);
    fake.create(NODES, { metadata: { name: 'scripted' } });
    assert.deepEqual(fake.journal.writes(), [
      { at: 5, user: 'ada', userAgent: 'spec/1', method: 'DELETE', path: `${NODES}/x`, verb: 'delete', body: '{}' },
    ]);
    assert.equal(fake.journal.all().length, 2);
    assert.ok(!JSON.stringify(fake.journal.all()).includes('secret'));
  });

  it('changes objects directly by the rules of the API', () => {
    const fake = createFakeKubernetes();
    fake.create(NODES, { metadata: { name: 'a', finalizers: ['x.y/z'] } });
    fake.patch(`${NODES}/a/status`, { status: { phase: 'Running' } });
    fake.delete(`${NODES}/a`);
    assert.equal((fake.get(`${NODES}/a`)?.status as JsonObject | undefined)?.phase, 'Running');
    fake.patch(`${NODES}/a`, { metadata: { finalizers: null } });
    assert.equal(fake.get(`${NODES}/a`), undefined);
    assert.throws(() => fake.delete(`${NODES}/a`), /nodes "a" not found/);
  });
});

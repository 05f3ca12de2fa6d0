import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import type { Subscription } from 'rxjs';
import type { KubeRequest } from '../../lib/kubernetes/client.ts';
import { KubeError } from '../../lib/kubernetes/errors.ts';
import { type ListWatchEvent, type ListWatchOptions, listWatch } from '../../lib/kubernetes/list-watch.ts';
import { pruneNode } from '../../lib/kubernetes/prune.ts';
import type { KubeNode } from '../../lib/kubernetes/types.ts';
import { isCheck, scriptedClient, settle } from './scripted-client.ts';
import { rawNode, status } from './support.ts';

const gone = () => new KubeError({ status: 410, reason: 'Expired', message: 'too old' });
const refused = () => new KubeError({ status: 0, reason: 'ECONNREFUSED', message: 'refused' });
const page = (rv: string, items: unknown[], next?: string) => ({
  metadata: { resourceVersion: rv, continue: next },
  items,
});
const event = (type: string, name: string, rv: string) => ({ type, object: rawNode(name, { rv }) });
const bookmark = (rv: string) => ({ type: 'BOOKMARK', object: { kind: 'Node', metadata: { resourceVersion: rv } } });
const isWatch = (request: KubeRequest) => request.query?.watch !== undefined;
const isList = (request: KubeRequest) => !isWatch(request) && !isCheck(request);

/** The events in short: `apply a@2`. */
const brief = (e: ListWatchEvent<KubeNode>): string => {
  if (e.type === 'error') return `error ${e.willRetryIn}`;
  if (e.type === 'initDone') return `initDone ${e.rv}`;
  return 'object' in e ? `${e.type} ${e.object.name}@${e.object.resourceVersion}` : e.type;
};

describe('listWatch', () => {
  let subscription: Subscription | undefined;
  let got: string[] = [];
  let events: ListWatchEvent<KubeNode>[] = [];

  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    got = [];
    events = [];
  });
  afterEach(() => {
    subscription?.unsubscribe();
    mock.timers.reset();
  });

  const start = async (
    script: Parameters<typeof scriptedClient>[0],
    options: Partial<ListWatchOptions<KubeNode>> = {},
  ) => {
    const scripted = scriptedClient(script);
    const clock = { now: () => Date.now(), monotonic: () => Date.now() };
    const events$ = listWatch({
      client: scripted.client,
      path: '/api/v1/nodes',
      prune: pruneNode,
      clock,
      random: () => 0,
      ...options,
    });
    subscription = events$.subscribe(e => {
      events.push(e);
      got.push(brief(e));
    });
    await settle();
    return scripted;
  };
  const pass = async (ms: number, step = ms): Promise<void> => {
    for (let at = 0; at < ms; at += step) {
      mock.timers.tick(step);
      await settle();
    }
  };
  const list = () => page('10', [rawNode('a')]);

  it('lists page by page, then watches from the version of the list with bookmarks and a random server timeout', async () => {
    const { log, streams } = await start(
      {
        list: request =>
          request.query?.continue === 'p2' ? page('10', [rawNode('b')]) : page('10', [rawNode('a')], 'p2'),
      },
      { random: () => 0.5, fieldSelector: 'x=y' },
    );
    assert.deepEqual(got, ['init', 'initApply a@1', 'initApply b@1', 'initDone 10']);
    assert.deepEqual(
      log.map(request => request.query),
      [
        { limit: 250, continue: undefined, fieldSelector: 'x=y' },
        { limit: 250, continue: 'p2', fieldSelector: 'x=y' },
        { watch: 1, allowWatchBookmarks: true, resourceVersion: '10', timeoutSeconds: 450, fieldSelector: 'x=y' },
      ],
    );
    streams[0]?.send(event('ADDED', 'c', '11'), event('MODIFIED', 'c', '12'), event('DELETED', 'c', '13'));
    await settle();
    assert.deepEqual(got.slice(4), ['apply c@11', 'apply c@12', 'delete c@13']);
  });

  it('goes on at once from the last version when the server closes the watch in good order', async () => {
    const { log, streams } = await start({ list });
    streams[0]?.send(event('ADDED', 'b', '11'), bookmark('20'));
    for (let minute = 0; minute < 5; minute++) {
      await pass(60_000);
      streams[0]?.send(bookmark('20'));
      await settle();
    }
    streams[0]?.end();
    await settle();
    assert.equal(log.length, 3);
    assert.equal(log[2]?.query?.resourceVersion, '20');
    assert.deepEqual(got.slice(3), ['apply b@11']);
  });

  it('backs off when the server closes watches as soon as they are open', async () => {
    const { streams } = await start({ list });
    streams[0]?.end();
    await settle();
    assert.equal(got.at(-1), 'error 1000');
    await pass(999);
    assert.equal(streams.length, 1);
    await pass(1);
    assert.equal(streams.length, 2);
  });

  it('BUG-074: resumes after a cut, refused connections, 503 and 401, and loses no event', async () => {
    const failures = [refused(), refused(), 503, 401];
    const { log, streams } = await start({
      list,
      refuse: (_, nth) => {
        const failure = failures[nth - 2];
        if (failure instanceof KubeError) throw failure;
        if (failure !== undefined) throw new KubeError({ status: failure, reason: 'x', message: 'x' });
      },
    });
    streams[0]?.send(event('ADDED', 'b', '11'));
    await settle();
    streams[0]?.fail(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    await pass(10_000, 250);
    assert.equal(got.filter(line => line.startsWith('error')).length, 5);
    assert.equal(log.filter(isList).length, 1, 'no relist');
    assert.equal(log.at(-1)?.query?.resourceVersion, '11');
    streams[1]?.send(event('ADDED', 'c', '12'));
    await settle();
    assert.equal(got.at(-1), 'apply c@12');
  });

  it('BUG-075: makes at most one attempt a second while the API server is unreachable, and only one at a time', async () => {
    const at: number[] = [];
    const { streams, mostInFlight } = await start(
      {
        list,
        refuse: (_, nth) => {
          at.push(Date.now());
          if (nth > 1) throw refused();
        },
      },
      { random: Math.random },
    );
    streams[0]?.fail(refused());
    await pass(120_000, 250);
    assert.ok(at.length > 10, `${at.length} attempts`);
    at.forEach((time, i) => {
      assert.ok(i === 0 || time - (at[i - 1] ?? 0) >= 1000);
    });
    assert.equal(mostInFlight(), 1);
  });

  it('treats a cut line like a cut connection', async () => {
    const { streams } = await start({ list });
    streams[0]?.send(event('ADDED', 'b', '11'));
    streams[0]?.sendRaw('{"type":"ADD');
    streams[0]?.end();
    await settle();
    assert.deepEqual(got.slice(3), ['apply b@11', 'error 1000']);
    await pass(1000);
    assert.equal(streams[1]?.request.query?.resourceVersion, '11');
  });

  for (const [how, send] of [
    ['an ERROR event', () => status(410, 'Expired')],
    ['the status of the watch', undefined],
  ] as const) {
    it(`BUG-076: lists again, without a version, when ${how} says 410`, async () => {
      const { log, streams } = await start({
        list,
        refuse: (_, nth) => {
          if (send === undefined && nth === 2) throw gone();
        },
      });
      if (send === undefined) {
        await pass(2000);
        streams[0]?.end();
      } else {
        streams[0]?.send({ type: 'ERROR', object: send() });
      }
      await settle();
      assert.deepEqual(got.slice(3), ['error 0', 'init', 'initApply a@1', 'initDone 10']);
      const lists = log.filter(isList);
      assert.equal(lists.length, 2);
      assert.equal(lists[1]?.query?.resourceVersion, undefined);
    });
  }

  it('BUG-074: lists again at once at the first 410 after an outage, however long that was', async () => {
    const { log, streams } = await start({
      list,
      refuse: (_, nth) => {
        if (nth > 1 && nth < 12) throw refused();
        if (nth === 12) throw gone();
      },
    });
    streams[0]?.fail(refused());
    await pass(120_000, 250);
    assert.deepEqual(got.slice(-4), ['error 0', 'init', 'initApply a@1', 'initDone 10']);
    assert.equal(log.filter(isList).length, 2);
  });

  it('BUG-074: is back soon when a server that was away for long refuses once or twice as it starts', async () => {
    const { streams } = await start(
      {
        list,
        refuse: (_, nth) => {
          if (nth > 1 && nth < 22) throw refused();
          if (nth === 22 || nth === 23)
            throw new KubeError({ status: 403, reason: 'Forbidden', message: 'RBAC is starting' });
        },
      },
      { random: () => 0.999 },
    );
    streams[0]?.fail(refused());
    await pass(300_000, 250);
    assert.deepEqual(got.slice(-3), ['error 8000', 'error 1799', 'error 2598']);
    assert.ok(streams.length >= 2);
  });

  it('backs off in a storm of 410', async () => {
    const { log } = await start({
      list,
      refuse: () => {
        throw gone();
      },
    });
    assert.equal(log.length, 4, 'list, 410, list at once, 410');
    await pass(60_000, 250);
    assert.ok(log.length <= 4 + 2 * 60, `${log.length} requests in a minute`);
    assert.ok(log.length > 10);
  });

  it('starts over when the continue token has expired in the middle of a list', async () => {
    await start({
      list: (_, nth) => {
        if (nth === 2) throw gone();
        return nth === 1 ? page('10', [rawNode('a')], 'p2') : page('11', [rawNode('b')]);
      },
    });
    assert.deepEqual(got, ['init', 'initApply a@1', 'error 0', 'init', 'initApply b@1', 'initDone 11']);
  });

  it('starts over with backoff when a list fails, as long as it fails', async () => {
    const { log } = await start({
      list: (_, nth) => {
        if (nth <= 2) throw refused();
        return list();
      },
    });
    assert.deepEqual(got, ['init', 'error 1000']);
    await pass(2000, 1000);
    assert.deepEqual(got.slice(2), ['init', 'error 1000', 'init', 'initApply a@1', 'initDone 10']);
    assert.equal(log.filter(isWatch).length, 1);
  });

  it('waits as long as a 429 asks for', async () => {
    await start({
      list: () => {
        throw new KubeError({ status: 429, reason: 'TooManyRequests', message: 'x', retryAfter: 17_000 });
      },
    });
    assert.deepEqual(got, ['init', 'error 17000']);
  });

  it('fails a list as a whole when one of its objects cannot be identified: left out it would look deleted', async () => {
    await start({ list: () => page('10', [rawNode('a'), { metadata: {} }]) });
    assert.deepEqual(got, ['init', 'initApply a@1', 'error 1000']);
  });

  for (const answer of [null, {}, { items: 'x' }, { items: [] }, page('', [])]) {
    it(`takes ${JSON.stringify(answer)} for a failed list`, async () => {
      await start({ list: () => answer });
      assert.deepEqual(got, ['init', 'error 1000']);
    });
  }

  for (const line of [
    { type: 'FOO', object: rawNode('b') },
    { type: 'ADDED', object: {} },
    { type: 'ADDED', object: { metadata: { resourceVersion: '12' } } },
    { type: 'BOOKMARK' },
    { object: rawNode('b') },
    null,
    7,
  ]) {
    it(`reports ${JSON.stringify(line)} in a watch and lists again, for the view may be wrong`, async () => {
      const { log } = await start({ list }).then(scripted => {
        scripted.streams[0]?.send(line);
        return scripted;
      });
      await settle();
      assert.deepEqual(got.slice(3), ['error 1000']);
      await pass(1000);
      assert.equal(log.filter(isList).length, 2);
    });
  }

  it('BUG-073: drops a watch that is silent for 90 s though bookmarks are due, and resumes', async () => {
    const { streams } = await start({ list });
    await pass(60_000);
    streams[0]?.send(bookmark('20'));
    await settle();
    await pass(89_999);
    assert.equal(streams[0]?.aborted, false);
    await pass(1);
    assert.equal(streams[0]?.aborted, true);
    const [last] = events.slice(-1);
    assert.ok(last?.type === 'error' && last.err instanceof KubeError && last.err.reason === 'Idle');
    await pass(1000);
    assert.equal(streams[1]?.request.query?.resourceVersion, '20');
  });

  it('BUG-073: keeps the watch of a quiet collection until the server should have ended it, and 5 s, without a word', async () => {
    const { streams, log } = await start({ list }, { random: () => 0 });
    await pass(304_999);
    assert.deepEqual([streams.length, streams[0]?.aborted], [1, false]);
    await pass(1);
    assert.deepEqual([streams.length, streams[0]?.aborted], [2, true]);
    assert.ok(streams.every(stream => stream.request.query?.resourceVersion === '10'));
    assert.equal(log.filter(isList).length, 1);
    assert.equal(got.length, 3);
  });

  it('BUG-073: opens the watch of a quiet collection anew 90 s after its last byte where a call got no answer since', async () => {
    const { client, streams, log } = await start({ list }, { random: () => 0.5 });
    await pass(90_000);
    await pass(10_000);
    assert.equal(streams.length, 1);
    const at = Date.now();
    Object.assign(client, { troubleAt: () => at });
    await pass(19_999);
    assert.equal(streams.length, 1);
    await pass(1);
    assert.deepEqual([streams.length, streams[0]?.aborted], [2, true]);
    assert.equal(log.filter(isCheck).length, 1, 'after trouble the history is asked for first');
    for (let i = 0; i < 3; i++) await pass(90_000);
    assert.equal(streams.length, 2, 'that trouble is over');
    assert.equal(got.length, 3);
  });

  it('BUG-073: a watch that lacks a bookmark casts doubt on all, though every call is answered; a quiet one does not', async () => {
    let doubts = 0;
    const castDoubt = (): void => {
      doubts += 1;
    };
    const quiet = await start({ list }, { random: () => 0 });
    Object.assign(quiet.client, { castDoubt });
    await pass(305_000);
    assert.deepEqual([quiet.streams.length, doubts], [2, 0]);
    quiet.streams[1]?.send(event('ADDED', 'b', '11'));
    await settle();
    await pass(89_999);
    assert.equal(doubts, 0);
    await pass(1);
    assert.equal(doubts, 1);
  });

  it('does not miss bookmarks of a server that sends none', async () => {
    const { streams } = await start({ list });
    streams[0]?.send(event('ADDED', 'b', '11'));
    await settle();
    await pass(90_000);
    assert.equal(streams[1]?.request.query?.resourceVersion, '11');
    assert.deepEqual(got.slice(3), ['apply b@11']);
  });

  it('BUG-072: keeps a watch as long as bytes come', async () => {
    const { streams, log } = await start({ list });
    streams[0]?.send(bookmark('20'));
    for (let i = 0; i < 10; i++) {
      await pass(60_000);
      streams[0]?.send(event('MODIFIED', 'a', String(21 + i)));
      await settle();
    }
    assert.equal(streams[0]?.aborted, false);
    assert.equal(log.length, 2);
    assert.equal(got.length, 3 + 10);
  });

  it('BUG-072: watches that are cut every 30 s cost one request each, and one for one object, and no relist', async () => {
    const { streams, log } = await start({ list }, { random: () => 0.999 });
    for (let i = 0; i < 20; i++) {
      await pass(30_000);
      streams.at(-1)?.fail(new Error('cut'));
      await settle();
      assert.equal(got.at(-1), 'error 1799', 'a watch that was healthy for a while starts the backoff anew');
      await pass(1799);
    }
    assert.equal(log.filter(isList).length, 1);
    assert.equal(streams.length, 21);
    assert.equal(log.filter(isCheck).length, 20);
  });

  it('asks for the newest object it knows, no older than its version, before it goes on from a watch that was cut', async () => {
    const { log, streams } = await start({ list }, { fieldSelector: 'x=y' });
    streams[0]?.send(event('ADDED', 'b', '11'), event('ADDED', 'c', '12'), event('DELETED', 'b', '13'), bookmark('20'));
    await settle();
    streams[0]?.fail(refused());
    await settle();
    await pass(1000);
    assert.deepEqual(
      log.filter(isCheck).map(request => [request.path, request.query]),
      [
        [
          '/api/v1/nodes',
          {
            fieldSelector: 'x=y,metadata.name=c',
            resourceVersion: '20',
            resourceVersionMatch: 'NotOlderThan',
            limit: 1,
          },
        ],
      ],
    );
    assert.ok(log.at(-1) !== undefined && isWatch(log.at(-1) as KubeRequest));
    assert.equal(got.length, 3 + 4, 'a check that goes well is not told');
  });

  it('takes the newest object of a list for the one to ask for', async () => {
    const items = [rawNode('a', { rv: '3' }), rawNode('b', { rv: '10' }), rawNode('c', { rv: '9' })];
    const { log, streams } = await start({ list: () => page('10', items) });
    streams[0]?.fail(refused());
    await settle();
    await pass(1000);
    assert.equal(log.find(isCheck)?.query?.fieldSelector, 'metadata.name=b');
  });

  const future = () =>
    new KubeError({
      status: 504,
      reason: 'Timeout',
      message: 'Too large resource version',
      causes: [{ field: '', reason: 'ResourceVersionTooLarge', message: '' }],
    });
  for (const [what, check] of [
    ['its versions are lower', () => Promise.reject(future())],
    ['the object is gone', () => ({ items: [] })],
    ['the object is another one', () => ({ items: [rawNode('b', { uid: 'another', rv: '15' })] })],
    ['the object is older', () => ({ items: [rawNode('b', { rv: '10' })] })],
  ] as const) {
    it(`BUG-076: lists again at once, without a version, when the server has lost its history: ${what}`, async () => {
      const { log, streams } = await start({ list, check });
      streams[0]?.send(event('ADDED', 'b', '11'));
      await settle();
      streams[0]?.fail(refused());
      await settle();
      await pass(1000);
      assert.deepEqual(got.slice(4), ['error 1000', 'error 0', 'init', 'initApply a@1', 'initDone 10']);
      assert.equal(log.filter(isList)[1]?.query?.resourceVersion, undefined);
      assert.equal(streams.length, 2);
    });
  }

  it('lists again after a cut when it knows no object to recognise the history by', async () => {
    const { log, streams } = await start({ list });
    streams[0]?.send(event('DELETED', 'a', '11'));
    await settle();
    streams[0]?.fail(refused());
    await settle();
    await pass(1000);
    assert.equal(log.filter(isCheck).length, 0);
    assert.equal(log.filter(isList).length, 2);
  });

  it('checks again, backing off, when the check itself fails, and neither lists nor watches before', async () => {
    let failing = 3;
    const { log, streams } = await start({
      list,
      check: () => {
        failing -= 1;
        if (failing >= 0)
          throw failing === 1 ? new KubeError({ status: 504, reason: 'Timeout', message: 'x' }) : refused();
        return { items: [rawNode('a')] };
      },
    });
    streams[0]?.fail(refused());
    await settle();
    await pass(3999, 1);
    assert.equal(log.length, 2 + 3);
    await pass(1, 1);
    assert.deepEqual(
      log.slice(2).map(request => (isCheck(request) ? 'check' : isWatch(request) ? 'watch' : 'list')),
      ['check', 'check', 'check', 'check', 'watch'],
    );
    assert.deepEqual(got.slice(3), ['error 1000', 'error 1000', 'error 1000', 'error 1000']);
  });

  it('checks a watch that the server closed before its time: a restart may hide behind it', async () => {
    const { log, streams } = await start({ list });
    await pass(20_000);
    streams[0]?.end();
    await settle();
    assert.deepEqual(log.slice(2).map(isCheck), [true, false]);
    assert.equal(streams.length, 2);
    assert.equal(got.length, 3);
  });

  it('checks a collection that has been quiet for an hour, and no sooner', async () => {
    const { log } = await start({ list });
    for (let hour = 0; hour < 3; hour++) {
      for (let i = 0; i < 39; i++) await pass(90_000);
      assert.equal(log.filter(isCheck).length, hour);
      await pass(90_000);
      assert.equal(log.filter(isCheck).length, hour + 1);
    }
    assert.equal(log.filter(isList).length, 1);
    assert.equal(got.length, 3);
  });

  it('aborts the request in flight when it is unsubscribed, and emits nothing more', async () => {
    const { streams, log } = await start({ list });
    subscription?.unsubscribe();
    await settle();
    assert.equal(streams[0]?.aborted, true);
    await pass(100_000);
    assert.equal(log.length, 2);
    assert.equal(got.length, 3);
  });

  it('makes no more attempts when it is unsubscribed while it waits', async () => {
    const { log } = await start({
      list: () => {
        throw refused();
      },
    });
    subscription?.unsubscribe();
    await pass(100_000);
    assert.equal(log.length, 1);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEventRecorder, type EventRecorder, type EventTarget } from '../../lib/kubernetes/events.ts';
import {
  clientOf,
  json,
  manualClock,
  recordingLogger,
  type Script,
  type ScriptedServer,
  scriptedServer,
  status,
} from './support.ts';

const w1: EventTarget = { kind: 'Node', apiVersion: 'v1', name: 'w1', namespace: '', uid: 'u1' };
const minute = 60_000;
const created: Script = (_, response) => json(response, 201, {});

const withRecorder = async (
  script: Script,
  run: (deps: {
    recorder: EventRecorder;
    server: ScriptedServer;
    clock: ReturnType<typeof manualClock>;
    logger: ReturnType<typeof recordingLogger>;
  }) => Promise<void>,
) => {
  const server = await scriptedServer(script);
  const client = clientOf(server);
  const clock = manualClock();
  const logger = recordingLogger();
  const recorder = createEventRecorder({
    client,
    component: 'ccm',
    instance: 'pod-1',
    clock,
    logger,
    closeTimeout: 300,
  });
  try {
    await run({ recorder, server, clock, logger });
  } finally {
    await recorder.close();
    await client.close();
    await server.close();
  }
};

describe('event recorder', () => {
  it('BUG-090: creates an Event that kubectl describe shows', () =>
    withRecorder(created, async ({ recorder, server }) => {
      recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'no server');
      await recorder.close();
      const [seen] = server.seen;
      assert.deepEqual([seen?.method, seen?.path], ['POST', '/api/v1/namespaces/default/events']);
      const { metadata, ...event } = JSON.parse(seen?.body ?? '');
      assert.match(metadata.name, /^w1\.[0-9a-f]+$/);
      assert.equal(metadata.namespace, 'default');
      assert.deepEqual(event, {
        apiVersion: 'v1',
        kind: 'Event',
        involvedObject: { kind: 'Node', apiVersion: 'v1', name: 'w1', uid: 'u1' },
        type: 'Warning',
        reason: 'FailedToCreateRoute',
        message: 'no server',
        source: { component: 'ccm' },
        reportingComponent: 'ccm',
        reportingInstance: 'pod-1',
        firstTimestamp: '2023-11-14T22:13:20Z',
        lastTimestamp: '2023-11-14T22:13:20Z',
        eventTime: null,
        count: 1,
      });
    }));

  it('puts the event of a namespaced object beside it', () =>
    withRecorder(created, async ({ recorder, server }) => {
      const service = { ...w1, kind: 'Service', namespace: 'shop' };
      recorder.event(service, 'Normal', 'Synced', 'm');
      await recorder.close();
      assert.equal(server.seen[0]?.path, '/api/v1/namespaces/shop/events');
      assert.deepEqual(JSON.parse(server.seen[0]?.body ?? '').involvedObject, service);
    }));

  it('BUG-090: counts the same event up instead of creating another', () =>
    withRecorder(created, async ({ recorder, server, clock }) => {
      recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'm');
      await server.requested(1);
      clock.advance(minute);
      recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'm');
      await server.requested(2);
      const name = JSON.parse(server.seen[0]?.body ?? '').metadata.name;
      assert.deepEqual(
        [server.seen[1]?.method, server.seen[1]?.path],
        ['PATCH', `/api/v1/namespaces/default/events/${name}`],
      );
      assert.deepEqual(JSON.parse(server.seen[1]?.body ?? ''), { count: 2, lastTimestamp: '2023-11-14T22:14:20Z' });
    }));

  it('takes another message, another reason, another object and a long silence for new events', () =>
    withRecorder(created, async ({ recorder, server, clock }) => {
      recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'm');
      recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'other');
      recorder.event(w1, 'Warning', 'DeletingNode', 'm');
      recorder.event({ ...w1, uid: 'u2' }, 'Warning', 'FailedToCreateRoute', 'm');
      clock.advance(10 * minute + 1);
      recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'm');
      await recorder.close();
      assert.deepEqual(
        server.seen.map(seen => seen.method),
        ['POST', 'POST', 'POST', 'POST', 'POST'],
      );
      assert.equal(new Set(server.seen.map(seen => JSON.parse(seen.body).metadata.name)).size, 5);
    }));

  it('sends many of one event that come at once as one count', () =>
    withRecorder(created, async ({ recorder, server }) => {
      for (let i = 0; i < 10; i++) recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'm');
      await recorder.close();
      assert.equal(server.seen.length, 2);
      assert.equal(JSON.parse(server.seen[1]?.body ?? '').count, 10);
    }));

  it('drops events about one object beyond 25, then lets one through in 5 minutes', () =>
    withRecorder(created, async ({ recorder, server, clock }) => {
      for (let i = 0; i < 40; i++) recorder.event(w1, 'Warning', 'FailedToCreateRoute', `m${i}`);
      recorder.event({ ...w1, name: 'w2', uid: 'u2' }, 'Warning', 'FailedToCreateRoute', 'm');
      clock.advance(5 * minute);
      recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'later');
      recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'too soon');
      await recorder.close();
      const messages = server.seen.map(seen => JSON.parse(seen.body).message);
      assert.deepEqual(messages.slice(24), ['m24', 'm', 'later']);
    }));

  it('creates the event again when someone has deleted it', () =>
    withRecorder(
      (seen, response) =>
        seen.method === 'PATCH' ? json(response, 404, status(404, 'NotFound')) : json(response, 201, {}),
      async ({ recorder, server }) => {
        recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'm');
        await server.requested(1);
        recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'm');
        await server.requested(3);
        assert.equal(JSON.parse(server.seen[2]?.body ?? '').count, 2);
      },
    ));

  it('BUG-090: warns once when it is not allowed to, and stays out of the way', () =>
    withRecorder(
      (_, response) => json(response, 403, status(403, 'Forbidden')),
      async ({ recorder, logger }) => {
        recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'a');
        recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'b');
        await recorder.close();
        assert.deepEqual(
          logger.lines.map(line => line.level),
          ['warn', 'debug'],
        );
      },
    ));

  it('ends in time when the API server does not answer', () =>
    withRecorder(
      () => undefined,
      async ({ recorder, server }) => {
        recorder.event(w1, 'Warning', 'FailedToCreateRoute', 'm');
        await server.requested(1);
        const started = performance.now();
        await recorder.close();
        assert.ok(performance.now() - started < 800);
      },
    ));
});

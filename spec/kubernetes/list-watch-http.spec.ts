import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { filter, firstValueFrom, take, toArray } from 'rxjs';
import { listWatch } from '../../lib/kubernetes/list-watch.ts';
import { pruneNode } from '../../lib/kubernetes/prune.ts';
import { systemClock } from '../../lib/streams/clock.ts';
import { clientOf, json, rawNode, type Script, type Seen, scriptedServer } from './support.ts';

const retry = { floor: 10, base: 1, max: 50, maxUnreachable: 50 };

const withServer = async (
  script: Script,
  run: (
    server: Awaited<ReturnType<typeof scriptedServer>>,
    events$: ReturnType<typeof listWatch<ReturnType<typeof pruneNode>>>,
  ) => Promise<void>,
) => {
  const server = await scriptedServer(script);
  const client = clientOf(server);
  const events$ = listWatch({
    client,
    path: '/api/v1/nodes',
    prune: pruneNode,
    clock: systemClock,
    retry,
    idleTimeout: 60,
  });
  try {
    await run(server, events$);
  } finally {
    await client.close();
    await server.close();
  }
};

const listOf = (...names: string[]) => ({
  metadata: { resourceVersion: '10' },
  items: names.map(name => rawNode(name)),
});
const line = (type: string, name: string, rv: string) =>
  `${JSON.stringify({ type, object: rawNode(name, { uid: name, rv }) })}\n`;
const isCheck = (seen: Seen) => seen.query.has('resourceVersionMatch');
const bookmark = `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '20' } } })}\n`;

describe('listWatch over a real connection', () => {
  it('BUG-074: comes back after a reset connection and goes on from the last event', () =>
    withServer(
      (seen, response, nth) => {
        if (isCheck(seen)) return json(response, 200, { items: [rawNode('n2', { uid: 'n2', rv: '12' })] });
        if (!seen.query.has('watch')) return json(response, 200, listOf('a'));
        response.write(line('ADDED', `n${nth}`, `1${nth}`));
        if (nth === 2) setTimeout(() => response.socket?.resetAndDestroy(), 10);
      },
      async (server, events$) => {
        const events = await firstValueFrom(
          events$.pipe(
            filter(event => event.type !== 'init'),
            take(5),
            toArray(),
          ),
        );
        assert.deepEqual(
          events.map(event => event.type),
          ['initApply', 'initDone', 'apply', 'error', 'apply'],
        );
        const [, , check, watch] = server.seen;
        assert.equal(check?.query.get('fieldSelector'), 'metadata.name=n2');
        assert.equal(watch?.query.get('resourceVersion'), '12');
        assert.equal(server.seen.length, 4);
      },
    ));

  it('BUG-073: notices a connection that went dead without a sign and makes a new one', () =>
    withServer(
      (seen, response, nth) => {
        if (isCheck(seen)) return json(response, 200, listOf('a'));
        if (!seen.query.has('watch')) return json(response, 200, listOf('a'));
        // The first watch says nothing after its bookmark; its socket stays open.
        if (nth === 2) response.write(bookmark);
        else response.write(line('MODIFIED', 'a', '21'));
      },
      async (server, events$) => {
        const applied = await firstValueFrom(events$.pipe(filter(event => event.type === 'apply')));
        assert.equal(applied.object.resourceVersion, '21');
        assert.equal(server.seen.at(-1)?.query.get('resourceVersion'), '20');
      },
    ));

  it('drops a watch whose headers have not come when it is unsubscribed', () =>
    withServer(
      (seen, response) => {
        if (!seen.query.has('watch')) json(response, 200, listOf('a'));
      },
      async (server, events$) => {
        const subscription = events$.subscribe();
        await server.requested(2);
        const watching = [...server.sockets].at(-1);
        const closed = new Promise(resolve => watching?.on('close', resolve));
        subscription.unsubscribe();
        await closed;
      },
    ));
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeClient, KubeRequest } from '../../lib/kubernetes/client.ts';
import { pruneNode } from '../../lib/kubernetes/prune.ts';
import { type KubeReader, readAll, readerOf } from '../../lib/kubernetes/reader.ts';

const { signal } = new AbortController();

/** A client that answers one page after the other. */
function clientWith(...pages: readonly object[]): { client: KubeClient; sent: KubeRequest[] } {
  const sent: KubeRequest[] = [];
  const client = {
    request: async (request: KubeRequest) => {
      sent.push(request);
      return pages[sent.length - 1];
    },
  } as unknown as KubeClient;
  return { client, sent };
}

const node = (name: string): object => ({ metadata: { name, uid: name, resourceVersion: '1' } });

describe('a reader of the Kubernetes API', () => {
  it('sends a GET without a body, whatever it is handed', async () => {
    const { client, sent } = clientWith({});
    const reader = readerOf(client);
    assert.deepEqual(Object.keys(reader), ['request']);
    const write = { method: 'DELETE', path: '/api/v1/nodes/w1', body: { uid: '1' }, signal };
    await reader.request(write as unknown as Parameters<KubeReader['request']>[0]);
    assert.deepEqual(sent, [{ method: 'GET', path: '/api/v1/nodes/w1', signal }]);
  });

  it('reads all pages of a collection', async () => {
    const { client, sent } = clientWith(
      { metadata: { resourceVersion: '7', continue: 'next' }, items: [node('a')] },
      { metadata: { resourceVersion: '7' }, items: [node('b')] },
    );
    const nodes = await readAll(readerOf(client), '/api/v1/nodes', pruneNode, signal);
    assert.deepEqual(
      nodes.map(({ name }) => name),
      ['a', 'b'],
    );
    assert.deepEqual(
      sent.map(({ query }) => query?.continue),
      [undefined, 'next'],
    );
  });

  it('fails when a page does, instead of telling of a part', async () => {
    const { client } = clientWith({ metadata: { resourceVersion: '7', continue: 'next' }, items: [node('a')] }, {});
    await assert.rejects(readAll(readerOf(client), '/api/v1/nodes', pruneNode, signal), /without items/);
  });
});

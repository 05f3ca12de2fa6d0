import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeMethod, KubeRequest } from '../../lib/kubernetes/client.ts';
import { fencedClient } from '../../lib/kubernetes/fence.ts';
import { scriptedClient } from './scripted-client.ts';

const methods: readonly KubeMethod[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const request = (method: KubeMethod): KubeRequest => ({
  method,
  path: '/api/v1/nodes/w1',
  signal: new AbortController().signal,
});

describe('the fence before the API server', () => {
  it('lets writes pass while the lease is ours, and only reads when it is not', async () => {
    const { client, log } = scriptedClient({ list: () => ({}) });
    let valid = true;
    const fenced = fencedClient(client, () => valid);
    for (const method of methods) await fenced.request(request(method));
    assert.deepEqual(
      log.map(({ method }) => method),
      methods,
    );
    valid = false;
    log.length = 0;
    for (const method of methods) {
      if (method === 'GET') await fenced.request(request(method));
      else await assert.rejects(fenced.request(request(method)), /lease is no longer ours/);
    }
    await fenced.stream(request('GET'));
    assert.deepEqual(
      log.map(({ method }) => method),
      ['GET', 'GET'],
    );
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { attachedNetworks, MetadataError, networkIDsOf } from '../../lib/hetzner/metadata.ts';
import { listen, rejection } from './support.ts';

const yaml = `- ip: 10.0.0.3
  alias_ips: [10.0.0.9]
  interface_num: 1
  mac_address: 86:00:00:2a:7d:e0
  network_id: 1234
  network_name: "network_id: 99"
  network: 10.0.0.0/8
  subnet: 10.0.0.0/24
  gateway: 10.0.0.1
- network_id: 5678
  ip: 10.128.0.3
`;
const { signal } = new AbortController();

describe('the metadata service', () => {
  it('says which networks this server is attached to', async t => {
    const { url, received } = await listen(t, (_, response) => response.end(yaml));
    assert.deepEqual(await attachedNetworks({ endpoint: `${url}/hetzner/v1/metadata`, signal }), [1234, 5678]);
    assert.equal(received[0]?.url, '/hetzner/v1/metadata/private-networks');
  });

  it('says none with an empty list', () => {
    assert.deepEqual([networkIDsOf(''), networkIDsOf('[]\n'), networkIDsOf('not found')], [[], [], []]);
  });

  it('that cannot be reached is another error than one that answers something else', async t => {
    const gone = await listen(t, () => {});
    gone.server.close();
    await once(gone.server, 'close');
    const unreachable = await rejection(attachedNetworks({ endpoint: gone.url, signal }));
    assert.ok(unreachable instanceof MetadataError);
    assert.equal(unreachable.code, 'unreachable');

    const silent = await listen(t, () => {});
    const timedOut = await rejection(attachedNetworks({ endpoint: silent.url, timeout: 30, signal }));
    assert.equal((timedOut as MetadataError).code, 'unreachable');

    const other = await listen(t, (_, response) => response.writeHead(404).end());
    const answered = await rejection(attachedNetworks({ endpoint: other.url, signal }));
    assert.equal((answered as MetadataError).code, 'answer');
  });

  it('is not waited for any longer when the signal fires', async t => {
    const abort = new AbortController();
    const { url } = await listen(t, () => abort.abort());
    assert.equal(await rejection(attachedNetworks({ endpoint: url, signal: abort.signal })), abort.signal.reason);
  });
});

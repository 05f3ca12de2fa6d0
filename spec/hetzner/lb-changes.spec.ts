import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  targetKey,
  withoutNetwork,
  withoutService,
  withoutTarget,
  withService,
  withTarget,
} from '../../lib/hetzner/lb-changes.ts';
import { decodeLoadBalancer } from '../../lib/hetzner/lb-decode.ts';

const start = decodeLoadBalancer({
  id: 7,
  name: 'lb',
  private_net: [{ network: 9, ip: '10.0.0.7' }],
  services: [
    { protocol: 'tcp', listen_port: 80, destination_port: 1 },
    { protocol: 'tcp', listen_port: 443, destination_port: 2 },
  ],
  targets: [
    { type: 'server', server: { id: 1, ip: '10.0.0.1' }, use_private_ip: true },
    { type: 'ip', ip: { ip: '198.51.100.21' } },
    { type: 'label_selector', label_selector: { selector: 'a' }, targets: [] },
  ],
});
const [http, tls] = start.services as [(typeof start.services)[0], (typeof start.services)[0]];

describe('A load balancer after a change of our own', () => {
  it('has a new listener last, and a changed one in its place', () => {
    assert.deepEqual(withService(start, { ...http, destinationPort: 9 }).services, [
      { ...http, destinationPort: 9 },
      tls,
    ]);
    assert.deepEqual(withService(start, { ...http, listenPort: 81 }).services, [
      http,
      tls,
      { ...http, listenPort: 81 },
    ]);
    assert.deepEqual(withoutService(start, 80).services, [tls]);
    assert.deepEqual(withoutService(start, 81).services, [http, tls]);
  });

  it('has each target once, whatever way it is reached', () => {
    const server = { type: 'server', serverID: 1, usePrivateIP: false } as const;
    const changed = withTarget(start, server).targets;
    assert.deepEqual(changed.map(targetKey), ['ip 198.51.100.21', 'label_selector a', 'server 1']);
    assert.deepEqual(changed.at(-1), { ...server, ip: undefined, health: [] });
    const added = withTarget(start, { type: 'ip', ip: '198.51.100.22' });
    assert.deepEqual(added.targets.at(-1), { type: 'ip', ip: '198.51.100.22', health: [] });
    const selector = { type: 'label_selector', selector: 'b', usePrivateIP: true } as const;
    assert.deepEqual(withTarget(start, selector).targets.at(-1), { ...selector, targets: [] });
    assert.deepEqual(withoutTarget(start, server).targets, start.targets.slice(1));
  });

  it('has lost its private targets with the network', () => {
    const { privateNets, targets } = withoutNetwork(start, 9);
    assert.deepEqual([privateNets, targets], [[], start.targets.slice(1)]);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FakeHetzner } from '../../../lib/simulator/hetzner/fake.ts';
import { type FakeAnswer, toRequest } from '../../../lib/simulator/hetzner/wire.ts';
import { project } from './project.ts';

const ask = (fake: FakeHetzner, path: string): FakeAnswer =>
  fake.handle(toRequest('GET', `/hetzner/v1/metadata${path}`, { headers: {} }));

function cluster(): FakeHetzner {
  const { fake } = project();
  fake.networks.create({ id: 7, name: 'net', ipRange: '10.0.0.0/8', subnets: ['10.0.1.0/24'] });
  fake.servers.create({
    id: 42,
    name: 'cp1',
    location: 'hel1',
    ipv4: '192.0.2.1',
    network: 7,
    aliasIPs: ['10.0.1.8', '10.0.1.9'],
  });
  fake.metadataFor(42);
  return fake;
}

describe('The metadata service', () => {
  it('lists the networks of its server as YAML, without a token and outside the quota', () => {
    const answer = ask(cluster(), '/private-networks');
    assert.deepEqual([answer.status, answer.headers], [200, { 'Content-Type': 'text/plain; charset=utf-8' }]);
    assert.equal(
      answer.body,
      `- ip: 10.0.1.1
  alias_ips: [10.0.1.8, 10.0.1.9]
  interface_num: 1
  mac_address: 86:00:00:00:00:01
  network_id: 7
  network_name: net
  network: 10.0.0.0/8
  subnet: 10.0.1.0/24
  gateway: 10.0.0.1
`,
    );
  });

  for (const [path, body] of [
    ['/hostname', 'cp1'],
    ['/instance-id', '42'],
    ['/public-ipv4', '192.0.2.1'],
    ['/availability-zone', 'hel1-dc2'],
    ['/region', 'eu-central'],
    ['', 'availability-zone: hel1-dc2\nhostname: cp1\ninstance-id: 42\npublic-ipv4: 192.0.2.1\nregion: eu-central\n'],
  ] as const)
    it(`answers ${path || 'the summary'}`, () => {
      assert.equal(ask(cluster(), path).body, body);
    });

  it('has an empty list for a server without networks, and 404 for nobody and unknown paths', () => {
    const fake = cluster();
    fake.servers.detach(42, 7);
    assert.equal(ask(fake, '/private-networks').body, '[]\n');
    assert.equal(ask(fake, '/nothing').status, 404);
    fake.metadataFor(undefined);
    assert.equal(ask(fake, '/hostname').status, 404);
  });

  it('takes faults by its whole path', () => {
    const fake = cluster();
    fake.faults.add({ kind: 'hang', path: '/hetzner/v1/metadata/private-networks' });
    assert.deepEqual(ask(fake, '/private-networks').disposition, { kind: 'hang' });
    assert.equal(fake.count({ route: '/hetzner/v1/metadata/private-networks' }), 1);
  });
});

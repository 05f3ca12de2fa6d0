import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { project } from './project.ts';

describe('Changes by hand', () => {
  it('are there at once, without a request and without an action', () => {
    const { fake, get } = project();
    fake.networks.create({ id: 1, name: 'net', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/24'] });
    const made = fake.servers.create({
      name: 'w1',
      type: 'cpx31',
      location: 'nbg1',
      network: 1,
      ip: '10.0.0.9',
      labels: { a: 'b' },
    });
    assert.deepEqual(made, {
      id: 101,
      name: 'w1',
      status: 'running',
      type: 'cpx31',
      location: 'nbg1',
      ipv4: '198.18.0.1',
      ipv6: '2001:db8:1::1',
      privateNets: [{ network: 1, ip: '10.0.0.9', aliasIPs: [] }],
      labels: { a: 'b' },
      created: '2026-03-01T12:00:00Z',
    });
    assert.deepEqual([fake.count(), fake.actions().length], [0, 0]);
    const { server } = get('/servers/101').body;
    assert.deepEqual([server.public_net.ipv6.ip, server.private_net[0].ip], ['2001:db8:1::/64', '10.0.0.9']);
  });

  it('of servers are seen by the API', () => {
    const { fake, get } = project();
    fake.networks.create({ id: 1, name: 'net', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/24'] });
    fake.servers.create({ id: 5, name: 'w1', ipv6: null });
    fake.servers.rename(5, 'w2');
    fake.servers.setStatus(5, 'off');
    fake.servers.setLabels(5, { x: 'y' });
    fake.servers.setPublicIPs(5, { ipv4: null, ipv6: '2001:db8:99::/64' });
    fake.servers.attach(5, 1, { ip: '10.0.0.3' });
    fake.servers.setAliasIPs(5, 1, ['10.0.0.4']);
    const { server } = get('/servers/5').body;
    assert.deepEqual([server.name, server.status, server.labels], ['w2', 'off', { x: 'y' }]);
    assert.deepEqual([server.public_net.ipv4, server.public_net.ipv6.ip], [null, '2001:db8:99::/64']);
    assert.deepEqual([server.private_net[0].ip, server.private_net[0].alias_ips], ['10.0.0.3', ['10.0.0.4']]);
    assert.equal(fake.servers.byName('w2')?.id, 5);
    fake.servers.remove(5);
    assert.deepEqual([get('/servers/5').status, fake.servers.get(5), fake.servers.list()], [404, undefined, []]);
  });

  it('of networks are seen by the API', () => {
    const { fake, get } = project();
    fake.networks.create({ id: 3, name: 'net', ipRange: '10.0.0.0/8' });
    fake.networks.addSubnet(3, { ipRange: '10.0.0.0/24', zone: 'us-east' });
    fake.networks.addRoute(3, '10.244.0.0/24', '10.0.0.2');
    const { network } = get('/networks/3').body;
    assert.deepEqual(network.routes, [{ destination: '10.244.0.0/24', gateway: '10.0.0.2' }]);
    assert.equal(network.subnets[0].network_zone, 'us-east');
    fake.networks.removeRoute(3, '10.244.0.0/24', '10.0.0.2');
    assert.deepEqual(fake.networks.get(3)?.routes, []);
    fake.networks.remove(3);
    assert.equal(get('/networks/3').status, 404);
  });

  it('are seen against running actions that have come to their end', () => {
    const { fake, post, pass } = project();
    fake.networks.create({ id: 1, name: 'net', ipRange: '10.0.0.0/8' });
    post('/networks/1/actions/add_route', { destination: '10.244.0.0/24', gateway: '10.0.0.2' });
    assert.deepEqual(fake.networks.get(1)?.routes, []);
    pass(400);
    assert.equal(fake.networks.get(1)?.routes.length, 1);
  });

  it('that cannot be are an error that says why, and change nothing', () => {
    const { fake } = project();
    fake.networks.create({ id: 1, name: 'net', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/24'] });
    assert.throws(() => fake.servers.setStatus(9, 'off'), { message: 'no server 9; there are none' });
    assert.throws(() => fake.networks.addRoute(2, '10.244.0.0/24', '10.0.0.2'), {
      message: 'no network 2; there are 1',
    });
    assert.throws(() => fake.networks.addRoute(1, '10.0.0.0/25', '10.0.0.2'), { message: /overlaps/ });
    assert.throws(() => fake.servers.create({ name: 'w1', network: 1, ip: '10.0.0.1' }), {
      message: 'IP not available',
    });
    assert.deepEqual(fake.servers.list(), []);
  });
});

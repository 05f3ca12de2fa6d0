import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Json, type Project, project } from './project.ts';

const order = { name: 'w1', server_type: 'cpx31', image: 'ubuntu-24.04', location: 'hel1', labels: { role: 'worker' } };

describe('A server made by the API', () => {
  it('is initializing, then running when its actions have ended', () => {
    const { get, post, pass } = project();
    const { status, body } = post('/servers', order);
    assert.equal(status, 201);
    assert.deepEqual([body.server.status, body.server.locked], ['initializing', true]);
    assert.deepEqual(
      [body.action.command, ...body.next_actions.map((one: Json) => one.command)],
      ['create_server', 'start_server'],
    );
    pass(400);
    const { server } = get(`/servers/${body.server.id}`).body;
    assert.deepEqual(
      [server.status, server.locked, server.location.name, server.server_type.name],
      ['running', false, 'hel1', 'cpx31'],
    );
    assert.deepEqual(server.labels, { role: 'worker' });
    assert.equal(server.created, '2026-03-01T12:00:00Z');
    assert.equal('datacenter' in server, false);
  });

  it('can stay off, have no public address, and join networks', () => {
    const { fake, get, post, pass } = project();
    fake.networks.create({ id: 1, name: 'net', ipRange: '10.0.0.0/16', subnets: ['10.0.1.0/24'] });
    const { body } = post('/servers', {
      ...order,
      server_type: 24,
      start_after_create: false,
      networks: [1],
      public_net: { enable_ipv4: false, enable_ipv6: false },
    });
    assert.deepEqual(body.server.private_net, []);
    pass(400);
    const { server } = get(`/servers/${body.server.id}`).body;
    assert.equal(server.status, 'off');
    assert.deepEqual([server.public_net.ipv4, server.public_net.ipv6], [null, null]);
    assert.deepEqual(server.private_net[0].ip, '10.0.1.1');
    assert.deepEqual(get('/networks/1').body.network.servers, [server.id]);
  });

  const refusals: [what: string, change: object, status: number, code: string][] = [
    ['without an image', { image: undefined }, 422, 'invalid_input'],
    ['without a type', { server_type: undefined }, 422, 'invalid_input'],
    ['of an unknown type', { server_type: 'cx1' }, 404, 'not_found'],
    ['in an unknown location', { location: 'fra1' }, 404, 'not_found'],
    ['in an unknown network', { networks: [9] }, 404, 'not_found'],
    ['in a network without a subnet', { networks: [1] }, 422, 'no_subnet_available'],
    ['with a name that is no hostname', { name: 'w_1' }, 422, 'invalid_input'],
    ['with a reserved label', { labels: { 'hetzner.cloud/x': '' } }, 422, 'invalid_input'],
    ['with a bad label value', { labels: { x: '-' } }, 422, 'invalid_input'],
    ['with labels of another type', { labels: { x: 1 } }, 422, 'invalid_input'],
    ['with a name of another type', { name: 1 }, 422, 'invalid_input'],
    ['with a name that is taken', { name: 'taken' }, 409, 'uniqueness_error'],
  ];
  for (const [what, change, status, code] of refusals)
    it(`is refused ${what}`, () => {
      const { fake, post } = project();
      fake.servers.create({ name: 'taken' });
      fake.networks.create({ id: 1, name: 'net', ipRange: '10.0.0.0/16' });
      const got = post('/servers', { ...order, ...change });
      assert.deepEqual([got.status, got.code], [status, code]);
      assert.equal(fake.servers.list().length, 1);
    });

  it('is gone again when its creation fails', () => {
    const { fake, post, pass } = project();
    fake.faults.add({ kind: 'action', error: { code: 'action_failed', message: 'Action failed' }, times: 1 });
    assert.equal(post('/servers', order).status, 201);
    pass(400);
    assert.deepEqual(fake.servers.list(), []);
  });

  it('is renamed and relabelled as a whole by PUT', () => {
    const { fake, call, get } = project();
    fake.servers.create({ id: 5, name: 'w1', labels: { a: '1', b: '2' } });
    fake.servers.create({ id: 6, name: 'w2' });
    const { server } = call('PUT', '/servers/5', { name: 'w1b', labels: { c: '3' } }).body;
    assert.deepEqual([server.name, server.labels], ['w1b', { c: '3' }]);
    assert.equal(call('PUT', '/servers/5', { name: 'w2' }).message, 'server name is already used');
    assert.equal(call('PUT', '/servers/5', { name: 'w1b' }).status, 200);
    assert.deepEqual(get('/servers/5').body.server.labels, { c: '3' });
  });

  it('is deleting until its action ends, then gone with its addresses', () => {
    const { fake, call, get, pass } = project();
    fake.networks.create({ id: 1, name: 'net', ipRange: '10.0.0.0/16', subnets: ['10.0.1.0/24'] });
    fake.servers.create({ id: 5, name: 'w1', network: 1 });
    const { status, body } = call('DELETE', '/servers/5');
    assert.deepEqual([status, body.action.command], [200, 'delete_server']);
    assert.equal(get('/servers/5').body.server.status, 'deleting');
    pass(400);
    assert.deepEqual([get('/servers/5').status, get('/servers/5').code], [404, 'not_found']);
    assert.deepEqual(get('/networks/1').body.network.servers, []);
    assert.equal(get(`/actions/${body.action.id}`).body.action.status, 'success');
    assert.equal(fake.servers.create({ name: 'w1', network: 1 }).privateNets[0]?.ip, '10.0.1.1');
  });

  it('is not deleted while it is protected or locked', () => {
    const { fake, call, post } = project();
    fake.servers.create({ id: 5, name: 'w1', protected: true });
    assert.deepEqual([call('DELETE', '/servers/5').status, call('DELETE', '/servers/5').code], [423, 'protected']);
    fake.servers.create({ id: 6, name: 'w2' });
    post('/servers/6/actions/reboot');
    const got = call('DELETE', '/servers/6');
    assert.deepEqual(
      [got.status, got.code, got.message],
      [423, 'locked', 'cannot perform operation because server is locked'],
    );
  });
});

describe('Power actions', () => {
  const table: [path: string, command: string, from: string, to: string][] = [
    ['poweron', 'start_server', 'off', 'running'],
    ['poweroff', 'stop_server', 'running', 'off'],
    ['shutdown', 'shutdown_server', 'running', 'off'],
    ['reboot', 'reboot_server', 'running', 'running'],
    ['reset', 'reset_server', 'running', 'running'],
  ];
  for (const [path, command, from, to] of table)
    it(`turn a server from ${from} to ${to} by ${path}, at the end of ${command}, and lock it until then`, () => {
      const { fake, get, post, pass } = project();
      fake.servers.create({ id: 5, name: 'w1', status: from });
      assert.equal(post(`/servers/5/actions/${path}`).body.action.command, command);
      assert.deepEqual([get('/servers/5').body.server.status, get('/servers/5').body.server.locked], [from, true]);
      assert.equal(post('/servers/5/actions/reboot').code, 'locked');
      pass(400);
      assert.deepEqual([get('/servers/5').body.server.status, get('/servers/5').body.server.locked], [to, false]);
    });
});

function twoNetworks(): Project {
  const made = project();
  made.fake.networks.create({ id: 1, name: 'a', ipRange: '10.0.0.0/16', subnets: ['10.0.0.0/29', '10.0.1.0/30'] });
  made.fake.networks.create({
    id: 2,
    name: 'b',
    ipRange: '10.1.0.0/16',
    subnets: [{ ipRange: '10.1.0.0/24', zone: 'us-east' }],
  });
  made.fake.networks.create({ id: 3, name: 'c', ipRange: '10.1.0.0/24', subnets: ['10.1.0.0/26'] });
  made.fake.servers.create({ id: 5, name: 'w1' });
  made.fake.servers.create({ id: 6, name: 'w2', location: 'ash' });
  made.fake.servers.create({ id: 7, name: 'w3', network: 1, ip: '10.0.0.4' });
  return made;
}

describe('Attaching a server to a network', () => {
  it('gives it the first free address at the end of the action, past network, gateway and broadcast', () => {
    const { get, post, pass } = twoNetworks();
    const { body } = post('/servers/5/actions/attach_to_network', { network: 1 });
    assert.deepEqual(body.action.resources, [
      { id: 5, type: 'server' },
      { id: 1, type: 'network' },
    ]);
    assert.deepEqual(get('/servers/5').body.server.private_net, []);
    assert.deepEqual(get('/networks/1').body.network.servers, [7]);
    pass(400);
    const [net] = get('/servers/5').body.server.private_net;
    assert.deepEqual([net.network, net.ip, net.alias_ips], [1, '10.0.0.2', []]);
    assert.match(net.mac_address, /^86:00:00(:[0-9a-f]{2}){3}$/);
    assert.deepEqual(get('/networks/1').body.network.servers, [7, 5]);
  });

  it('takes the address, subnet and aliases that are asked for', () => {
    const { get, post, pass } = twoNetworks();
    post('/servers/5/actions/attach_to_network', {
      network: 1,
      ip_range: '10.0.1.0/30',
      alias_ips: ['10.0.0.5', '10.0.0.6'],
    });
    pass(400);
    const [net] = get('/servers/5').body.server.private_net;
    assert.deepEqual([net.ip, net.alias_ips], ['10.0.1.1', ['10.0.0.5', '10.0.0.6']]);
  });

  it('promises an address from the start of the action, so that two never get the same', () => {
    const { fake, get, post, pass } = twoNetworks();
    fake.servers.create({ id: 8, name: 'w4' });
    post('/servers/5/actions/attach_to_network', { network: 1 });
    post('/servers/8/actions/attach_to_network', { network: 1 });
    assert.equal(post('/servers/6/actions/attach_to_network', { network: 1, ip: '10.0.0.2' }).status, 422);
    pass(400);
    assert.equal(get('/servers/5').body.server.private_net[0].ip, '10.0.0.2');
    assert.equal(get('/servers/8').body.server.private_net[0].ip, '10.0.0.3');
  });

  const refusals: [what: string, server: number, body: object, status: number, code: string][] = [
    ['to an unknown network', 5, { network: 9 }, 404, 'not_found'],
    ['without a network', 5, {}, 422, 'invalid_input'],
    ['twice', 7, { network: 1 }, 422, 'server_already_attached'],
    ['with a taken address', 5, { network: 1, ip: '10.0.0.4' }, 422, 'ip_not_available'],
    ["with the network's gateway", 5, { network: 1, ip: '10.0.0.1' }, 422, 'ip_not_available'],
    ['with the broadcast address', 5, { network: 1, ip: '10.0.0.7' }, 422, 'ip_not_available'],
    ['with an address outside of all subnets', 5, { network: 1, ip: '10.0.9.9' }, 422, 'ip_not_available'],
    [
      'with an address outside of ip_range',
      5,
      { network: 1, ip: '10.0.0.5', ip_range: '10.0.1.0/30' },
      422,
      'ip_not_available',
    ],
    ['to a subnet that is not there', 5, { network: 1, ip_range: '10.0.2.0/24' }, 422, 'no_subnet_available'],
    ['from another network zone', 6, { network: 1 }, 422, 'no_subnet_available'],
    ['with too many aliases', 5, { network: 1, alias_ips: Array(6).fill('10.0.0.5') }, 403, 'resource_limit_exceeded'],
    ['with a taken alias', 5, { network: 1, alias_ips: ['10.0.0.4'] }, 422, 'ip_not_available'],
  ];
  for (const [what, server, body, status, code] of refusals)
    it(`is refused ${what}, and takes no address then`, () => {
      const { fake, post } = twoNetworks();
      const got = post(`/servers/${server}/actions/attach_to_network`, body);
      assert.deepEqual([got.status, got.code], [status, code]);
      assert.equal(fake.servers.create({ name: 'w9', network: 1 }).privateNets[0]?.ip, '10.0.0.2');
    });

  it('is refused when the networks of the server would overlap', () => {
    const { fake, post } = twoNetworks();
    fake.servers.attach(6, 2);
    assert.equal(post('/servers/6/actions/attach_to_network', { network: 3 }).code, 'networks_overlap');
  });

  it('is refused when no address is left', () => {
    const { fake, post } = twoNetworks();
    fake.networks.create({ id: 4, name: 'd', ipRange: '10.4.0.0/16', subnets: ['10.4.0.0/30'] });
    fake.servers.create({ name: 'w4', network: 4 });
    const got = post('/servers/5/actions/attach_to_network', { network: 4 });
    assert.deepEqual([got.code, got.message], ['no_subnet_available', 'no subnet or IP available']);
  });

  it('is refused for the 101st member and for the fourth network', () => {
    const { fake, post } = twoNetworks();
    fake.networks.create({ id: 4, name: 'd', ipRange: '10.4.0.0/16', subnets: ['10.4.0.0/24'] });
    for (let count = 0; count < 100; count++) fake.servers.create({ name: `m${count}`, network: 4 });
    const full = post('/servers/5/actions/attach_to_network', { network: 4 });
    assert.deepEqual([full.status, full.code], [403, 'resource_limit_exceeded']);
    for (const id of [11, 12, 13, 14])
      fake.networks.create({ id, name: `n${id}`, ipRange: `10.${id}.0.0/16`, subnets: [`10.${id}.0.0/24`] });
    for (const id of [11, 12, 13]) fake.servers.attach(5, id);
    assert.equal(post('/servers/5/actions/attach_to_network', { network: 14 }).code, 'resource_limit_exceeded');
  });

  it('is undone by detaching, which frees the address at the end of the action', () => {
    const { fake, get, post, pass } = twoNetworks();
    assert.equal(post('/servers/5/actions/detach_from_network', { network: 1 }).code, 'not_found');
    post('/servers/7/actions/detach_from_network', { network: 1 });
    assert.equal(get('/servers/7').body.server.private_net.length, 1);
    assert.equal(post('/servers/5/actions/attach_to_network', { network: 1, ip: '10.0.0.4' }).code, 'ip_not_available');
    pass(400);
    assert.deepEqual(get('/servers/7').body.server.private_net, []);
    assert.equal(fake.servers.attach(5, 1, { ip: '10.0.0.4' }).ip, '10.0.0.4');
  });

  it('can be given other aliases; a failed change frees the new ones again', () => {
    const { fake, get, post, pass } = twoNetworks();
    const change = (alias_ips: string[]): Json =>
      post('/servers/7/actions/change_alias_ips', { network: 1, alias_ips });
    change(['10.0.0.5', '10.0.0.6']);
    pass(400);
    assert.deepEqual(get('/servers/7').body.server.private_net[0].alias_ips, ['10.0.0.5', '10.0.0.6']);
    change(['10.0.0.6', '10.0.0.3']);
    pass(400);
    assert.deepEqual(get('/servers/7').body.server.private_net[0].alias_ips, ['10.0.0.6', '10.0.0.3']);
    fake.faults.add({ kind: 'action', error: { code: 'action_failed', message: 'Action failed' }, times: 1 });
    change(['10.0.0.5']);
    pass(400);
    assert.deepEqual(get('/servers/7').body.server.private_net[0].alias_ips, ['10.0.0.6', '10.0.0.3']);
    assert.equal(fake.servers.attach(5, 1, { ip: '10.0.0.5' }).ip, '10.0.0.5');
  });
});

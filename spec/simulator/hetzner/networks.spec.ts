import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FakeHetznerOptions } from '../../../lib/simulator/hetzner/fake.ts';
import { type Got, type Json, type Project, project } from './project.ts';

function withNetwork(options: FakeHetznerOptions = {}): Project & { act(command: string, body: object): Got } {
  const made = project(options);
  made.fake.networks.create({
    id: 1,
    name: 'net',
    ipRange: '10.0.0.0/8',
    subnets: ['10.0.0.0/24', { ipRange: '10.0.7.0/24', type: 'vswitch', vSwitch: 77 }],
    routes: [{ destination: '10.244.0.0/24', gateway: '10.0.0.2' }],
  });
  return { ...made, act: (command, body) => made.post(`/networks/1/actions/${command}`, body) };
}

describe('A network made by the API', () => {
  it('has its subnets and routes at once, each subnet with its gateway', () => {
    const { post } = project();
    const { status, body } = post('/networks', {
      name: 'net',
      ip_range: '10.0.0.0/16',
      labels: { a: 'b' },
      subnets: [
        { type: 'cloud', network_zone: 'eu-central', ip_range: '10.0.1.0/24' },
        { type: 'server', network_zone: 'eu-central' },
        { type: 'vswitch', network_zone: 'eu-central', vswitch_id: 9, ip_range: '10.0.9.0/24' },
      ],
      routes: [{ destination: '10.100.1.0/24', gateway: '10.0.1.9' }],
    });
    assert.equal(status, 201);
    assert.deepEqual(
      body.network.subnets.map((one: Json) => [one.type, one.ip_range, one.gateway, one.vswitch_id]),
      [
        ['cloud', '10.0.1.0/24', '10.0.0.1', null],
        ['server', '10.0.0.0/24', '10.0.0.1', null],
        ['vswitch', '10.0.9.0/24', '10.0.9.1', 9],
      ],
    );
    assert.deepEqual(body.network.routes, [{ destination: '10.100.1.0/24', gateway: '10.0.1.9' }]);
  });

  const refusals: [what: string, body: object, code: string][] = [
    ['without a name', { ip_range: '10.0.0.0/16' }, 'invalid_input'],
    ['with a name beyond 128 characters', { name: 'n'.repeat(129), ip_range: '10.0.0.0/16' }, 'invalid_input'],
    ['with a taken name', { name: 'net', ip_range: '10.0.0.0/16' }, 'uniqueness_error'],
    ['with a public range', { name: 'n', ip_range: '9.0.0.0/16' }, 'invalid_input'],
    ['with a range wider than RFC 1918', { name: 'n', ip_range: '172.16.0.0/11' }, 'invalid_input'],
    ['with a range smaller than /24', { name: 'n', ip_range: '10.0.0.0/25' }, 'invalid_input'],
    ['with host bits in the range', { name: 'n', ip_range: '10.0.0.1/16' }, 'invalid_input'],
    ['with unknown properties', { name: 'n', ip_range: '10.0.0.0/16', zone: 'x' }, 'invalid_input'],
    ['with a bad subnet', { name: 'n', ip_range: '10.0.0.0/16', subnets: [{ type: 'cloud' }] }, 'invalid_input'],
    [
      'with a bad route',
      { name: 'n', ip_range: '10.0.0.0/16', routes: [{ destination: '10.9.0.0/24' }] },
      'invalid_input',
    ],
  ];
  for (const [what, body, code] of refusals)
    it(`is refused ${what}`, () => {
      const { fake, post } = withNetwork();
      assert.equal(post('/networks', body).code, code);
      assert.equal(fake.networks.list().length, 1);
    });

  it('is changed by PUT and deleted with all attachments unless protected', () => {
    const { fake, act, call, get, pass } = withNetwork();
    fake.servers.create({ id: 5, name: 'w1', network: 1 });
    const { network } = call('PUT', '/networks/1', {
      name: 'other',
      labels: { x: '1' },
      expose_routes_to_vswitch: true,
    }).body;
    assert.deepEqual([network.name, network.labels, network.expose_routes_to_vswitch], ['other', { x: '1' }, true]);
    act('change_protection', { delete: true });
    pass(400);
    assert.deepEqual([call('DELETE', '/networks/1').status, call('DELETE', '/networks/1').code], [423, 'protected']);
    act('change_protection', { delete: false });
    pass(400);
    const gone = call('DELETE', '/networks/1');
    assert.deepEqual([gone.status, gone.answer.body, gone.headers['Content-Type']], [204, '', undefined]);
    assert.deepEqual(get('/servers/5').body.server.private_net, []);
    assert.equal(get('/networks/1').status, 404);
  });
});

const overlap = 'network route destination overlaps with another subnetwork or network route';

describe('A route of a network', () => {
  const accepted: [what: string, destination: string, gateway: string][] = [
    ['inside the range and outside its subnets', '10.244.1.0/24', '10.0.0.3'],
    ['outside the range', '192.168.0.0/16', '10.0.0.3'],
    ['to one host', '10.9.9.9/32', '10.0.0.3'],
    ['to everything', '0.0.0.0/0', '10.0.0.3'],
    ['by an address outside of all subnets', '10.244.1.0/24', '10.9.9.9'],
  ];
  for (const [what, destination, gateway] of accepted)
    it(`is accepted ${what}`, () => {
      const { fake, act, pass } = withNetwork();
      assert.equal(act('add_route', { destination, gateway }).status, 201);
      pass(400);
      assert.deepEqual(fake.networks.get(1)?.routes[1], { destination, gateway });
    });

  const refused: [what: string, destination: string, gateway: string, message: string][] = [
    ['that is there already', '10.244.0.0/24', '10.0.0.2', overlap],
    ['with the destination of another', '10.244.0.0/24', '10.0.0.3', overlap],
    ['inside another destination', '10.244.0.128/25', '10.0.0.3', overlap],
    ['around another destination', '10.244.0.0/16', '10.0.0.3', overlap],
    ['over a subnet', '10.0.0.0/16', '10.0.0.3', overlap],
    ['over 172.31.1.1', '172.16.0.0/12', '10.0.0.3', overlap],
    ['to a public range', '8.8.8.0/24', '10.0.0.3', "invalid input in field 'destination'"],
    ['to no range', 'fd00::/64', '10.0.0.3', "invalid input in field 'destination'"],
    ['with host bits', '10.244.1.1/24', '10.0.0.3', "invalid input in field 'destination'"],
    ["by the network's first address", '10.244.1.0/24', '10.0.0.1', 'invalid gateway'],
    ['by an address behind the vSwitch', '10.244.1.0/24', '10.0.7.9', 'invalid gateway'],
    ['by an address outside the network', '10.244.1.0/24', '192.168.0.1', 'invalid gateway'],
    ['by no address', '10.244.1.0/24', 'w1', 'invalid gateway'],
  ];
  for (const [what, destination, gateway, message] of refused)
    it(`is refused ${what}`, () => {
      const got = withNetwork().act('add_route', { destination, gateway });
      assert.deepEqual([got.status, got.code, got.message], [422, 'invalid_input', message]);
    });

  it('to everything is there once', () => {
    const { act } = withNetwork();
    act('add_route', { destination: '0.0.0.0/0', gateway: '10.0.0.3' });
    assert.equal(act('add_route', { destination: '0.0.0.0/0', gateway: '10.0.0.4' }).message, overlap);
  });

  it('needs the address of a member as gateway where that is switched on', () => {
    const { fake, act } = withNetwork();
    fake.settings.gateways = 'of-member';
    fake.networks.addSubnet(1, '10.0.1.0/24');
    assert.equal(act('add_route', { destination: '10.244.1.0/24', gateway: '10.0.1.9' }).message, 'invalid gateway');
    fake.servers.create({ name: 'w1', network: 1, ip: '10.0.1.9' });
    assert.equal(act('add_route', { destination: '10.244.1.0/24', gateway: '10.0.1.9' }).status, 201);
  });

  it('is refused as the 101st with resource_limit_exceeded', () => {
    const { act } = withNetwork();
    for (let third = 1; third < 100; third++)
      act('add_route', { destination: `10.244.${third}.0/24`, gateway: '10.0.0.2' });
    const got = act('add_route', { destination: '10.244.100.0/24', gateway: '10.0.0.2' });
    assert.deepEqual([got.status, got.code], [403, 'resource_limit_exceeded']);
  });

  it('is deleted only as the exact pair, and once', () => {
    const { fake, act, pass } = withNetwork();
    assert.equal(act('delete_route', { destination: '10.244.0.0/24', gateway: '10.0.0.3' }).code, 'not_found');
    assert.equal(act('delete_route', { destination: '10.244.0.0/24', gateway: '10.0.0.2' }).status, 201);
    assert.equal(fake.networks.get(1)?.routes.length, 1);
    assert.equal(act('delete_route', { destination: '10.244.0.0/24', gateway: '10.0.0.2' }).code, 'not_found');
    assert.equal(act('add_route', { destination: '10.244.0.0/24', gateway: '10.0.0.3' }).message, overlap);
    pass(400);
    assert.equal(fake.networks.get(1)?.routes.length, 0);
    assert.equal(act('add_route', { destination: '10.244.0.0/24', gateway: '10.0.0.3' }).status, 201);
  });
});

describe('Changes of one network at the same time', () => {
  const add = (third: number): object => ({ destination: `10.244.${third}.0/24`, gateway: '10.0.0.2' });

  it('of routes run side by side where the API allows it', () => {
    const { fake, act, call, pass } = withNetwork({ networkChanges: 'parallel' });
    for (const third of [1, 2, 3]) assert.equal(act('add_route', add(third)).status, 201);
    assert.equal(act('add_route', add(1)).message, overlap);
    assert.equal(act('delete_route', { destination: '10.244.0.0/24', gateway: '10.0.0.2' }).status, 201);
    assert.equal(call('PUT', '/networks/1', { labels: {} }).status, 200);
    pass(400);
    assert.equal(fake.networks.get(1)?.routes.length, 3);
  });

  for (const [mode, status] of [
    ['locked', 423],
    ['conflict', 409],
  ] as const)
    it(`are refused with ${status} ${mode} until the action has ended`, () => {
      const { fake, act, call, pass } = withNetwork({ networkChanges: mode });
      fake.networks.create({ id: 2, name: 'two', ipRange: '10.0.0.0/8' });
      act('add_route', add(1));
      for (const got of [
        act('add_route', add(2)),
        act('delete_route', add(0)),
        act('add_subnet', { type: 'cloud', network_zone: 'eu-central' }),
        call('PUT', '/networks/1', { name: 'x' }),
        call('DELETE', '/networks/1'),
      ])
        assert.deepEqual([got.status, got.code], [status, mode]);
      assert.equal(call('POST', '/networks/2/actions/add_route', add(1)).status, 201);
      pass(400);
      assert.equal(act('add_route', add(2)).status, 201);
    });

  it('of subnets never run side by side', () => {
    const { act, pass } = withNetwork({ networkChanges: 'parallel' });
    assert.equal(act('add_subnet', { type: 'cloud', network_zone: 'eu-central' }).status, 201);
    assert.equal(act('change_ip_range', { ip_range: '10.0.0.0/8' }).code, 'conflict');
    assert.equal(act('add_route', add(1)).status, 201);
    pass(400);
    assert.equal(act('change_ip_range', { ip_range: '10.0.0.0/8' }).status, 201);
  });

  it('can be held up by somebody else for a while', () => {
    const { fake, act, pass } = withNetwork();
    fake.networks.lock(1, 45_000);
    pass(44_999);
    assert.deepEqual([act('add_route', add(1)).status, act('add_route', add(1)).code], [423, 'locked']);
    pass(1);
    assert.equal(act('add_route', add(1)).status, 201);
  });
});

describe('A subnet of a network', () => {
  const cloud = { type: 'cloud', network_zone: 'eu-central' };

  it('gets the first free /24 when it names no range', () => {
    const { act, get, pass } = withNetwork();
    act('add_subnet', cloud);
    assert.equal(get('/networks/1').body.network.subnets.length, 2);
    pass(400);
    assert.equal(get('/networks/1').body.network.subnets[2].ip_range, '10.0.1.0/24');
  });

  const refusals: [what: string, body: object, code: string][] = [
    ['of an unknown type', { ...cloud, type: 'lan' }, 'invalid_input'],
    ['smaller than /30', { ...cloud, ip_range: '10.0.1.0/31' }, 'invalid_input'],
    ['outside the network', { ...cloud, ip_range: '192.168.0.0/24' }, 'invalid_input'],
    ['over another subnet', { ...cloud, ip_range: '10.0.0.128/25' }, 'invalid_input'],
    ['over a route', { ...cloud, ip_range: '10.244.0.0/16' }, 'invalid_input'],
    ['in a second zone', { ...cloud, network_zone: 'us-east', ip_range: '10.0.1.0/24' }, 'invalid_input'],
    ['for a vSwitch without its id', { ...cloud, type: 'vswitch' }, 'invalid_input'],
    ['for a vSwitch that is used', { ...cloud, type: 'vswitch', vswitch_id: 77 }, 'vswitch_id_already_used'],
  ];
  for (const [what, body, code] of refusals)
    it(`is refused ${what}`, () => {
      const got = withNetwork().act('add_subnet', body);
      assert.deepEqual([got.status, got.code], [422, code]);
    });

  it('is refused as the 51st', () => {
    const { fake, act } = withNetwork();
    for (let third = 100; third < 148; third++) fake.networks.addSubnet(1, `10.0.${third}.0/24`);
    assert.equal(act('add_subnet', cloud).code, 'resource_limit_exceeded');
  });

  it('stays while a member has an address in it', () => {
    const { fake, act, get, pass } = withNetwork();
    fake.servers.create({ id: 5, name: 'w1', network: 1 });
    const got = act('delete_subnet', { ip_range: '10.0.0.0/24' });
    assert.deepEqual(
      [got.code, got.message],
      ['service_error', 'cannot remove subnet because servers are attached to it'],
    );
    fake.servers.detach(5, 1);
    assert.equal(act('delete_subnet', { ip_range: '10.0.0.0/24' }).status, 201);
    pass(400);
    assert.equal(get('/networks/1').body.network.subnets.length, 1);
    assert.equal(act('delete_subnet', { ip_range: '10.0.0.0/24' }).code, 'not_found');
  });
});

describe('The range of a network', () => {
  for (const [range, fits] of [
    ['172.16.0.0/15', true],
    ['172.16.0.0/12', true],
    ['172.16.0.0/17', false],
    ['172.20.0.0/16', false],
    ['172.16.0.0/11', false],
  ] as const)
    it(`${fits ? 'grows' : 'does not change'} from 172.16.0.0/16 to ${range}`, () => {
      const { fake, post, pass } = project();
      fake.networks.create({ id: 1, name: 'net', ipRange: '172.16.0.0/16' });
      assert.equal(post('/networks/1/actions/change_ip_range', { ip_range: range }).status, fits ? 201 : 422);
      pass(400);
      assert.equal(fake.networks.get(1)?.ipRange, fits ? range : '172.16.0.0/16');
    });
});

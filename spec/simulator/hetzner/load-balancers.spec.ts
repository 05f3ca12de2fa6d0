import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FakeHetznerOptions } from '../../../lib/simulator/hetzner/fake.ts';
import { type Got, type Json, type Project, project } from './project.ts';

type Made = Project & {
  /** An action on load balancer 7; its end is waited for. */
  act(command: string, body?: unknown): Got;
  lb(): Json;
};

/** Network 1 with a vSwitch, network 2, servers 101 (both nets), 102 (no IPv4), 103, load balancer 7 in network 1. */
function setUp(options: FakeHetznerOptions = {}): Made {
  const made = project(options);
  const { fake, post, get, pass } = made;
  const vSwitch = { ipRange: '10.0.7.0/24', type: 'vswitch', vSwitch: 77 };
  fake.networks.create({ id: 1, name: 'n1', ipRange: '10.0.0.0/16', subnets: ['10.0.0.0/24', vSwitch] });
  fake.networks.create({ id: 2, name: 'n2', ipRange: '10.1.0.0/16', subnets: ['10.1.0.0/24'] });
  fake.servers.create({
    id: 101,
    name: 'w1',
    ipv4: '198.18.9.1',
    network: 1,
    ip: '10.0.0.101',
    labels: { role: 'web' },
  });
  fake.servers.create({ id: 102, name: 'w2', ipv4: null, ipv6: '2001:db8:77::/64', network: 1, ip: '10.0.0.102' });
  fake.servers.create({ id: 103, name: 'w3', labels: { role: 'web' } });
  fake.certificates.create({ id: 50, name: 'cert' });
  fake.loadBalancers.create({
    id: 7,
    name: 'lb',
    network: 1,
    ip: '10.0.0.7',
    services: [{ protocol: 'tcp', listenPort: 53, destinationPort: 30053 }],
  });
  return {
    ...made,
    act: (command, body) => {
      const got = post(`/load_balancers/7/actions/${command}`, body);
      pass(400);
      return got;
    },
    lb: () => get('/load_balancers/7').body.load_balancer,
  };
}

const server = (id: number, more: object = {}) => ({ type: 'server', server: { id }, ...more });
const ip = (address: string) => ({ type: 'ip', ip: { ip: address } });
const selector = (text: string, more: object = {}) => ({
  type: 'label_selector',
  label_selector: { selector: text },
  ...more,
});
const tcp = (listen_port: number, more: object = {}) => ({
  protocol: 'tcp',
  listen_port,
  destination_port: 30000,
  ...more,
});
const https = (more: object = {}) => ({ protocol: 'https', http: { certificates: [50] }, ...more });

describe('A load balancer made by the API', () => {
  const body = { name: 'new', load_balancer_type: 'lb11', location: 'nbg1' };

  it('has all its parts at once, and its addresses when the action has ended', () => {
    const { fake, post, get, pass } = setUp();
    const { body: made } = post('/load_balancers', {
      ...body,
      network: 1,
      services: [tcp(80)],
      targets: [server(101, { use_private_ip: true })],
      labels: { a: 'b' },
      algorithm: { type: 'least_connections' },
    });
    const { load_balancer: lb } = made;
    assert.equal(made.action.command, 'create_load_balancer');
    assert.deepEqual([lb.public_net.ipv4.ip, lb.private_net], [null, []]);
    assert.deepEqual([lb.services.length, lb.targets.length, lb.algorithm.type], [1, 1, 'least_connections']);
    assert.equal(fake.loadBalancers.serves(lb.id, 80), false);
    assert.deepEqual(get('/networks/1').body.network.load_balancers, [7]);
    pass(400);
    const done = get(`/load_balancers/${lb.id}`).body.load_balancer;
    assert.equal(done.public_net.ipv4.ip, '198.18.0.3');
    assert.match(done.public_net.ipv6.ip, /^2001:db8:[0-9a-f]+::1$/);
    assert.deepEqual(done.private_net, [{ network: 1, ip: '10.0.0.2' }]);
    assert.deepEqual(get('/networks/1').body.network.load_balancers.sort(), [7, lb.id]);
    assert.equal(fake.loadBalancers.serves(lb.id, 80), true);
  });

  it('is checked from the end of the action on', () => {
    const { fake, post, pass } = setUp();
    const { id } = post('/load_balancers', { ...body, services: [tcp(80)], targets: [server(101)] }).body.load_balancer;
    pass(400 + 14_999);
    assert.equal(fake.loadBalancers.serves(id, 80, { healthy: true }), false);
    pass(1);
    assert.equal(fake.loadBalancers.serves(id, 80, { healthy: true }), true);
  });

  it('can have its addresses at once', () => {
    const { post } = setUp({ addressesAtOnce: true });
    assert.equal(typeof post('/load_balancers', body).body.load_balancer.public_net.ipv4.ip, 'string');
  });

  it('is in a location of the network zone when it names no location, and takes ids as well as names', () => {
    const { post } = setUp();
    const zone = post('/load_balancers', { name: 'z', load_balancer_type: 2, network_zone: 'us-west' });
    assert.deepEqual(
      [zone.body.load_balancer.location.name, zone.body.load_balancer.load_balancer_type.name],
      ['hil', 'lb21'],
    );
  });

  it('is gone when its creation fails, with its address', () => {
    const { fake, post, get, pass } = setUp();
    const error = { code: 'action_failed', message: 'no' };
    fake.faults.add({ kind: 'action', error, times: 1 });
    const { id } = post('/load_balancers', { ...body, network: 1 }).body.load_balancer;
    pass(400);
    assert.equal(get(`/load_balancers/${id}`).code, 'not_found');
    fake.loadBalancers.create({ name: 'next', network: 1, ip: '10.0.0.2' });
  });

  const refusals: [what: string, change: object, status: number, code: string][] = [
    ['without a name', { name: undefined }, 422, 'invalid_input'],
    ['with a name beyond 128 characters', { name: 'n'.repeat(129) }, 422, 'invalid_input'],
    ['with a space before its name', { name: ' n' }, 422, 'invalid_input'],
    ['with a taken name', { name: 'lb' }, 409, 'uniqueness_error'],
    ['without a type', { load_balancer_type: undefined }, 422, 'invalid_input'],
    ['with an unknown type', { load_balancer_type: 'lb99' }, 404, 'not_found'],
    ['without location and zone', { location: undefined }, 422, 'invalid_input'],
    ['with both location and zone', { network_zone: 'eu-central' }, 422, 'invalid_input'],
    ['in an unknown location', { location: 'mars' }, 404, 'not_found'],
    ['in an unknown zone', { location: undefined, network_zone: 'mars' }, 422, 'invalid_input'],
    ['with an unknown algorithm', { algorithm: { type: 'random' } }, 422, 'invalid_input'],
    ['in an unknown network', { network: 99 }, 404, 'not_found'],
    ['in a network of another zone', { network: 1, location: 'ash' }, 422, 'no_subnet_available'],
    ['without any interface', { public_interface: false }, 422, 'invalid_input'],
    ['with one port twice', { services: [tcp(80), tcp(80)] }, 412, 'source_port_already_used'],
    ['with a target twice', { targets: [server(101), server(101)] }, 422, 'target_already_defined'],
    [
      'with a private target without a network',
      { targets: [server(101, { use_private_ip: true })] },
      422,
      'load_balancer_not_attached_to_network',
    ],
    [
      'with a private target of another network',
      { network: 2, targets: [server(101, { use_private_ip: true })] },
      422,
      'resolve_cloud_private_targets_error',
    ],
    ['with a public target without IPv4', { targets: [server(102)] }, 422, 'resolve_cloud_public_targets_error'],
    ['with a bad label', { labels: { '-a': 'b' } }, 422, 'invalid_input'],
  ];
  for (const [what, change, status, code] of refusals)
    it(`is refused ${what}, and leaves nothing behind`, () => {
      const { fake, post, get } = setUp();
      const got = post('/load_balancers', { ...body, ...change });
      assert.deepEqual([got.status, got.code], [status, code]);
      assert.equal(fake.loadBalancers.list().length, 1);
      assert.deepEqual(
        [1, 2].map(id => get(`/networks/${id}`).body.network.load_balancers),
        [[7], []],
      );
      assert.doesNotThrow(() => fake.loadBalancers.create({ name: 'x', network: 2, ip: '10.1.0.2' }));
    });

  it('is refused beyond the quota of the project', () => {
    const { post } = setUp({ maxLoadBalancers: 2 });
    assert.equal(post('/load_balancers', body).status, 201);
    const second = post('/load_balancers', { ...body, name: 'second' });
    assert.deepEqual([second.status, second.code], [403, 'resource_limit_exceeded']);
  });

  it('BUG-057: is refused with a type that is not sold any more, which the list of types foretells', () => {
    const { fake, post, get, act, now, pass } = setUp();
    fake.loadBalancers.deprecateType('lb21', now() + 1_000);
    assert.equal(
      get('/load_balancer_types?name=lb21').body.load_balancer_types[0].deprecation.unavailable_after.slice(0, 10),
      '2026-03-01',
    );
    assert.equal(act('change_type', { load_balancer_type: 'lb21' }).status, 201);
    pass(1_000);
    assert.equal(post('/load_balancers', { ...body, load_balancer_type: 'lb21' }).code, 'resource_unavailable');
  });

  it('is found by name and labels, changed by PUT and deleted unless protected', () => {
    const { act, call, get } = setUp();
    const changed = call('PUT', '/load_balancers/7', { name: 'other', labels: { x: 'y' } }).body.load_balancer;
    assert.deepEqual([changed.name, changed.labels], ['other', { x: 'y' }]);
    assert.equal(get('/load_balancers?name=other').body.load_balancers.length, 1);
    assert.equal(get('/load_balancers?name=lb').body.load_balancers.length, 0);
    assert.equal(get('/load_balancers?label_selector=x%3Dy').body.load_balancers.length, 1);
    act('change_protection', { delete: true });
    const kept = call('DELETE', '/load_balancers/7');
    assert.deepEqual([kept.status, kept.code], [423, 'protected']);
    act('change_protection', { delete: false });
    assert.equal(call('DELETE', '/load_balancers/7').status, 204);
    assert.equal(call('DELETE', '/load_balancers/7').status, 404);
    assert.deepEqual(get('/networks/1').body.network.load_balancers, []);
  });
});

describe('A listener', () => {
  const check = { protocol: 'tcp', port: 80, interval: 15, timeout: 10, retries: 3 };
  const http = { cookie_name: 'HCLBSTICKY', cookie_lifetime: 300, timeout_idle: 50, sticky_sessions: false };
  const httpCheck = { domain: null, path: '/', response: '', status_codes: ['2??', '3??'], tls: false };

  it('of http and https has defaults for all that is left out', () => {
    const { act, lb } = setUp();
    act('add_service', { protocol: 'http' });
    act('add_service', https());
    assert.deepEqual(lb().services.slice(1), [
      {
        protocol: 'http',
        listen_port: 80,
        destination_port: 80,
        proxyprotocol: false,
        health_check: { ...check, protocol: 'http', http: httpCheck },
        http,
      },
      {
        protocol: 'https',
        listen_port: 443,
        destination_port: 80,
        proxyprotocol: false,
        health_check: check,
        http: { ...http, certificates: [50], redirect_http: false },
      },
    ]);
  });

  it('of tcp has a check of its destination', () => {
    const { act, lb } = setUp();
    assert.equal(act('add_service', { ...tcp(90), http: null }).status, 201);
    assert.deepEqual(lb().services[1], {
      protocol: 'tcp',
      listen_port: 90,
      destination_port: 30000,
      proxyprotocol: false,
      health_check: { ...check, port: 30000 },
    });
  });

  it('is there when the action has ended, and gone alike', () => {
    const { post, lb, pass } = setUp();
    const ports = () => lb().services.map((one: Json) => one.listen_port);
    post('/load_balancers/7/actions/add_service', tcp(80));
    post('/load_balancers/7/actions/delete_service', { listen_port: 53 });
    assert.deepEqual(ports(), [53]);
    pass(400);
    assert.deepEqual(ports(), [80]);
  });

  it('is changed field by field, nested ones too, and keeps what is not said', () => {
    const { act, lb } = setUp();
    const domain = 'example.com';
    act('add_service', https({ health_check: { protocol: 'http', http: { domain, path: '/ok' } } }));
    act('update_service', { listen_port: 443, proxyprotocol: true, http: { sticky_sessions: true } });
    act('update_service', { listen_port: 443, health_check: { interval: 5, http: { path: '/new' } } });
    const service = lb().services[1];
    assert.deepEqual(
      [service.proxyprotocol, service.http.sticky_sessions, service.http.certificates],
      [true, true, [50]],
    );
    assert.deepEqual(service.health_check, {
      ...check,
      protocol: 'http',
      interval: 5,
      http: { ...httpCheck, domain, path: '/new' },
    });
    act('update_service', { listen_port: 443, health_check: { http: { domain: null } } });
    assert.equal(lb().services[1].health_check.http.domain, null);
  });

  it('BUG-044: keeps the port of its check when its destination changes', () => {
    const { act, lb } = setUp();
    act('update_service', { listen_port: 53, destination_port: 31000 });
    const [service] = lb().services;
    assert.deepEqual([service.destination_port, service.health_check.port], [31000, 30053]);
  });

  it('loses and gains what belongs to a protocol when it changes that', () => {
    const { act, lb } = setUp();
    act('update_service', { listen_port: 53, protocol: 'http' });
    assert.deepEqual(lb().services[0].http, http);
    act('update_service', { listen_port: 53, protocol: 'tcp' });
    assert.equal('http' in lb().services[0], false);
    act('update_service', { listen_port: 53, health_check: { protocol: 'http' } });
    assert.deepEqual(lb().services[0].health_check.http, httpCheck);
    act('update_service', { listen_port: 53, health_check: { protocol: 'tcp' } });
    assert.equal('http' in lb().services[0].health_check, false);
  });

  it('can be changed twice side by side, and takes what both changes need from their start', () => {
    const { fake, post, call, lb, pass } = setUp();
    fake.loadBalancers.addService(7, { protocol: 'https', listenPort: 443, http: { certificates: [50] } });
    fake.certificates.create({ id: 51, name: 'other' });
    const update = (http: object) => post('/load_balancers/7/actions/update_service', { listen_port: 443, http });
    update({ redirect_http: true });
    update({ certificates: [51] });
    assert.equal(post('/load_balancers/7/actions/add_service', { protocol: 'http' }).code, 'source_port_already_used');
    assert.equal(call('DELETE', '/certificates/51').code, 'service_error');
    assert.deepEqual(lb().services[1].http.redirect_http, false);
    pass(400);
    assert.deepEqual([lb().services[1].http.redirect_http, lb().services[1].http.certificates], [true, [51]]);
  });

  it('builds on changes that run, and gives back what a change no longer needs', () => {
    const { fake, post, act } = setUp();
    fake.loadBalancers.addService(7, { protocol: 'https', listenPort: 443, http: { certificates: [50] } });
    const redirect = (redirect_http: boolean) => ({ listen_port: 443, http: { redirect_http } });
    act('update_service', redirect(true));
    act('update_service', redirect(false));
    fake.faults.add({ kind: 'action', error: { code: 'action_failed', message: 'no' }, times: 1 });
    act('update_service', redirect(true));
    assert.equal(act('add_service', tcp(80)).status, 201);
    post('/load_balancers/7/actions/update_service', { listen_port: 53, protocol: 'http' });
    assert.equal(act('update_service', { listen_port: 53, http: { sticky_sessions: true } }).status, 201);
    assert.equal(fake.loadBalancers.get(7)?.services[0]?.http?.stickySessions, true);
  });

  it('keeps a second change when the first one ends', () => {
    const { fake, post, lb, pass } = setUp();
    fake.faults.add({ kind: 'action', duration: 900, skip: 1, times: 1 });
    const update = (body: object) => post('/load_balancers/7/actions/update_service', { listen_port: 53, ...body });
    update({ proxyprotocol: true });
    update({ destination_port: 2 });
    pass(400);
    assert.deepEqual([lb().services[0].proxyprotocol, lb().services[0].destination_port], [true, 30053]);
    update({ health_check: { interval: 5 } });
    pass(900);
    const [service] = lb().services;
    assert.deepEqual([service.proxyprotocol, service.destination_port, service.health_check.interval], [true, 2, 5]);
  });

  it('stays as it was when its change fails', () => {
    const { fake, act, lb } = setUp();
    const error = { code: 'action_failed', message: 'no' };
    fake.faults.add({ kind: 'action', error, times: 3 });
    act('update_service', { listen_port: 53, proxyprotocol: true });
    act('add_service', tcp(80));
    act('delete_service', { listen_port: 53 });
    assert.deepEqual(
      lb().services.map((one: Json) => [one.listen_port, one.proxyprotocol]),
      [[53, false]],
    );
    assert.equal(act('add_service', tcp(80)).status, 201);
  });

  const refusals: [what: string, body: object, status: number, code: string][] = [
    ['without a protocol', { listen_port: 80, destination_port: 80 }, 422, 'invalid_input'],
    ['with udp', { ...tcp(80), protocol: 'udp' }, 422, 'invalid_input'],
    ['of tcp without a port', { protocol: 'tcp', destination_port: 80 }, 422, 'invalid_input'],
    ['of tcp without a destination', { protocol: 'tcp', listen_port: 80 }, 422, 'invalid_input'],
    ['on port 0', tcp(0), 422, 'invalid_input'],
    ['on port 65536', tcp(65_536), 422, 'invalid_input'],
    ['on a busy port', tcp(53), 412, 'source_port_already_used'],
    ['of tcp with http options', tcp(80, { http: { sticky_sessions: true } }), 422, 'invalid_input'],
    ['of http with certificates', { protocol: 'http', http: { certificates: [50] } }, 422, 'invalid_input'],
    ['of http with redirect', { protocol: 'http', http: { redirect_http: true } }, 422, 'invalid_input'],
    ['of https without certificates', { protocol: 'https' }, 422, 'invalid_input'],
    ['of https with an unknown certificate', https({ http: { certificates: [51] } }), 422, 'invalid_input'],
    [
      'of https on port 80 with redirect',
      https({ listen_port: 80, http: { certificates: [50], redirect_http: true } }),
      412,
      'source_port_already_used',
    ],
    ['with an interval below 3', tcp(80, { health_check: { interval: 2 } }), 422, 'invalid_input'],
    ['with an interval above 60', tcp(80, { health_check: { interval: 61 } }), 422, 'invalid_input'],
    ['with a timeout of 0', tcp(80, { health_check: { timeout: 0 } }), 422, 'invalid_input'],
    ['with a timeout above 60', tcp(80, { health_check: { timeout: 61 } }), 422, 'invalid_input'],
    ['with 0 retries', tcp(80, { health_check: { retries: 0 } }), 422, 'invalid_input'],
    ['with 6 retries', tcp(80, { health_check: { retries: 6 } }), 422, 'invalid_input'],
    ['with a check of an unknown kind', tcp(80, { health_check: { protocol: 'https' } }), 422, 'invalid_input'],
    ['with a null http check', tcp(80, { health_check: { protocol: 'tcp', http: null } }), 422, 'invalid_input'],
    ['with http options of a tcp check', tcp(80, { health_check: { http: { path: '/' } } }), 422, 'invalid_input'],
    ['with an unknown option of a check', tcp(80, { health_check: { grace: 1 } }), 422, 'invalid_input'],
    ...(
      [
        ['with a domain beyond 128', { domain: 'd'.repeat(129) }],
        ['with a space in the domain', { domain: 'a b' }],
        ['with an empty path', { path: '' }],
        ['with a space in the path', { path: '/a b' }],
        ['with a path beyond 256', { path: '/'.repeat(257) }],
        ['with a response beyond 256', { response: 'r'.repeat(257) }],
        ['with 21 status codes', { status_codes: Array(21).fill('2??') }],
        ['with odd status codes', { status_codes: ['ok'] }],
      ] as const
    ).map(
      ([what, http]) =>
        [what, tcp(80, { health_check: { protocol: 'http', http } }), 422, 'invalid_input'] as [
          string,
          object,
          number,
          string,
        ],
    ),
    ...(
      [
        ['with an empty cookie name', { cookie_name: '' }],
        ['with a cookie name beyond 100', { cookie_name: 'c'.repeat(101) }],
        ['with a cookie of 29 s', { cookie_lifetime: 29 }],
        ['with a cookie beyond a day', { cookie_lifetime: 86_401 }],
        ['with an idle timeout of 29 s', { timeout_idle: 29 }],
        ['with an idle timeout of 301 s', { timeout_idle: 301 }],
      ] as const
    ).map(
      ([what, http]) => [what, { protocol: 'http', http }, 422, 'invalid_input'] as [string, object, number, string],
    ),
  ];
  for (const [what, body, status, code] of refusals)
    it(`is refused ${what}`, () => {
      const { act, lb } = setUp();
      const got = act('add_service', body);
      assert.deepEqual([got.status, got.code], [status, code]);
      assert.equal(lb().services.length, 1);
    });

  it('is refused with the same code and another status when an update takes a busy port', () => {
    const { act } = setUp();
    act('add_service', { protocol: 'http' });
    act('add_service', https());
    const redirect = { listen_port: 443, http: { redirect_http: true } };
    const busy = act('update_service', redirect);
    assert.deepEqual([busy.status, busy.code], [422, 'source_port_already_used']);
    act('delete_service', { listen_port: 80 });
    assert.equal(act('update_service', redirect).status, 201);
    const again = act('add_service', { protocol: 'http' });
    assert.deepEqual(
      [again.status, again.message],
      [412, 'port 80 is busy, redirect_http is enabled on another service'],
    );
  });

  it('takes its port from the start of the action, and keeps it to the end', () => {
    const { post } = setUp();
    assert.equal(post('/load_balancers/7/actions/add_service', tcp(80)).status, 201);
    assert.equal(post('/load_balancers/7/actions/add_service', tcp(80)).code, 'source_port_already_used');
    assert.equal(post('/load_balancers/7/actions/delete_service', { listen_port: 53 }).status, 201);
    assert.equal(post('/load_balancers/7/actions/add_service', tcp(53)).code, 'source_port_already_used');
    assert.equal(post('/load_balancers/7/actions/delete_service', { listen_port: 53 }).code, 'not_found');
  });

  it('of an unknown port is not found', () => {
    const { act } = setUp();
    assert.equal(act('update_service', { listen_port: 54 }).code, 'not_found');
    assert.equal(act('delete_service', { listen_port: 54 }).code, 'not_found');
    assert.equal(act('update_service', {}).code, 'invalid_input');
  });

  it('is refused beyond the number that the type has room for', () => {
    const { act } = setUp();
    for (let port = 81; port <= 84; port++) assert.equal(act('add_service', tcp(port)).status, 201);
    const fifth = act('add_service', tcp(85));
    assert.deepEqual([fifth.status, fifth.code], [403, 'resource_limit_exceeded']);
  });

  it('is refused with more certificates than the type has room for; the same one counts once', () => {
    const { fake, act } = setUp();
    const ids = Array.from({ length: 10 }, (_, n) => fake.certificates.create({ name: `c${n}` }).id);
    act('add_service', https({ http: { certificates: ids } }));
    assert.equal(act('add_service', https({ listen_port: 444, http: { certificates: [ids[0]] } })).status, 201);
    assert.equal(act('add_service', https({ listen_port: 445 })).code, 'resource_limit_exceeded');
    assert.equal(
      act('update_service', { listen_port: 444, http: { certificates: [50] } }).code,
      'resource_limit_exceeded',
    );
  });
});

describe('A target', () => {
  it('is shown with the address that is used and its health for each listener', () => {
    const { act, lb } = setUp();
    act('add_service', tcp(80));
    act('add_target', server(101, { use_private_ip: true }));
    act('add_target', server(102, { server: { id: 102, ip: '2001:db8:77::5' } }));
    act('add_target', server(103));
    const unknown = [53, 80].map(listen_port => ({ listen_port, status: 'unknown' }));
    assert.deepEqual(
      lb().targets.map((one: Json) => [one.server, one.use_private_ip]),
      [
        [{ id: 101, ip: '10.0.0.101' }, true],
        [{ id: 102, ip: '2001:db8:77::5' }, false],
        [{ id: 103, ip: '198.18.0.1' }, false],
      ],
    );
    assert.deepEqual(lb().targets[0].health_status, unknown);
  });

  it('is healthy after a while when its server runs', () => {
    const { fake, act, lb, pass } = setUp();
    const health = () => lb().targets[0].health_status[0].status;
    act('add_target', server(101));
    pass(14_999);
    assert.equal(health(), 'unknown');
    pass(1);
    assert.equal(health(), 'healthy');
    fake.servers.setStatus(101, 'off');
    assert.equal(health(), 'unhealthy');
    fake.servers.setStatus(101, 'running');
    fake.servers.setPublicIPs(101, { ipv4: null });
    assert.equal(health(), 'unhealthy');
  });

  it('by selector stands for the servers that it selects and that can be reached', () => {
    const { fake, act, lb } = setUp();
    act('add_target', selector('role=web'));
    const ids = () => lb().targets[0].targets.map((one: Json) => one.server.id);
    assert.deepEqual(ids(), [101, 103]);
    fake.servers.setLabels(102, { role: 'web' });
    fake.servers.remove(103);
    assert.deepEqual(ids(), [101]);
    act('remove_target', selector('role=web'));
    act('add_target', selector('role=web', { use_private_ip: true }));
    assert.deepEqual(ids(), [101, 102]);
  });

  it('by selector can be late', () => {
    const { act, lb, pass } = setUp({ selectorAfter: 1_000 });
    act('add_target', selector('role=web'));
    assert.equal(lb().targets[0].targets.length, 0);
    pass(1_000);
    assert.equal(lb().targets[0].targets.length, 2);
  });

  it('is listed with its server', () => {
    const { post, get, pass } = setUp();
    const ids = () => get('/servers/101').body.server.load_balancers;
    post('/load_balancers/7/actions/add_target', server(101));
    assert.deepEqual(ids(), []);
    pass(400);
    assert.deepEqual(ids(), [7]);
  });

  type Refusal = [what: string, body: object, documented: string, client?: string, observed?: string];
  const refusals: Refusal[] = [
    ['without a type', { server: { id: 101 } }, 'invalid_input'],
    ['of an unknown type', { type: 'pod' }, 'invalid_input'],
    ['without what its type needs', { type: 'server' }, 'invalid_input'],
    ['with a null way', server(101, { use_private_ip: null }), 'invalid_input'],
    ['that is there already', server(103), 'target_already_defined'],
    ['that is there already, by another way', server(103, { use_private_ip: true }), 'target_already_defined'],
    ['that does not exist', server(999), 'invalid_input', 'not_found'],
    [
      'that is in no common network',
      server(104, { use_private_ip: true }),
      'resolve_cloud_private_targets_error',
      'server_not_attached_to_network',
      'service_error',
    ],
    ['without public IPv4', server(102), 'resolve_cloud_public_targets_error', 'missing_ipv4', 'invalid_input'],
    [
      'with an address that is not of the server',
      server(101, { server: { id: 101, ip: '198.18.9.2' } }),
      'ip_not_assigned_to_server',
    ],
    [
      'with an IPv6 address of another network',
      server(102, { server: { id: 102, ip: '2001:db8:78::5' } }),
      'ip_not_assigned_to_server',
    ],
    [
      'with an address for the private way',
      server(101, { server: { id: 101, ip: '10.0.0.101' }, use_private_ip: true }),
      'invalid_input',
    ],
    ['with an unknown field of the server', { type: 'server', server: { id: 101, name: 'x' } }, 'invalid_input'],
    ['with an empty selector', selector(''), 'invalid_input'],
    ['with a selector beyond 1000', selector('a'.repeat(1001)), 'invalid_input'],
    ['with a broken selector', selector('a b'), 'invalid_input'],
    ['that is no address', ip('example.com'), 'invalid_input'],
    ['that is the address of a cloud server', ip('198.18.9.1'), 'ip_not_owned', 'cloud_resource_ip_not_allowed'],
    ["that is in a cloud server's IPv6 network", ip('2001:db8:77::9'), 'ip_not_owned', 'cloud_resource_ip_not_allowed'],
    ['that is the address of somebody else', ip('203.0.113.66'), 'ip_not_owned'],
    ['that is private and not behind the vSwitch', ip('10.0.0.50'), 'ip_not_in_vswitch_subnet'],
  ];
  for (const [what, body, documented, client = documented, observed = documented] of refusals)
    for (const [targetErrors, code] of [
      ['documented', documented],
      ['client', client],
      ['observed', observed],
    ] as const)
      it(`is refused ${what} (${targetErrors})`, () => {
        const { fake, act, lb } = setUp({ targetErrors, ownedIPs: ['203.0.113.9'] });
        fake.servers.create({ id: 104, name: 'w4', network: 2 });
        act('add_target', server(103));
        assert.equal(act('add_target', body).code, code);
        assert.equal(lb().targets.length, 1);
      });

  it('outside the cloud can be one of its own addresses, or one behind the vSwitch', () => {
    const { act, lb } = setUp({ ownedIPs: ['203.0.113.9'] });
    act('add_target', ip('203.0.113.9'));
    act('add_target', ip('10.0.7.9'));
    assert.deepEqual(
      lb().targets.map((one: Json) => one.ip.ip),
      ['203.0.113.9', '10.0.7.9'],
    );
  });

  it('behind a vSwitch needs the network, and the network a vSwitch', () => {
    const { act } = setUp();
    act('detach_from_network', { network: 1 });
    assert.equal(act('add_target', ip('10.0.7.9')).code, 'load_balancer_not_attached_to_network');
    act('attach_to_network', { network: 2 });
    assert.equal(act('add_target', ip('10.0.7.9')).code, 'network_has_no_vswitch_subnet');
  });

  it('needs the public interface for the public way', () => {
    const { act } = setUp();
    act('disable_public_interface');
    for (const target of [server(101), ip('203.0.113.9'), selector('a')])
      assert.equal(act('add_target', target).code, 'load_balancer_public_interface_disabled');
    assert.equal(act('add_target', server(101, { use_private_ip: true })).status, 201);
  });

  it('BUG-043: is refused beyond the number that the type has room for, until the type is changed', () => {
    const { fake, act } = setUp();
    for (let n = 0; n < 25; n++) fake.loadBalancers.addTarget(7, { type: 'ip', ip: `203.0.113.${n}` });
    const refused = act('add_target', server(101));
    assert.deepEqual([refused.status, refused.code], [403, 'resource_limit_exceeded']);
    act('change_type', { load_balancer_type: 'lb21' });
    assert.equal(act('add_target', server(101)).status, 201);
  });

  it('can be refused for what a selector stands for', () => {
    const { fake, act } = setUp({ countSelected: true });
    for (let n = 0; n < 24; n++) fake.loadBalancers.addTarget(7, { type: 'ip', ip: `203.0.113.${n}` });
    assert.equal(act('add_target', selector('role=web')).code, 'resource_limit_exceeded');
    fake.settings.countSelected = false;
    assert.equal(act('add_target', selector('role=web')).status, 201);
  });

  const absent = [
    ['documented', 422, 'load_balancer_target_not_found'],
    ['client', 404, 'not_found'],
    ['observed', 422, 'invalid_input'],
  ] as const;
  for (const [targetErrors, status, code] of absent)
    it(`that is not there can't be removed (${targetErrors})`, () => {
      const { act } = setUp({ targetErrors });
      for (const target of [server(101), ip('203.0.113.9'), selector('role=web')]) {
        const got = act('remove_target', target);
        assert.deepEqual([got.status, got.code], [status, code]);
        assert.match(got.message ?? '', /target not found/);
      }
    });

  it('that is on its way out can not be removed once more', () => {
    const { fake, post } = setUp();
    fake.loadBalancers.addTarget(7, { type: 'server', serverID: 101, usePrivateIP: false });
    const remove = () => post('/load_balancers/7/actions/remove_target', server(101));
    assert.deepEqual([remove().status, remove().code], [201, 'load_balancer_target_not_found']);
  });

  it('can not be a load balancer', () => {
    const { act, lb } = setUp();
    for (const { ip: address } of [lb().public_net.ipv4, lb().public_net.ipv6])
      assert.equal(act('add_target', ip(address)).code, 'ip_not_owned');
  });

  it('goes with its server, or stays dead, or sticks (BUG-042)', () => {
    for (const [deadTargets, left, removal, after] of [
      ['drop', 1, 422, 1],
      ['stay', 2, 201, 1],
      ['stuck', 2, 422, 2],
    ] as const) {
      const { fake, act, lb, call, pass } = setUp({ deadTargets });
      act('add_target', server(101));
      act('add_target', server(103));
      call('DELETE', '/servers/101');
      pass(400);
      assert.equal(lb().targets.length, left, deadTargets);
      const got = act('remove_target', server(101));
      assert.equal(got.status, removal, deadTargets);
      if (deadTargets === 'stuck') assert.equal(got.message, 'server with ID 101 not found');
      assert.equal(lb().targets.length, after, deadTargets);
      assert.equal(fake.loadBalancers.serves(7, 53), true);
    }
  });

  it('goes when its server leaves the network through which it was reached', () => {
    const { fake, act, lb } = setUp();
    act('add_target', server(101, { use_private_ip: true }));
    fake.servers.attach(103, 1);
    act('add_target', server(103));
    fake.servers.detach(103, 1);
    fake.servers.detach(101, 1);
    assert.deepEqual(
      lb().targets.map((one: Json) => one.server.id),
      [103],
    );
  });
});

describe('The networks of a load balancer', () => {
  it('are one at most, with an address of its own', () => {
    const { fake, act, lb } = setUp();
    const attach = (body: object) => act('attach_to_network', body).code;
    assert.equal(attach({ network: 2 }), 'load_balancer_already_attached');
    act('detach_from_network', { network: 1 });
    assert.deepEqual(lb().private_net, []);
    assert.equal(attach({ network: 1, ip: '10.0.0.101' }), 'ip_not_available');
    assert.equal(attach({ network: 1, ip: '10.0.7.5' }), 'ip_not_available');
    assert.equal(attach({ network: 1, ip_range: '10.0.9.0/24' }), 'no_subnet_available');
    assert.equal(attach({ network: 99 }), 'not_found');
    fake.networks.addSubnet(1, '10.0.2.0/24');
    assert.equal(attach({ network: 1, ip_range: '10.0.2.0/24', ip: '10.0.0.9' }), 'ip_not_available');
    const { body } = act('attach_to_network', { network: 1, ip_range: '10.0.2.0/24' });
    assert.deepEqual(body.action.resources, [
      { id: 7, type: 'load_balancer' },
      { id: 1, type: 'network' },
    ]);
    assert.deepEqual(lb().private_net, [{ network: 1, ip: '10.0.2.1' }]);
    assert.equal(act('detach_from_network', { network: 2 }).code, 'not_found');
  });

  it('BUG-048: drop all private targets when they are left, and those only', () => {
    const { act, lb } = setUp();
    act('add_target', server(101, { use_private_ip: true }));
    act('add_target', server(103));
    act('add_target', ip('10.0.7.9'));
    act('add_target', ip('203.0.113.9'));
    act('add_target', selector('role=web', { use_private_ip: true }));
    act('detach_from_network', { network: 1 });
    assert.deepEqual(
      lb().targets.map((one: Json) => one.server?.id ?? one.ip?.ip),
      [103, '203.0.113.9'],
    );
  });

  it('are left when they are deleted', () => {
    const { fake, act, lb, call } = setUp();
    act('add_target', server(101, { use_private_ip: true }));
    call('DELETE', '/networks/1');
    assert.deepEqual([lb().private_net, lb().targets], [[], []]);
    fake.networks.create({ id: 3, name: 'n3', ipRange: '10.0.0.0/16', subnets: ['10.0.0.0/24'] });
    assert.equal(act('attach_to_network', { network: 3 }).status, 201);
  });

  it('can stay under way for long although they are joined', () => {
    const { fake, post, lb, pass, get } = setUp();
    fake.loadBalancers.detach(7, 1);
    fake.faults.add({ kind: 'action', duration: 300_000, effectAfter: 1_000, times: 1 });
    const { id } = post('/load_balancers/7/actions/attach_to_network', { network: 1 }).body.action;
    pass(1_000);
    assert.equal(lb().private_net.length, 1);
    assert.equal(get(`/actions/${id}`).body.action.status, 'running');
  });

  it('give the address back when joining fails, and stay when leaving fails', () => {
    const { fake, act, lb } = setUp();
    const error = { code: 'action_failed', message: 'no' };
    fake.faults.add({ kind: 'action', error, times: 1 });
    act('detach_from_network', { network: 1 });
    assert.equal(lb().private_net.length, 1);
    fake.loadBalancers.detach(7, 1);
    fake.faults.add({ kind: 'action', error, times: 1 });
    act('attach_to_network', { network: 1, ip: '10.0.0.9' });
    assert.deepEqual(lb().private_net, []);
    act('attach_to_network', { network: 1, ip: '10.0.0.9' });
    assert.deepEqual(lb().private_net, [{ network: 1, ip: '10.0.0.9' }]);
  });
});

describe('Other changes of a load balancer', () => {
  it('turn the public interface off only when nothing needs it', () => {
    const { act, lb } = setUp();
    act('add_target', server(101));
    assert.equal(act('disable_public_interface').code, 'targets_without_use_private_ip');
    act('remove_target', server(101));
    act('add_target', ip('10.0.7.9'));
    act('disable_public_interface');
    assert.deepEqual([lb().public_net.enabled, typeof lb().public_net.ipv4.ip], [false, 'string']);
    act('enable_public_interface');
    assert.equal(lb().public_net.enabled, true);
    act('detach_from_network', { network: 1 });
    assert.equal(act('disable_public_interface').code, 'load_balancer_not_attached_to_network');
  });

  it('give it another type that it fits in', () => {
    const { fake, act, lb } = setUp();
    const { command } = act('change_type', { load_balancer_type: 'lb21' }).body.action;
    assert.deepEqual([command, lb().load_balancer_type.name], ['change_load_balancer_type', 'lb21']);
    for (let port = 81; port <= 85; port++)
      fake.loadBalancers.addService(7, { protocol: 'tcp', listenPort: port, destinationPort: 1 });
    assert.equal(act('change_type', { load_balancer_type: 'lb11' }).code, 'invalid_load_balancer_type');
    assert.equal(act('change_type', { load_balancer_type: 'lb99' }).code, 'not_found');
    assert.equal(act('change_type', {}).code, 'invalid_input');
  });

  it('choose the algorithm', () => {
    const { act, lb } = setUp();
    act('change_algorithm', { type: 'least_connections' });
    assert.equal(lb().algorithm.type, 'least_connections');
    for (const body of [{}, { type: 'random' }]) assert.equal(act('change_algorithm', body).code, 'invalid_input');
  });

  it('BUG-056: name the addresses, and reset the names', () => {
    const { act, lb } = setUp();
    const names = () => [lb().public_net.ipv4.dns_ptr, lb().public_net.ipv6.dns_ptr];
    const { ipv4, ipv6 } = lb().public_net;
    assert.deepEqual(names(), [`static.${ipv4.ip.split('.').reverse().join('.')}.clients.your-server.de`, null]);
    for (const { ip: address } of [ipv4, ipv6]) act('change_dns_ptr', { ip: address, dns_ptr: 'lb.example.com' });
    assert.deepEqual(names(), ['lb.example.com', 'lb.example.com']);
    for (const { ip: address } of [ipv4, ipv6]) act('change_dns_ptr', { ip: address, dns_ptr: null });
    assert.deepEqual(names(), [ipv4.dns_ptr, null]);
    assert.equal(act('change_dns_ptr', { ip: '203.0.113.1', dns_ptr: 'x' }).code, 'invalid_input');
  });
});

describe('A change of a load balancer while another one runs', () => {
  const running: [
    mode: 'parallel' | 'locked' | 'conflict',
    first: string,
    second: string,
    expected: string | undefined,
  ][] = [
    ['parallel', 'add_service', 'add_target', undefined],
    ['parallel', 'add_service', 'attach_to_network', undefined],
    ['parallel', 'attach_to_network', 'add_service', undefined],
    ['parallel', 'attach_to_network', 'enable_public_interface', 'conflict'],
    ['parallel', 'change_type', 'attach_to_network', 'conflict'],
    ['locked', 'add_service', 'add_target', 'locked'],
    ['locked', 'attach_to_network', 'add_service', 'locked'],
    ['locked', 'change_protection', 'change_algorithm', 'locked'],
    ['conflict', 'add_service', 'add_target', 'conflict'],
  ];
  const bodies: Record<string, object | undefined> = {
    add_service: tcp(80),
    add_target: server(103),
    attach_to_network: { network: 1 },
    change_type: { load_balancer_type: 'lb21' },
    change_protection: { delete: false },
    change_algorithm: { type: 'round_robin' },
  };
  for (const [loadBalancerChanges, first, second, expected] of running)
    it(`is ${expected ?? 'accepted'}: ${second} beside ${first} (${loadBalancerChanges})`, () => {
      const { fake, post, pass } = setUp({ loadBalancerChanges });
      fake.loadBalancers.detach(7, 1);
      const act = (command: string) => post(`/load_balancers/7/actions/${command}`, bodies[command]);
      assert.equal(act(first).status, 201);
      const got = act(second);
      assert.deepEqual([got.code, got.status], [expected, { locked: 423, conflict: 409 }[expected ?? ''] ?? 201]);
      pass(400);
      if (expected !== undefined) assert.equal(act(second).status, 201);
    });

  it('is refused, deletion too, until its creation is done; other load balancers are free', () => {
    const { post, call, pass } = setUp({ loadBalancerChanges: 'locked' });
    const { id } = post('/load_balancers', { name: 'x', load_balancer_type: 'lb11', location: 'fsn1' }).body
      .load_balancer;
    assert.equal(post(`/load_balancers/${id}/actions/add_service`, tcp(80)).code, 'locked');
    assert.equal(call('DELETE', `/load_balancers/${id}`).code, 'locked');
    assert.equal(post('/load_balancers/7/actions/add_service', tcp(80)).status, 201);
    pass(400);
    assert.equal(call('DELETE', `/load_balancers/${id}`).status, 204);
  });

  it("can be refused as if somebody else's action ran", () => {
    const { fake, act, call, pass } = setUp();
    fake.loadBalancers.lock(7, 1_000);
    assert.equal(act('add_service', tcp(80)).code, 'locked');
    assert.equal(call('DELETE', '/load_balancers/7').code, 'locked');
    pass(1_000);
    assert.equal(act('add_service', tcp(80)).status, 201);
  });
});

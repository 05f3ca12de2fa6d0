import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkContract, checkedOperations, declaredOperations, noContract } from './contract.ts';
import { project } from './project.ts';

const pem = '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----';

/** What no cloud controller asks for. */
const notSimulated =
  /placement_group|_iso|servers.*(dns_ptr|change_protection|change_type)|image|backup|rescue|rebuild|console|reset_password|metrics/;

describe("Hetzner's OpenAPI document", () => {
  it('accepts the answers of every operation of all simulated resources', {
    skip: noContract,
  }, () => {
    const { fake, get, post, call, pass } = project({ networkChanges: 'parallel' });
    const settled = <T>(value: T): T => {
      pass(400);
      return value;
    };
    const zone = { network_zone: 'eu-central' };
    const net = settled(
      post('/networks', { name: 'net', ip_range: '10.0.0.0/16', subnets: [{ type: 'cloud', ...zone }] }),
    ).body.network.id;
    const srv = settled(post('/servers', { name: 'w1', server_type: 'cx23', image: 'debian-13', networks: [net] })).body
      .server.id;
    const route = { destination: '10.0.9.0/24', gateway: '10.0.0.2' };
    const calls: [command: string, body: object][] = [
      ['add_route', route],
      ['delete_route', route],
      ['add_subnet', { type: 'vswitch', vswitch_id: 1, ip_range: '10.0.8.0/24', ...zone }],
      ['delete_subnet', { ip_range: '10.0.8.0/24' }],
      ['change_ip_range', { ip_range: '10.0.0.0/15' }],
      ['change_protection', { delete: false }],
    ];
    for (const [command, body] of calls) settled(post(`/networks/${net}/actions/${command}`, body));
    for (const command of ['poweroff', 'poweron', 'shutdown', 'reboot', 'reset'])
      settled(post(`/servers/${srv}/actions/${command}`));
    settled(post(`/servers/${srv}/actions/change_alias_ips`, { network: net, alias_ips: ['10.0.0.9'] }));
    settled(post(`/servers/${srv}/actions/detach_from_network`, { network: net }));
    settled(post(`/servers/${srv}/actions/attach_to_network`, { network: net, alias_ips: ['10.0.0.9'] }));
    call('PUT', `/servers/${srv}`, { labels: { a: 'b' } });
    call('PUT', `/networks/${net}`, { labels: { a: 'b' } });
    for (const [plural, id] of [
      ['servers', srv],
      ['networks', net],
    ]) {
      const first = get(`/${plural}/actions`).body.actions[0].id;
      const mine = get(`/${plural}/${id}/actions`).body.actions[0].id;
      for (const path of ['', `/${id}`, `/actions/${first}`, `/${id}/actions/${mine}`])
        assert.equal(get(`/${plural}${path}`).status, 200);
      get(`/actions?id=${first}`);
      get(`/actions/${first}`);
    }
    for (const plural of ['locations', 'server_types']) for (const path of ['', '/1', '/22']) get(`/${plural}${path}`);
    get('/datacenters');
    const upload = { name: 'mine', certificate: pem, private_key: '-----BEGIN PRIVATE KEY-----' };
    const cert = post('/certificates', upload).body.certificate.id;
    const managed = post('/certificates', { name: 'theirs', type: 'managed', domain_names: ['example.com'] });
    get(`/certificates/${managed.body.certificate.id}`);
    fake.certificates.fail(settled(managed).body.certificate.id, { code: 'x', message: 'y' });
    settled(post(`/certificates/${managed.body.certificate.id}/actions/retry`));
    call('PUT', `/certificates/${cert}`, { labels: { a: 'b' } });
    const lb = settled(
      post('/load_balancers', {
        name: 'lb',
        load_balancer_type: 'lb11',
        location: 'fsn1',
        network: net,
        services: [
          { protocol: 'tcp', listen_port: 53, destination_port: 30053 },
          { protocol: 'https', http: { certificates: [cert] } },
        ],
        targets: [
          { type: 'server', server: { id: srv } },
          { type: 'label_selector', label_selector: { selector: 'a=b' } },
          { type: 'ip', ip: { ip: '203.0.113.9' } },
        ],
      }),
    ).body.load_balancer.id;
    const target = { type: 'server', server: { id: srv } };
    const ofLoadBalancer: [command: string, body?: object][] = [
      ['add_service', { protocol: 'http' }],
      ['update_service', { listen_port: 80, protocol: 'http', health_check: { protocol: 'tcp' } }],
      ['delete_service', { listen_port: 80 }],
      ['remove_target', target],
      ['remove_target', { type: 'ip', ip: { ip: '203.0.113.9' } }],
      ['remove_target', { type: 'label_selector', label_selector: { selector: 'a=b' } }],
      ['add_target', { ...target, use_private_ip: true }],
      ['disable_public_interface'],
      ['enable_public_interface'],
      ['change_algorithm', { type: 'least_connections' }],
      ['change_type', { load_balancer_type: 'lb21' }],
      ['change_dns_ptr', { ip: fake.loadBalancers.get(lb)?.publicNet.ipv4?.ip, dns_ptr: 'lb.example.com' }],
      ['change_protection', { delete: false }],
      ['detach_from_network', { network: net }],
      ['attach_to_network', { network: net }],
    ];
    for (const [command, body] of ofLoadBalancer) {
      settled(post(`/load_balancers/${lb}/actions/${command}`, body));
      get(`/load_balancers/${lb}`);
    }
    call('PUT', `/load_balancers/${lb}`, { labels: { a: 'b' } });
    for (const [plural, id] of [
      ['load_balancers', lb],
      ['certificates', managed.body.certificate.id],
    ]) {
      const first = get(`/${plural}/actions`).body.actions[0].id;
      const mine = get(`/${plural}/${id}/actions`).body.actions[0].id;
      for (const path of ['', `/${id}`, `/actions/${first}`, `/${id}/actions/${mine}`])
        assert.equal(get(`/${plural}${path}`).status, 200);
    }
    for (const path of ['', '/1']) get(`/load_balancer_types${path}`);
    call('DELETE', `/load_balancers/${lb}`);
    call('DELETE', `/certificates/${cert}`);
    call('DELETE', `/servers/${srv}`);
    call('DELETE', `/networks/${net}`);
    const failures = fake.requests.filter(one => one.status >= 400).map(one => `${one.path} ${one.code}`);
    assert.deepEqual(failures, [
      '/locations/22 not_found',
      '/server_types/1 not_found',
      '/datacenters deprecated_api_endpoint',
    ]);
    const declared = declaredOperations([
      '/servers',
      '/networks',
      '/actions',
      '/locations',
      '/server_types',
      '/load_balancers',
      '/load_balancer_types',
      '/certificates',
    ]);
    const expected = declared.filter(one => !notSimulated.test(one));
    assert.deepEqual(checkedOperations().sort(), expected.sort());
  });

  it('would refuse an answer that lacks a field', { skip: noContract }, () => {
    const { fake, get } = project();
    fake.servers.create({ id: 5, name: 'w1' });
    const { body } = get('/servers/5');
    const { location: _, ...server } = body.server;
    assert.throws(
      () => checkContract('GET', '/servers/{id}', 200, { server }),
      /must have required property 'location'/,
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HetznerRequest } from '../../lib/hetzner/http.ts';
import { createLoadBalancerAPI, isTargetAbsent, type LoadBalancers } from '../../lib/hetzner/load-balancers.ts';
import { calling, hetznerError, rejection } from './support.ts';

const action = { id: 3, command: 'x', status: 'running', error: null };
const lb = { id: 7, name: 'lb', services: [], targets: [] };

/** The API over a call that answers all requests alike, and what it sent. */
const over = (answer: (request: HetznerRequest) => unknown) => {
  const sent: HetznerRequest[] = [];
  const api = createLoadBalancerAPI({
    call: async request => {
      sent.push(request);
      return answer(request);
    },
  });
  return { api, sent };
};

const o = calling('loadBalancer');
const server = { type: 'server', serverID: 42, usePrivateIP: true } as const;
const ip = { type: 'ip', ip: '198.51.100.21' } as const;
const selector = { type: 'label_selector', selector: 'a=b', usePrivateIP: false } as const;

type Row = [call: (api: LoadBalancers) => Promise<unknown>, path: string, body?: unknown];

/** Each call that starts an action; the body as JSON has it. */
const acting: Record<string, Row> = {
  addService: [
    api =>
      api.addService(
        7,
        {
          protocol: 'https',
          listenPort: 443,
          destinationPort: 30443,
          proxyProtocol: true,
          healthCheck: {
            protocol: 'http',
            port: 30443,
            interval: 15,
            timeout: 10,
            retries: 3,
            http: { domain: null, path: '/', response: '', statusCodes: ['2??'], tls: true },
          },
          http: {
            cookieName: 'C',
            cookieLifetime: 300,
            timeoutIdle: 50,
            stickySessions: true,
            certificates: [5],
            redirectHTTP: true,
          },
        },
        o,
      ),
    '/load_balancers/7/actions/add_service',
    {
      protocol: 'https',
      listen_port: 443,
      destination_port: 30443,
      proxyprotocol: true,
      health_check: {
        protocol: 'http',
        port: 30443,
        interval: 15,
        timeout: 10,
        retries: 3,
        http: { domain: null, path: '/', response: '', status_codes: ['2??'], tls: true },
      },
      http: {
        cookie_name: 'C',
        cookie_lifetime: 300,
        timeout_idle: 50,
        sticky_sessions: true,
        certificates: [5],
        redirect_http: true,
      },
    },
  ],
  'updateService with what changes only': [
    api => api.updateService(7, { listenPort: 80, healthCheck: { port: 30081 } }, o),
    '/load_balancers/7/actions/update_service',
    { listen_port: 80, health_check: { port: 30081 } },
  ],
  deleteService: [api => api.deleteService(7, 80, o), '/load_balancers/7/actions/delete_service', { listen_port: 80 }],
  'addTarget of a server': [
    api => api.addTarget(7, server, o),
    '/load_balancers/7/actions/add_target',
    { type: 'server', server: { id: 42 }, use_private_ip: true },
  ],
  'addTarget of an address of a server': [
    api => api.addTarget(7, { ...server, usePrivateIP: false, ip: '2001:db8::1' }, o),
    '/load_balancers/7/actions/add_target',
    { type: 'server', server: { id: 42, ip: '2001:db8::1' }, use_private_ip: false },
  ],
  'addTarget of an address, without use_private_ip': [
    api => api.addTarget(7, ip, o),
    '/load_balancers/7/actions/add_target',
    { type: 'ip', ip: { ip: '198.51.100.21' } },
  ],
  'addTarget of a selector': [
    api => api.addTarget(7, selector, o),
    '/load_balancers/7/actions/add_target',
    { type: 'label_selector', label_selector: { selector: 'a=b' }, use_private_ip: false },
  ],
  'removeTarget, without use_private_ip': [
    api => api.removeTarget(7, server, o),
    '/load_balancers/7/actions/remove_target',
    { type: 'server', server: { id: 42 } },
  ],
  attachToNetwork: [
    api => api.attachToNetwork(7, { network: 9, ip: '10.0.0.7' }, o),
    '/load_balancers/7/actions/attach_to_network',
    { network: 9, ip: '10.0.0.7' },
  ],
  'attachToNetwork in a subnet': [
    api => api.attachToNetwork(7, { network: 9, ipRange: '10.0.1.0/24' }, o),
    '/load_balancers/7/actions/attach_to_network',
    { network: 9, ip_range: '10.0.1.0/24' },
  ],
  detachFromNetwork: [
    api => api.detachFromNetwork(7, 9, o),
    '/load_balancers/7/actions/detach_from_network',
    { network: 9 },
  ],
  enablePublicInterface: [api => api.enablePublicInterface(7, o), '/load_balancers/7/actions/enable_public_interface'],
  disablePublicInterface: [
    api => api.disablePublicInterface(7, o),
    '/load_balancers/7/actions/disable_public_interface',
  ],
  changeAlgorithm: [
    api => api.changeAlgorithm(7, 'least_connections', o),
    '/load_balancers/7/actions/change_algorithm',
    { type: 'least_connections' },
  ],
  changeType: [
    api => api.changeType(7, 'lb21', o),
    '/load_balancers/7/actions/change_type',
    { load_balancer_type: 'lb21' },
  ],
  changeDNSPtr: [
    api => api.changeDNSPtr(7, '203.0.113.7', 'lb.example.com', o),
    '/load_balancers/7/actions/change_dns_ptr',
    { ip: '203.0.113.7', dns_ptr: 'lb.example.com' },
  ],
  'changeDNSPtr back to the default': [
    api => api.changeDNSPtr(7, '203.0.113.7', undefined, o),
    '/load_balancers/7/actions/change_dns_ptr',
    { ip: '203.0.113.7', dns_ptr: null },
  ],
  retryCertificate: [api => api.retryCertificate(5, o), '/certificates/5/actions/retry'],
};

describe('a change of a load balancer', () => {
  for (const [name, [start, path, body]] of Object.entries(acting))
    it(`is one POST that gives the action: ${name}`, async () => {
      const { api, sent } = over(() => ({ action }));
      assert.deepEqual(await start(api), { id: 3, command: 'x', status: 'running', error: undefined });
      assert.deepEqual(JSON.parse(JSON.stringify(sent)), [
        { method: 'POST', path, ...(body === undefined ? {} : { body }) },
      ]);
    });

  it('whose answer has no action is not trusted', async () => {
    const { api } = over(() => ({}));
    assert.match(String(await rejection(api.changeType(7, 'lb21', o))), /invalid_response/);
  });
});

describe('a load balancer', () => {
  it('is created whole by one POST', async () => {
    const { api, sent } = over(() => ({ load_balancer: lb, action }));
    const { item, action: created } = await api.create(
      {
        name: 'lb',
        type: 'lb11',
        networkZone: 'eu-central',
        algorithm: 'round_robin',
        labels: { a: 'b' },
        services: [{ protocol: 'tcp', listenPort: 80, destinationPort: 30080 }],
        targets: [server, ip],
        publicInterface: false,
        network: 9,
      },
      o,
    );
    assert.deepEqual([item.id, created?.id], [7, 3]);
    assert.deepEqual(JSON.parse(JSON.stringify(sent[0]?.body)), {
      name: 'lb',
      load_balancer_type: 'lb11',
      network_zone: 'eu-central',
      algorithm: { type: 'round_robin' },
      labels: { a: 'b' },
      services: [{ protocol: 'tcp', listen_port: 80, destination_port: 30080 }],
      targets: [
        { type: 'server', server: { id: 42 }, use_private_ip: true },
        { type: 'ip', ip: { ip: '198.51.100.21' } },
      ],
      public_interface: false,
      network: 9,
    });
  });

  it('can be created without an action', async () => {
    const { api } = over(() => ({ load_balancer: lb, action: null }));
    assert.equal((await api.create({ name: 'lb', type: 'lb11', location: 'fsn1' }, o)).action, undefined);
  });

  it('is updated by PUT with the given fields', async () => {
    const { api, sent } = over(() => ({ load_balancer: { ...lb, name: 'new' } }));
    assert.equal((await api.update(7, { name: 'new' }, o)).name, 'new');
    assert.deepEqual(JSON.parse(JSON.stringify(sent)), [
      { method: 'PUT', path: '/load_balancers/7', body: { name: 'new' } },
    ]);
  });

  it('BUG-041: that is gone already is deleted; other refusals surface', async () => {
    const refusing = (status: number, code: string) =>
      over(() => {
        throw hetznerError({ status, code, message: 'load balancer not found' });
      }).api;
    await refusing(404, 'not_found').delete(7, o);
    await refusing(404, 'not_found').deleteCertificate(7, o);
    assert.equal(await refusing(404, 'not_found').get(7, o), undefined);
    await rejection(refusing(423, 'protected').delete(7, o));
    await rejection(refusing(422, 'service_error').deleteCertificate(7, o));
    await rejection(refusing(404, 'http_404').delete(7, o));
  });

  it('is listed with all others in pages', async () => {
    const meta = (next: number | null) => ({ pagination: { next_page: next, total_entries: 2 } });
    const { api, sent } = over(({ query }) =>
      query?.some(([key, value]) => key === 'page' && value === '1')
        ? { load_balancers: [lb], meta: meta(2) }
        : { load_balancers: [{ ...lb, id: 8 }], meta: meta(null) },
    );
    assert.deepEqual(
      (await api.list(o)).map(({ id }) => id),
      [7, 8],
    );
    assert.deepEqual(
      sent.map(({ path }) => path),
      ['/load_balancers', '/load_balancers'],
    );
  });
});

describe('types and certificates', () => {
  it('are listed', async () => {
    const named = { id: 1, name: 'a' };
    const { api, sent } = over(() => ({ load_balancer_types: [named], certificates: [named] }));
    assert.deepEqual([(await api.listTypes(o))[0]?.name, (await api.listCertificates(o))[0]?.name], ['a', 'a']);
    assert.deepEqual(
      sent.map(({ path }) => path),
      ['/load_balancer_types', '/certificates'],
    );
  });

  it('can be created: managed with an action, uploaded without', async () => {
    const { api, sent } = over(({ body }) => ({
      certificate: { id: 5, name: 'c' },
      action: (body as { type: string }).type === 'managed' ? action : null,
    }));
    const managed = await api.createCertificate({ name: 'c', type: 'managed', domainNames: ['example.com'] }, o);
    const upload = { name: 'c', type: 'uploaded', certificate: 'PEM', privateKey: 'KEY', labels: { a: 'b' } } as const;
    const uploaded = await api.createCertificate(upload, o);
    assert.deepEqual([managed.action?.id, uploaded.action], [3, undefined]);
    assert.deepEqual(JSON.parse(JSON.stringify(sent.map(({ body }) => body))), [
      { name: 'c', type: 'managed', domain_names: ['example.com'] },
      { name: 'c', type: 'uploaded', certificate: 'PEM', private_key: 'KEY', labels: { a: 'b' } },
    ]);
    assert.equal((await over(() => ({ certificate: { id: 5, name: 'c' } })).api.getCertificate(5, o))?.id, 5);
  });
});

describe('a target that is to be removed', () => {
  const answers: [status: number, code: string, message: string, absent: boolean][] = [
    [422, 'load_balancer_target_not_found', 'gone', true],
    [404, 'not_found', 'load balancer target not found', true],
    [404, 'not_found', 'server with ID 55 not found', true],
    [422, 'invalid_input', 'server with ID 55 not found', true],
    [422, 'invalid_input', 'cloud target was not found', true],
    [404, 'not_found', 'load balancer not found', false],
    [404, 'not_found', 'api route not found', false],
    [404, 'http_404', 'target not found', false],
    [422, 'invalid_input', "invalid input in field 'type'", false],
    [423, 'locked', 'target not found while locked', false],
    [503, 'unavailable', 'server not found', false],
  ];
  for (const [status, code, message, absent] of answers)
    it(`BUG-042: ${absent ? 'is removed' : 'is an error'} when the answer is ${status} ${code} "${message}"`, async () => {
      const err = hetznerError({ status, code, message });
      const { api } = over(() => {
        throw err;
      });
      assert.equal(isTargetAbsent(err), absent);
      const outcome = api.removeTarget(7, server, o);
      if (absent) assert.equal(await outcome, undefined);
      else assert.equal(await rejection(outcome), err);
    });
});

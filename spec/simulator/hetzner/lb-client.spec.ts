import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { LoadBalancerBody, ServiceBody, TargetBody } from '../../../lib/hetzner/lb-types.ts';
import { createLoadBalancerAPI } from '../../../lib/hetzner/load-balancers.ts';
import { calling, hetznerError } from '../../hetzner/support.ts';
import { type Project, project } from './project.ts';

/** The client over the fake, without a wire: each answer of a declared operation is checked against the contract. */
const clientOf = (made: Project) =>
  createLoadBalancerAPI({
    call: async ({ method, path, query = [], body }) => {
      const search = new URLSearchParams(query.map(([key, value]): [string, string] => [key, value])).toString();
      const got = made.call(method, search === '' ? path : `${path}?${search}`, body);
      if (got.status >= 300)
        throw hetznerError({ status: got.status, code: got.code ?? '', message: got.message ?? '' });
      return got.body === '' ? undefined : got.body;
    },
  });

const seconds = (min: number, max: number) => fc.integer({ min, max });
const check = fc.record(
  {
    port: seconds(1, 65_535),
    interval: seconds(3, 60),
    timeout: seconds(1, 60),
    retries: seconds(1, 5),
  },
  { noNullPrototype: true },
);
const httpCheck = fc.record(
  {
    domain: fc.constantFrom('example.com', 'a.example.com'),
    path: fc.constantFrom('/', '/ok'),
    response: fc.constantFrom('', 'yes'),
    statusCodes: fc.constantFrom(['2??'], ['200', '3*']),
    tls: fc.boolean(),
  },
  { noNullPrototype: true },
);
const healthCheck = fc.oneof(
  check.map(one => ({ ...one, protocol: 'tcp', http: undefined })),
  fc.tuple(check, httpCheck).map(([one, http]) => ({ ...one, protocol: 'http', http })),
);
const options = fc.record(
  {
    cookieName: fc.constantFrom('HCLBSTICKY', 'other'),
    cookieLifetime: seconds(30, 86_400),
    timeoutIdle: seconds(30, 300),
    stickySessions: fc.boolean(),
  },
  { noNullPrototype: true },
);
const common = fc.record(
  { destinationPort: seconds(1, 65_535), proxyProtocol: fc.boolean(), healthCheck },
  { noNullPrototype: true },
);
const service = fc.oneof(
  common.map(one => ({ ...one, protocol: 'tcp', http: undefined })),
  fc.tuple(common, options).map(([one, http]) => ({
    ...one,
    protocol: 'http',
    http: { ...http, certificates: [] as number[], redirectHTTP: false },
  })),
  fc.tuple(common, options).map(([one, http]) => ({
    ...one,
    protocol: 'https',
    http: { ...http, certificates: [50], redirectHTTP: false },
  })),
);

function begin() {
  const made = project({ actionDuration: 0 });
  made.fake.networks.create({ id: 1, name: 'n', ipRange: '10.0.0.0/16', subnets: ['10.0.0.0/24'] });
  made.fake.servers.create({ id: 101, name: 'w1', network: 1, labels: { a: 'b' } });
  made.fake.servers.create({ id: 102, name: 'w2' });
  made.fake.certificates.create({ id: 50, name: 'cert' });
  return { made, api: clientOf(made) };
}

const o = calling('loadBalancer');
const targets: TargetBody[] = [
  { type: 'server', serverID: 101, usePrivateIP: true },
  { type: 'server', serverID: 102, usePrivateIP: false },
  { type: 'label_selector', selector: 'a', usePrivateIP: true },
  { type: 'ip', ip: '203.0.113.9' },
];

describe('The client and the simulator', () => {
  it('mean the same: what is written is read again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(service, { minLength: 1, maxLength: 3 }), service, async (services, later) => {
        const { api } = begin();
        const listeners: ServiceBody[] = services.map((one, index) => ({ ...one, listenPort: 1_000 + index }));
        const body: LoadBalancerBody = {
          name: 'lb',
          type: 'lb11',
          location: 'fsn1',
          network: 1,
          labels: { a: 'b' },
          algorithm: 'least_connections',
          services: listeners,
          targets,
        };
        const { item, action } = await api.create(body, o);
        assert.equal(action?.status, 'success');
        assert.deepEqual(item.services, listeners);
        assert.deepEqual(
          item.targets.map(one => (one.type === 'server' ? [one.serverID, one.ip, one.usePrivateIP] : one.type)),
          [[101, '10.0.0.2', true], [102, '198.18.0.2', false], 'label_selector', 'ip'],
        );
        assert.deepEqual([item.labels, item.algorithm, item.privateNets.length], [{ a: 'b' }, 'least_connections', 1]);
        await api.updateService(item.id, { ...later, listenPort: 1_000 }, o);
        assert.deepEqual((await api.get(item.id, o))?.services[0], { ...later, listenPort: 1_000 });
      }),
      { numRuns: 60 },
    );
  });

  it('know the same calls', async () => {
    const { made, api } = begin();
    const { item } = await api.create({ name: 'lb', type: 'lb11', networkZone: 'eu-central' }, o);
    const { id } = item;
    await api.attachToNetwork(id, { network: 1, ip: '10.0.0.9' }, o);
    for (const target of targets) await api.addTarget(id, target, o);
    for (const target of targets) assert.equal((await api.removeTarget(id, target, o))?.status, 'success');
    for (const targetErrors of ['documented', 'client', 'observed'] as const) {
      made.fake.settings.targetErrors = targetErrors;
      assert.equal(await api.removeTarget(id, { type: 'ip', ip: '203.0.113.9' }, o), undefined);
    }
    await api.addService(id, { protocol: 'http', listenPort: 80 }, o);
    await api.deleteService(id, 80, o);
    await api.disablePublicInterface(id, o);
    await api.enablePublicInterface(id, o);
    await api.changeAlgorithm(id, 'least_connections', o);
    await api.changeType(id, 'lb21', o);
    await api.changeDNSPtr(id, item.publicNet.ipv4?.ip ?? '', 'lb.example.com', o);
    await api.update(id, { name: 'new', labels: { x: 'y' } }, o);
    const [read] = await api.list(o);
    assert.deepEqual(
      [read?.name, read?.labels, read?.type.name, read?.type.maxTargets, read?.algorithm, read?.publicNet.ipv4?.dnsPtr],
      ['new', { x: 'y' }, 'lb21', 75, 'least_connections', 'lb.example.com'],
    );
    assert.deepEqual(read?.privateNets, [{ network: 1, ip: '10.0.0.9' }]);
    await api.detachFromNetwork(id, 1, o);
    await api.changeDNSPtr(id, item.publicNet.ipv4?.ip ?? '', undefined, o);
    assert.deepEqual(
      (await api.listTypes(o)).map(({ name }) => name),
      ['lb11', 'lb21', 'lb31'],
    );
    await api.delete(id, o);
    await api.delete(id, o);
    const { item: certificate } = await api.createCertificate(
      { name: 'c', type: 'managed', domainNames: ['example.com'] },
      o,
    );
    made.fake.certificates.fail(certificate.id, { code: 'x', message: 'y' });
    await api.retryCertificate(certificate.id, o);
    assert.equal((await api.getCertificate(certificate.id, o))?.status?.issuance, 'completed');
    await api.deleteCertificate(certificate.id, o);
    assert.deepEqual(
      (await api.listCertificates(o)).map(({ id }) => id),
      [50],
    );
  });

  it('by hand see the same load balancer as the client', async () => {
    const { made, api } = begin();
    const created = made.fake.loadBalancers.create({
      name: 'lb',
      network: 1,
      ip: '10.0.0.9',
      protected: true,
      targets,
    });
    assert.deepEqual(await api.get(created.id, o), created);
    assert.deepEqual(made.fake.loadBalancers.byName('lb'), created);
    assert.equal(created.isProtected, true);
    made.fake.loadBalancers.rename(created.id, 'b');
    made.fake.loadBalancers.setLabels(created.id, { x: 'y' });
    made.fake.loadBalancers.setProtected(created.id, false);
    made.fake.loadBalancers.setType(created.id, 'lb31');
    made.fake.loadBalancers.setAlgorithm(created.id, 'least_connections');
    made.fake.loadBalancers.setDNSPtr(created.id, created.publicNet.ipv4?.ip ?? '', 'a.example.com');
    const read = await api.get(created.id, o);
    assert.deepEqual(
      [read?.name, read?.labels, read?.isProtected, read?.type.name, read?.algorithm, read?.publicNet.ipv4?.dnsPtr],
      ['b', { x: 'y' }, false, 'lb31', 'least_connections', 'a.example.com'],
    );
    assert.throws(() => made.fake.loadBalancers.remove(9), { message: `no load balancer 9; there are ${created.id}` });
    assert.throws(() => made.fake.certificates.remove(9), { message: 'no certificate 9; there are 50' });
  });
});

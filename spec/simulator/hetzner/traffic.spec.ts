import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Project, project } from './project.ts';

const server = (serverID: number, usePrivateIP = false) => ({ type: 'server', serverID, usePrivateIP }) as const;

/** Load balancer 7 in network 1 with listener 80 and server 101 as its target, 102 beside it. */
function setUp(usePrivateIP = false): Project {
  const made = project();
  const { fake } = made;
  fake.networks.create({ id: 1, name: 'n', ipRange: '10.0.0.0/16', subnets: ['10.0.0.0/24'] });
  for (const id of [101, 102]) fake.servers.create({ id, name: `w${id}`, network: 1 });
  const services = [{ protocol: 'tcp', listenPort: 80, destinationPort: 30080 }];
  fake.loadBalancers.create({ id: 7, name: 'lb', network: 1, services, targets: [server(101, usePrivateIP)] });
  return made;
}

describe('A port is served', () => {
  it('with a listener and a running target behind it', () => {
    const { fake } = setUp();
    assert.deepEqual(
      [fake.loadBalancers.serves(7, 80), fake.loadBalancers.serves(7, 81), fake.loadBalancers.serves(8, 80)],
      [true, false, false],
    );
  });

  const ends: [what: string, isPrivate: boolean, end: (made: Project) => void][] = [
    ['its server is off', false, ({ fake }) => fake.servers.setStatus(101, 'off')],
    ['its server is gone', false, ({ fake }) => fake.servers.remove(101)],
    ['its server lost its address', false, ({ fake }) => fake.servers.setPublicIPs(101, { ipv4: null })],
    ['the public interface is off', false, ({ fake }) => fake.loadBalancers.setPublicInterface(7, false)],
    ['its server left the network', true, ({ fake }) => fake.servers.detach(101, 1)],
    ['the load balancer left the network', true, ({ fake }) => fake.loadBalancers.detach(7, 1)],
    ['the network is gone', true, ({ fake }) => fake.networks.remove(1)],
    ['the target is removed', false, ({ fake }) => fake.loadBalancers.removeTarget(7, server(101))],
    ['the listener is removed', false, ({ fake }) => fake.loadBalancers.removeService(7, 80)],
    ['the load balancer is gone', false, ({ fake }) => fake.loadBalancers.remove(7)],
  ];
  for (const [what, isPrivate, end] of ends)
    it(`no longer when ${what}`, () => {
      const made = setUp(isPrivate);
      assert.equal(made.fake.loadBalancers.serves(7, 80), true);
      end(made);
      assert.equal(made.fake.loadBalancers.serves(7, 80), false);
    });

  it('also by a target that a selector or an address stands for, and by a redirect', () => {
    const { fake } = setUp();
    const { id: certificate } = fake.certificates.create({ name: 'c' });
    const http = { certificates: [certificate], redirectHTTP: true };
    fake.loadBalancers.create({ id: 8, name: 'lb8', services: [{ protocol: 'https', listenPort: 443, http }] });
    assert.equal(fake.loadBalancers.serves(8, 443), false);
    const selector = { type: 'label_selector', selector: 'a=b', usePrivateIP: false } as const;
    fake.loadBalancers.addTarget(8, selector);
    assert.equal(fake.loadBalancers.serves(8, 80), false);
    fake.servers.setLabels(102, { a: 'b' });
    assert.deepEqual([fake.loadBalancers.serves(8, 80), fake.loadBalancers.serves(8, 443)], [true, true]);
    fake.loadBalancers.removeTarget(8, selector);
    fake.loadBalancers.addTarget(8, { type: 'ip', ip: '203.0.113.9' });
    assert.equal(fake.loadBalancers.serves(8, 443), true);
  });

  it('by healthy targets only once the checks have succeeded', () => {
    const { fake, pass } = setUp();
    assert.equal(fake.loadBalancers.serves(7, 80, { healthy: true }), false);
    pass(15_000);
    assert.equal(fake.loadBalancers.serves(7, 80, { healthy: true }), true);
    fake.loadBalancers.updateService(7, { listenPort: 80, destinationPort: 31000 });
    assert.equal(fake.loadBalancers.serves(7, 80, { healthy: true }), true);
  });
});

describe('A watch over the traffic', () => {
  it('sees that there was never a gap when the new target comes before the old one goes', () => {
    const { fake, post, pass } = setUp();
    const watch = fake.loadBalancers.watchTraffic(7, [80]);
    const before = watch.samples;
    post('/load_balancers/7/actions/add_target', { type: 'server', server: { id: 102 } });
    pass(400);
    post('/load_balancers/7/actions/remove_target', { type: 'server', server: { id: 101 } });
    pass(400);
    assert.deepEqual(fake.loadBalancers.get(7)?.targets.length, 1);
    assert.deepEqual(watch.gaps(), []);
    assert.ok(watch.samples >= before + 4);
  });

  it('sees a gap between two actions although nobody looked in between', () => {
    const { fake, post, pass, now } = setUp();
    const began = now();
    const watch = fake.loadBalancers.watchTraffic(7, [80, 81]);
    post('/load_balancers/7/actions/remove_target', { type: 'server', server: { id: 101 } });
    pass(100);
    post('/load_balancers/7/actions/add_target', { type: 'server', server: { id: 102 } });
    pass(5_000);
    fake.loadBalancers.list();
    assert.deepEqual(watch.gaps(), [
      { port: 81, from: began, to: undefined },
      { port: 80, from: began + 400, to: began + 500 },
    ]);
  });

  it('sees changes by hand, and nothing once it is stopped', () => {
    const { fake, now } = setUp();
    const watch = fake.loadBalancers.watchTraffic(7, [80]);
    fake.servers.setStatus(101, 'off');
    fake.servers.setStatus(101, 'running');
    assert.deepEqual(watch.gaps(), [{ port: 80, from: now(), to: now() }]);
    watch.stop();
    fake.loadBalancers.remove(7);
    assert.equal(watch.gaps().length, 1);
  });
});

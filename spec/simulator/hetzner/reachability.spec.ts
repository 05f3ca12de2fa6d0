import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createFakeHetzner } from '../../../lib/simulator/hetzner/fake.ts';

/** Two networks with one host each, and a machine that is in both. */
const setUp = () => {
  const fake = createFakeHetzner();
  const network = (ipRange: string) => fake.networks.create({ name: ipRange.slice(0, 4), ipRange, subnets: [ipRange] });
  const [one, two] = [network('10.1.0.0/16'), network('10.2.0.0/16')];
  const a = fake.servers.create({ name: 'a', network: one.id, ip: '10.1.0.2' }).id;
  const b = fake.servers.create({ name: 'b', network: two.id, ip: '10.2.0.2' }).id;
  const router = fake.servers.create({ name: 'router', network: one.id, ip: '10.1.0.9' }).id;
  fake.servers.attach(router, two.id, { ip: '10.2.0.9' });
  fake.networks.addRoute(one.id, '10.201.1.0/24', '10.1.0.2');
  fake.networks.addRoute(two.id, '10.202.1.0/24', '10.2.0.2');
  const hosts = [
    { server: a, podCIDR: '10.201.1.0/24' },
    { server: b, podCIDR: '10.202.1.0/24' },
  ];
  const podRanges = [
    { network: one.id, range: '10.201.0.0/16' },
    { network: two.id, range: '10.202.0.0/16' },
  ];
  const look = (forwarders = [router]) =>
    fake.unreachablePods({ hosts, podRanges, forwarders }).map(({ from, why }) => `${from === a ? 'a' : 'b'}: ${why}`);
  return { fake, one, two, a, b, router, look };
};

it('follows what pods send from the table of one network through a gateway into the other', () => {
  const { fake, one, two, router, look } = setUp();
  assert.deepEqual(look(), [
    `a: the network of server ${fake.servers.byName('a')?.id} has no route`,
    `b: the network of server ${fake.servers.byName('b')?.id} has no route`,
  ]);
  fake.networks.addRoute(one.id, '10.202.0.0/16', '10.1.0.9');
  assert.equal(look().length, 1);
  fake.networks.addRoute(two.id, '10.201.0.0/16', '10.2.0.9');
  assert.deepEqual(look(), []);
  assert.deepEqual(look([]), [
    `a: server ${router} got it and does not forward`,
    `b: server ${router} got it and does not forward`,
  ]);
});

it('says where what is sent ends', () => {
  const { fake, one, two, a, router, look } = setUp();
  fake.networks.addRoute(one.id, '10.202.0.0/16', '10.1.0.9');
  fake.networks.addRoute(two.id, '10.201.0.0/16', '10.2.0.9');
  fake.networks.removeRoute(two.id, '10.202.1.0/24', '10.2.0.2');
  fake.networks.addRoute(two.id, '10.202.1.0/24', '10.2.0.9');
  assert.deepEqual(look(), ['a: it goes around in circles']);
  fake.servers.detach(router, two.id);
  assert.deepEqual(look(), [
    `a: server ${router} has no network to send it to`,
    'b: no server has the gateway 10.2.0.9',
  ]);
  fake.servers.detach(a, one.id);
  assert.ok(look().includes(`a: server ${a} has no network to send it to`));
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { FakeHetznerOptions } from '../../../lib/simulator/hetzner/fake.ts';
import { type Json, type Project, project } from './project.ts';

/** One step of a random history. */
type Step = (made: Project) => void;

const post =
  (path: string, body?: object): Step =>
  made => {
    made.post(path, body);
  };
const call =
  (method: string, path: string): Step =>
  made => {
    made.call(method, path);
  };

const lb = fc.integer({ min: 7001, max: 7003 });
const net = fc.integer({ min: 1, max: 2 });
const id = fc.integer({ min: 101, max: 130 });
const port = fc.constantFrom(80, 81, 82, 83, 443, 444);
const certificates = fc.constantFrom([50], [50, 51]);

const service = fc.oneof(
  port.map(listen_port => ({ protocol: 'tcp', listen_port, destination_port: 1 })),
  port.map(listen_port => ({ protocol: 'http', listen_port })),
  fc
    .record({ port, certificates, redirect_http: fc.boolean() })
    .map(({ port: listen_port, ...http }) => ({ protocol: 'https', listen_port, http })),
);
const target = fc.oneof(
  fc
    .record({ id, use_private_ip: fc.boolean() })
    .map(({ id, use_private_ip }) => ({ type: 'server', server: { id }, use_private_ip })),
  fc.boolean().map(use_private_ip => ({ type: 'label_selector', label_selector: { selector: 'a' }, use_private_ip })),
  fc.constantFrom('203.0.113.9', '10.1.9.9').map(ip => ({ type: 'ip', ip: { ip } })),
);
const host = fc.integer({ min: 2, max: 40 });

const action = (command: string, body: fc.Arbitrary<object | undefined>): fc.Arbitrary<Step> =>
  fc.tuple(lb, body).map(([id, given]) => post(`/load_balancers/${id}/actions/${command}`, given));

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.integer({ min: 0, max: 900 }).map(
      (ms): Step =>
        made =>
          made.pass(ms),
    ),
  },
  { weight: 6, arbitrary: action('add_service', service) },
  { weight: 4, arbitrary: action('update_service', service) },
  {
    weight: 3,
    arbitrary: action(
      'delete_service',
      port.map(listen_port => ({ listen_port })),
    ),
  },
  { weight: 12, arbitrary: action('add_target', target) },
  {
    weight: 3,
    arbitrary: action(
      'remove_target',
      target.map(({ type, ...rest }) => ({ type, ...rest, use_private_ip: undefined })),
    ),
  },
  {
    weight: 3,
    arbitrary: action(
      'attach_to_network',
      fc.oneof(
        net.map(network => ({ network })),
        fc.tuple(net, host).map(([network, n]) => ({ network, ip: `10.${network}.0.${n}` })),
      ),
    ),
  },
  {
    weight: 2,
    arbitrary: action(
      'detach_from_network',
      net.map(network => ({ network })),
    ),
  },
  action('disable_public_interface', fc.constant(undefined)),
  action('enable_public_interface', fc.constant(undefined)),
  action(
    'change_type',
    fc.constantFrom('lb11', 'lb21').map(load_balancer_type => ({ load_balancer_type })),
  ),
  fc
    .record({
      name: fc.constantFrom('a', 'b', 'c'),
      services: fc.array(service, { maxLength: 3 }),
      targets: fc.array(target, { maxLength: 3 }),
      network: fc.option(net, { nil: undefined }),
    })
    .map(body => post('/load_balancers', { ...body, load_balancer_type: 'lb11', location: 'fsn1' })),
  lb.map(id => call('DELETE', `/load_balancers/${id}`)),
  id.map(id => call('DELETE', `/servers/${id}`)),
  fc.tuple(id, net).map(([id, network]) => post(`/servers/${id}/actions/detach_from_network`, { network })),
  fc
    .tuple(id, net, host)
    .map(([id, network, n]) =>
      post(`/servers/${id}/actions/attach_to_network`, { network, ip: `10.${network}.0.${n}` }),
    ),
  fc.constantFrom(50, 51).map(id => call('DELETE', `/certificates/${id}`)),
  fc.constant<Step>(made => {
    made.fake.faults.add({ kind: 'action', error: { code: 'action_failed', message: 'Action failed' }, times: 1 });
  }),
);

function begin(options: FakeHetznerOptions): Project {
  const made = project(options);
  const { fake } = made;
  for (const id of [1, 2]) {
    const subnets = [`10.${id}.0.0/26`, { ipRange: `10.${id}.9.0/24`, type: 'vswitch', vSwitch: id }];
    fake.networks.create({ id, name: `n${id}`, ipRange: `10.${id}.0.0/16`, subnets });
  }
  for (let id = 101; id <= 130; id++)
    fake.servers.create({
      id,
      name: `s${id}`,
      ...(id % 3 ? { network: (id % 2) + 1 } : {}),
      ...(id % 5 ? { labels: { a: 'b' } } : {}),
    });
  for (const id of [50, 51]) fake.certificates.create({ id, name: `c${id}` });
  for (let n = 1; n <= 2; n++)
    made.post('/load_balancers', { name: `lb${n}`, load_balancer_type: 'lb11', location: 'fsn1', network: n });
  return made;
}

const portsOf = (service: Json): number[] => [service.listen_port, ...(service.http?.redirect_http ? [80] : [])];

function checkLoadBalancer(one: Json, servers: Set<number>, certificates: Set<number>, dead: boolean): void {
  const text = JSON.stringify(one);
  const ports = one.services.flatMap(portsOf);
  assert.equal(new Set(ports).size, ports.length, `port taken twice: ${text}`);
  assert.ok(one.services.length <= one.load_balancer_type.max_services, text);
  assert.ok(one.targets.length <= one.load_balancer_type.max_targets, text);
  assert.ok(one.private_net.length <= 1, text);
  const keys = one.targets.map(
    (each: Json) => `${each.type} ${each.server?.id ?? each.ip?.ip ?? each.label_selector.selector}`,
  );
  assert.equal(new Set(keys).size, keys.length, `target twice: ${text}`);
  for (const each of one.targets) {
    assert.ok(dead || each.type !== 'server' || servers.has(each.server.id), `dangling server: ${text}`);
    const isPrivate = each.type === 'ip' ? each.ip.ip.startsWith('10.') : each.use_private_ip;
    // A load balancer that is being created does not show its network yet.
    if (isPrivate && one.public_net.ipv4.ip !== null)
      assert.equal(one.private_net.length, 1, `private target without network: ${text}`);
    const health = each.health_status ?? [];
    if (each.type !== 'label_selector') assert.equal(health.length, one.services.length);
  }
  for (const id of one.services.flatMap((each: Json) => each.http?.certificates ?? []))
    assert.ok(certificates.has(id), `dangling certificate: ${text}`);
}

function checkProject({ fake, get }: Project, dead: boolean): void {
  fake.setRateLimit({ remaining: 3600 });
  const servers: Json[] = get('/servers?per_page=50').body.servers;
  const all: Json[] = get('/load_balancers').body.load_balancers;
  const known = new Set<number>(get('/certificates').body.certificates.map((one: Json) => one.id));
  assert.equal(new Set(all.map(one => one.name)).size, all.length);
  for (const one of all) checkLoadBalancer(one, new Set(servers.map(({ id }) => id)), known, dead);
  for (const network of get('/networks').body.networks) {
    const inside = (one: Json): string[] =>
      one.private_net.filter((entry: Json) => entry.network === network.id).map((entry: Json) => entry.ip);
    const ips = [...servers, ...all].flatMap(inside);
    assert.equal(new Set(ips).size, ips.length, `address given twice: ${ips}`);
    const members = all.filter(one => inside(one).length > 0).map(({ id }) => id);
    assert.deepEqual([...network.load_balancers].sort(), members.sort());
  }
}

const modes: FakeHetznerOptions[] = [
  {},
  { loadBalancerChanges: 'locked' },
  { deadTargets: 'stay' },
  { deadTargets: 'stuck', targetErrors: 'observed', addressesAtOnce: true },
];

describe('Whatever is asked of load balancers', () => {
  for (const mode of modes)
    it(`ports, targets and addresses are given once, and nothing hangs in the air (${JSON.stringify(mode)})`, () => {
      const dead = (mode.deadTargets ?? 'drop') !== 'drop';
      fc.assert(
        fc.property(fc.array(step, { minLength: 10, maxLength: 60 }), steps => {
          const made = begin(mode);
          for (const one of steps) {
            one(made);
            checkProject(made, dead);
          }
          made.pass(1000);
          checkProject(made, dead);
          assert.ok(made.fake.actions().every(one => one.done));
        }),
        { numRuns: 25 },
      );
    });

  it('the histories are long enough to fill load balancers', () => {
    const accepted = new Set<string>();
    for (const steps of fc.sample(fc.array(step, { minLength: 30, maxLength: 60 }), { numRuns: 60, seed: 1 })) {
      const made = begin({});
      for (const one of steps) one(made);
      for (const one of made.fake.requests) if (one.status < 300) accepted.add(`${one.method} ${one.route}`);
    }
    const commands = [...accepted].filter(one => one.startsWith('POST /load_balancers/{id}/actions/'));
    assert.equal(commands.length, 10, commands.join(', '));
  });
});

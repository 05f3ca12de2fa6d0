import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { knownCidr, overlaps } from '../../../lib/simulator/hetzner/addresses.ts';
import { type Json, type Project, project } from './project.ts';

/** One step of a random history. */
type Step = (made: Project) => void;

const network = fc.integer({ min: 1, max: 2 });
const server = fc.integer({ min: 101, max: 106 });
const third = fc.integer({ min: 0, max: 6 });

const post =
  (path: string, body?: object): Step =>
  made => {
    made.post(path, body);
  };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.integer({ min: 0, max: 900 }).map(
    (ms): Step =>
      made =>
        made.pass(ms),
  ),
  fc
    .tuple(network, third, fc.constantFrom(23, 24, 25), fc.integer({ min: 1, max: 9 }))
    .chain(([id, block, prefix, host]) => {
      const route = { destination: `10.${id}.${block * 2}.0/${prefix}`, gateway: `10.${id}.0.${host}` };
      return fc
        .constantFrom('add_route', 'delete_route')
        .map(command => post(`/networks/${id}/actions/${command}`, route));
    }),
  fc.tuple(network, third).chain(([id, block]) => {
    const ip_range = `10.${id}.${block}.0/28`;
    return fc.constantFrom(
      post(`/networks/${id}/actions/add_subnet`, { type: 'cloud', network_zone: 'eu-central', ip_range }),
      post(`/networks/${id}/actions/delete_subnet`, { ip_range }),
    );
  }),
  fc.tuple(server, network, fc.integer({ min: 1, max: 9 })).chain(([id, net, host]) => {
    const ip = `10.${net}.0.${host}`;
    return fc.constantFrom(
      post(`/servers/${id}/actions/attach_to_network`, { network: net }),
      post(`/servers/${id}/actions/attach_to_network`, { network: net, ip }),
      post(`/servers/${id}/actions/attach_to_network`, { network: net, alias_ips: [ip] }),
      post(`/servers/${id}/actions/change_alias_ips`, { network: net, alias_ips: [ip] }),
      post(`/servers/${id}/actions/detach_from_network`, { network: net }),
    );
  }),
  server.map(
    (id): Step =>
      made => {
        made.call('DELETE', `/servers/${id}`);
      },
  ),
  server.map(id => post('/servers', { name: `s${id}`, server_type: 'cx23', image: 'x', networks: [1, 2] })),
  fc.constant<Step>(made => {
    made.fake.faults.add({ kind: 'action', error: { code: 'action_failed', message: 'Action failed' }, times: 1 });
  }),
);

function begin(networkChanges: 'parallel' | 'locked'): Project {
  const made = project({ networkChanges });
  for (const id of [1, 2])
    made.fake.networks.create({ id, name: `n${id}`, ipRange: `10.${id}.0.0/16`, subnets: [`10.${id}.0.0/28`] });
  for (let id = 101; id <= 104; id++) made.fake.servers.create({ id, name: `s${id}` });
  return made;
}

function checkNetwork(net: Json, servers: Json[]): void {
  const ranges = [
    ...net.routes.map((one: Json) => one.destination),
    ...net.subnets.map((one: Json) => one.ip_range),
  ].map(knownCidr);
  for (const [index, one] of ranges.entries())
    for (const other of ranges.slice(index + 1)) assert.ok(!overlaps(one, other), `overlap in ${JSON.stringify(net)}`);
  const nets = servers.flatMap(one => one.private_net.filter((entry: Json) => entry.network === net.id));
  const ips = nets.flatMap((entry: Json) => [entry.ip, ...entry.alias_ips]);
  assert.equal(new Set(ips).size, ips.length, `address given twice: ${ips}`);
  for (const ip of ips)
    assert.ok(
      net.subnets.some((one: Json) => overlaps(knownCidr(one.ip_range), knownCidr(`${ip}/32`))),
      ip,
    );
  const members = servers
    .filter(one => one.private_net.some((entry: Json) => entry.network === net.id))
    .map(one => one.id);
  assert.deepEqual([...net.servers].sort(), members.sort());
}

function checkProject({ fake, get }: Project): void {
  fake.setRateLimit({ remaining: 3600 });
  const before = fake.count();
  const servers: Json[] = get('/servers?per_page=50').body.servers;
  assert.equal(new Set(servers.map(one => one.name)).size, servers.length);
  for (const net of get('/networks').body.networks) checkNetwork(net, servers);
  const total = Object.values(fake.counts()).reduce((sum, one) => sum + one, 0);
  assert.equal(total, fake.count());
  assert.equal(get('/locations').headers['RateLimit-Remaining'], String(3600 - (fake.count() - before)));
}

describe('Whatever is asked of a project', () => {
  for (const mode of ['parallel', 'locked'] as const)
    it(`routes never overlap, addresses are given once and both sides of an attachment agree (${mode})`, () => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 40 }), steps => {
          const made = begin(mode);
          for (const one of steps) {
            one(made);
            checkProject(made);
          }
          made.pass(1000);
          checkProject(made);
          assert.ok(made.fake.actions().every(one => one.done));
        }),
        { numRuns: 60 },
      );
    });
});

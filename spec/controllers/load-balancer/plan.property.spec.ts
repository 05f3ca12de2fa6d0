import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { DesiredLoadBalancer } from '../../../lib/controllers/load-balancer/desired.ts';
import { withChange } from '../../../lib/controllers/load-balancer/model.ts';
import { planLoadBalancer } from '../../../lib/controllers/load-balancer/plan.ts';
import type { LoadBalancer, ServiceBody, TargetBody } from '../../../lib/hetzner/lb-types.ts';
import { createFakeHetzner, type FakeHetzner } from '../../../lib/simulator/hetzner/fake.ts';
import { anyListener, certificateIDs, comparable, desired, perform, server } from './support.ts';

const serverIDs = [101, 102, 103, 104] as const;
const types = {
  lb11: { id: 1, name: 'lb11', maxServices: 5, maxTargets: 25, maxCertificates: 10, unavailableAfter: undefined },
  lb21: { id: 2, name: 'lb21', maxServices: 15, maxTargets: 75, maxCertificates: 25, unavailableAfter: undefined },
} as const;

const runs = Number(process.env.RUNS ?? 300);

interface Wish {
  readonly listeners: readonly ServiceBody[];
  readonly targets: readonly TargetBody[];
  readonly isPrivate: boolean;
  readonly more: Partial<DesiredLoadBalancer>;
  readonly ip: string | undefined;
}

const anyWish: fc.Arbitrary<Wish> = fc
  .record({
    ports: fc.subarray([80, 443, 8080, 8443, 9000], { maxLength: 5 }),
    isPrivate: fc.boolean(),
    targets: fc.subarray([...serverIDs]),
    robots: fc.subarray(['198.51.100.21', '198.51.100.22']),
    type: fc.constantFrom(types.lb11, types.lb21, undefined),
    algorithm: fc.constantFrom('round_robin', 'least_connections', undefined),
    isOff: fc.constantFrom(true, false, undefined),
    ip: fc.constantFrom('10.0.7.1', '10.0.7.2', undefined),
    name: fc.constantFrom('a', 'b', undefined),
    dnsPtr: fc.constantFrom('a.example', 'b.example', undefined),
  })
  .chain(({ ports, isPrivate, targets, robots, isOff, type, algorithm, ip, name, dnsPtr }) =>
    fc.tuple(...ports.map(anyListener)).map(all => {
      const redirects = all.some(one => one.http?.redirectHTTP === true);
      return {
        listeners: all.filter(one => !(redirects && one.listenPort === 80)),
        targets: [
          ...targets.map(id => server(id, isPrivate)),
          ...(isPrivate ? [] : robots.map(address => ({ type: 'ip', ip: address }) as const)),
        ],
        isPrivate,
        ip,
        more: {
          type,
          algorithm,
          name,
          rdns: { ipv4: dnsPtr, ipv6: undefined },
          publicInterface: isPrivate ? (isOff === undefined ? undefined : !isOff) : true,
        },
      };
    }),
  );

/** A project with servers that are reached both ways, and a load balancer of nobody. */
const project = () => {
  const fake = createFakeHetzner({ now: () => 0 });
  const network = fake.networks.create({ name: 'n', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/16'] });
  for (const id of serverIDs) {
    fake.servers.create({ id, name: `w${id}` });
    fake.servers.attach(id, network.id);
  }
  for (const id of certificateIDs) fake.certificates.create({ id, name: `c${id}` });
  const { id } = fake.loadBalancers.create({ name: 'lb', network: network.id });
  return { fake, network: network.id, id };
};

const see = (fake: FakeHetzner, id: number): LoadBalancer => fake.loadBalancers.get(id) as LoadBalancer;
const free = (): boolean => false;

/** Plans from one wish to the next and looks at each step. */
const follow = (
  wishes: readonly Wish[],
  look: (context: { fake: FakeHetzner; id: number; from: LoadBalancer; wanted: DesiredLoadBalancer }) => {
    after?: () => void;
    end?: (model: LoadBalancer) => void;
  },
): void => {
  const { fake, network, id } = project();
  for (const { listeners, targets, ip, more } of wishes) {
    const wanted = desired({ listeners, targets, attachment: { networkID: network, ip, subnet: undefined }, ...more });
    const from = see(fake, id);
    const { after, end } = look({ fake, id, from, wanted });
    let model = from;
    for (const stage of planLoadBalancer(from, wanted, free).stages) {
      for (const change of stage) {
        perform(fake, id, change);
        model = withChange(model, change);
        after?.();
      }
    }
    end?.(model);
  }
};

const anyCourse = fc.array(anyWish, { minLength: 1, maxLength: 4 });

describe('a plan of a load balancer, from any state to any other', () => {
  it('has nothing left to do when it is done, is never refused, and is followed by the model as the simulator does it', () => {
    fc.assert(
      fc.property(anyCourse, wishes => {
        follow(wishes, ({ fake, id, wanted }) => ({
          end: model => {
            assert.deepEqual(comparable(model), comparable(see(fake, id)));
            assert.deepEqual(planLoadBalancer(model, wanted, free).stages, []);
            assert.deepEqual(planLoadBalancer(see(fake, id), wanted, free).stages, []);
          },
        }));
      }),
      { numRuns: runs },
    );
  });

  it('keeps each port served that was and stays, while targets are exchanged for others or reached another way', () => {
    fc.assert(
      fc.property(anyCourse, wishes => {
        follow(wishes, ({ fake, id, from, wanted }) => {
          const before = from.targets.map(target => (target.type === 'server' ? `${target.serverID}` : ''));
          const stay = wanted.targets.filter(one => one.type === 'server' && before.includes(`${one.serverID}`));
          // Moving to another private address drops the private targets; nothing can be done about that.
          const moves = wanted.attachment?.ip !== undefined && wanted.attachment.ip !== from.privateNets[0]?.ip;
          const ports = from.services
            .map(one => one.listenPort)
            .filter(
              port => wanted.listeners.some(one => one.listenPort === port) && fake.loadBalancers.serves(id, port),
            );
          const comes = wanted.targets.some(one => one.type === 'server' && !before.includes(`${one.serverID}`));
          if (moves || (stay.length < 2 && !comes)) return {};
          return {
            after: () => {
              for (const port of ports) assert.ok(fake.loadBalancers.serves(id, port), `port ${port} is served`);
            },
          };
        });
      }),
      { numRuns: runs },
    );
  });
});

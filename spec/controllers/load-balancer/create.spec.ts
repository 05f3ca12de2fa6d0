import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLoadBalancer } from '../../../lib/controllers/load-balancer/create.ts';
import type { DesiredLoadBalancer } from '../../../lib/controllers/load-balancer/desired.ts';
import { createReport } from '../../../lib/controllers/load-balancer/report.ts';
import type { LoadBalancerBody } from '../../../lib/hetzner/lb-types.ts';
import type { LoadBalancers } from '../../../lib/hetzner/load-balancers.ts';
import { calling, hetznerError, memoryLogger } from '../../hetzner/support.ts';
import { eventLog } from '../support.ts';
import { configFrom, desired, kubeService, loadBalancer, server } from './support.ts';

const types = [
  { ...loadBalancer().type, name: 'lb11' },
  { ...loadBalancer().type, name: 'lb21', maxServices: 15, maxTargets: 75 },
];
const untold = { enabled: true, ipv4: undefined, ipv6: undefined };

const make = async (
  wanted: Partial<DesiredLoadBalancer>,
  {
    values = { location: 'fsn1', type: 'lb11' } as Parameters<typeof configFrom>[0],
    refuse = (_: LoadBalancerBody): unknown => undefined,
    withExtras = true,
  } = {},
) => {
  const bodies: LoadBalancerBody[] = [];
  const asked: string[] = [];
  const api = {
    create: async (body: LoadBalancerBody) => {
      bodies.push(body);
      const err = refuse(body);
      if (err !== undefined) throw err;
      return { item: loadBalancer({ name: body.name, publicNet: untold }), action: { id: 1 } };
    },
  } as unknown as LoadBalancers;
  const events = eventLog();
  const log = memoryLogger();
  const tell = createReport({ events, nodes: { get: () => undefined, list: () => [] } }).about(kubeService());
  const config = configFrom(values);
  const type = config.type === undefined ? undefined : { name: config.type };
  const made = createLoadBalancer(
    {
      desired: desired({ type, ...wanted }),
      config,
      withExtras,
      api,
      types: {
        get: async () => {
          asked.push('types');
          return types;
        },
      },
      actions: { wait: async () => void asked.push('action') },
      tell,
      log,
    },
    calling(),
  );
  const result = await made.catch((err: unknown) => err as Error);
  return {
    result,
    bodies,
    asked,
    told: events.told.map(({ reason }) => reason),
    lines: log.lines.map(({ msg }) => msg),
  };
};

const listener = (listenPort: number) => ({ listenPort, destinationPort: 30_000, protocol: 'tcp' });
const ports = (count: number) => Array.from({ length: count }, (_, i) => listener(i + 1));
const servers = (count: number, isPrivate = false) => Array.from({ length: count }, (_, i) => server(i + 1, isPrivate));
const attachment = (ip?: string, subnet?: string) => ({ attachment: { networkID: 9, ip, subnet } });

describe('creating a load balancer', () => {
  it('asks for all of it in one request, and knows it complete but for addresses', async () => {
    const { result, bodies, asked, told } = await make({
      listeners: ports(1),
      targets: servers(2, true),
      ...attachment(),
    });
    assert.deepEqual(bodies, [
      {
        name: 'auidweb',
        type: 'lb11',
        location: 'fsn1',
        networkZone: undefined,
        algorithm: undefined,
        labels: { 'hcloud-ccm/service-uid': 'uid-web' },
        publicInterface: undefined,
        network: 9,
        services: ports(1),
        targets: servers(2, true),
      },
    ]);
    assert.deepEqual([asked, told], [['action'], []]);
    assert.ok(!(result instanceof Error));
    assert.deepEqual(result.privateNets, [{ network: 9, ip: '' }]);
    assert.deepEqual([result.targets.length, result.services.length], [2, 1]);
  });

  it('leaves a wanted address or subnet, and private targets with it, to the attachment', async () => {
    for (const wish of [attachment('10.0.0.5'), attachment(undefined, '10.0.0.0/24')]) {
      const { bodies, result } = await make({ targets: servers(1, true), publicInterface: false, ...wish });
      assert.deepEqual(
        [bodies[0]?.network, bodies[0]?.targets, bodies[0]?.publicInterface],
        [undefined, [], undefined],
      );
      assert.deepEqual((result as ReturnType<typeof loadBalancer>).privateNets, []);
    }
  });

  it('asks for no more than the type has room for, and for the types only when it must', async () => {
    const small = await make({ targets: servers(30), listeners: ports(6) });
    assert.deepEqual([small.bodies[0]?.targets?.length, small.bodies[0]?.services?.length], [25, 5]);
    const large = await make(
      { targets: servers(30), listeners: ports(6) },
      { values: { location: 'fsn1', type: 'lb21' } },
    );
    assert.deepEqual([large.bodies[0]?.targets?.length, large.bodies[0]?.services?.length], [30, 6]);
    assert.deepEqual((await make({ targets: servers(25), listeners: ports(5) })).asked, ['action']);
    assert.equal((await make({ targets: [server(1), server(1)] })).bodies[0]?.targets?.length, 1);
  });

  it('BUG-057: is of type lb11 where nobody chose one, and says so', async () => {
    const { bodies, told } = await make({}, { values: { 'network-zone': 'eu-central' } });
    assert.deepEqual(
      [bodies[0]?.type, bodies[0]?.networkZone, told],
      ['lb11', 'eu-central', ['LoadBalancerTypeUnconfigured']],
    );
  });

  it('goes without listeners and targets when these may be why it was refused', async () => {
    const refuse = ({ targets = [] }: LoadBalancerBody) =>
      targets.length > 0 ? hetznerError({ status: 422, code: 'invalid_input' }) : undefined;
    const { bodies, result } = await make({ listeners: ports(1), targets: servers(1) }, { refuse });
    assert.equal(bodies.length, 2);
    assert.deepEqual([bodies[1]?.services, bodies[1]?.targets, bodies[1]?.network], [undefined, undefined, undefined]);
    assert.deepEqual(
      [(result as ReturnType<typeof loadBalancer>).targets, (result as ReturnType<typeof loadBalancer>).services],
      [[], []],
    );
  });

  it('does not claim that it was created without them when that was refused, too', async () => {
    const refuse = () => hetznerError({ status: 404, code: 'not_found' });
    const { bodies, lines } = await make({ targets: servers(1) }, { refuse });
    assert.deepEqual([bodies.length, lines], [2, []]);
  });

  for (const [code, status] of [
    ['uniqueness_error', 409],
    ['resource_limit_exceeded', 422],
    ['resource_unavailable', 412],
    ['server_error', 500],
    ['unauthorized', 401],
    ['locked', 423],
  ] as const) {
    it(`BUG-069: is one request when it was refused with ${code}`, async () => {
      const { bodies, result } = await make({ targets: servers(1) }, { refuse: () => hetznerError({ status, code }) });
      assert.ok(result instanceof Error);
      assert.equal(bodies.length, 1);
    });
  }

  it('BUG-069: is one request when Hetzner names what it refused, and that is no listener, target or network', async () => {
    const refusing =
      (...names: string[]) =>
      () =>
        hetznerError({ status: 422, code: 'invalid_input', details: { fields: names.map(name => ({ name })) } });
    const requests = async (...names: string[]) =>
      (await make({ targets: servers(1) }, { refuse: refusing(...names) })).bodies.length;
    assert.equal(await requests('location'), 1);
    assert.equal(await requests('load_balancer_type', 'algorithm.type'), 1);
    assert.equal(await requests('location', 'targets[0].server.id'), 2);
    assert.equal(await requests('services'), 2);
  });

  it('BUG-069: is one request, the bare one, once that alone was refused', async () => {
    const refuse = () => hetznerError({ status: 422, code: 'invalid_input' });
    const { bodies } = await make({ targets: servers(1) }, { refuse, withExtras: false });
    assert.deepEqual(
      bodies.map(({ targets }) => targets),
      [undefined],
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { subjectOf } from '../../../lib/controllers/load-balancer/calls.ts';
import { newListener } from '../../../lib/controllers/load-balancer/listener-difference.ts';
import { planLoadBalancer } from '../../../lib/controllers/load-balancer/plan.ts';
import type { LoadBalancer, LoadBalancerTarget } from '../../../lib/hetzner/lb-types.ts';
import { desired, loadBalancer, server } from './support.ts';

const there = (serverID: number, usePrivateIP = false): LoadBalancerTarget => ({
  ...server(serverID, usePrivateIP),
  ip: undefined,
  health: [],
});
const listener = (listenPort: number, more = {}) => ({
  listenPort,
  destinationPort: 30_000 + listenPort,
  protocol: 'tcp',
  ...more,
});
const listening = (...all: number[]) => all.map(port => newListener(listener(port)));

/** The plan in short: `kind subject`, one list a stage. */
const stages = (
  present: Partial<LoadBalancer>,
  wanted: Parameters<typeof desired>[0],
  nameIsTaken: (name: string) => boolean = () => false,
): string[][] =>
  planLoadBalancer(loadBalancer(present), desired(wanted), nameIsTaken).stages.map(stage =>
    stage.map(change => `${change.kind} ${subjectOf(change)}`),
  );
const range = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);
const limits = (maxServices: number, maxTargets: number) => ({
  type: { ...loadBalancer().type, maxServices, maxTargets },
});
const attached = { privateNets: [{ network: 9, ip: '10.0.0.9' }] };
const attachment = (ip?: string) => ({ attachment: { networkID: 9, ip, subnet: '10.0.0.0/24' } });

describe('a plan of a load balancer', () => {
  it('is empty for what is as it should be', () => {
    assert.deepEqual(stages({}, {}), []);
    assert.deepEqual(
      stages(
        { services: listening(80), targets: [there(1)], ...attached },
        { listeners: [listener(80)], targets: [server(1)], ...attachment() },
      ),
      [],
    );
  });

  it('BUG-036: renames in place, together with the owner, unless the name is taken', () => {
    assert.deepEqual(stages({}, { name: 'new' }), [['update new']]);
    assert.deepEqual(stages({ labels: { mine: 'x' } }, { name: 'new' }), [
      ['update new mine=x hcloud-ccm/service-uid=uid-web'],
    ]);
    assert.deepEqual(
      stages({}, { name: 'new' }, name => name === 'new'),
      [],
    );
  });

  it('BUG-056: names only addresses whose pointer differs', () => {
    const publicNet = { enabled: true, ipv4: { ip: '1.2.3.4', dnsPtr: 'a' }, ipv6: { ip: '::1', dnsPtr: 'a' } };
    assert.deepEqual(stages({ publicNet }, { rdns: { ipv4: 'a', ipv6: 'b' } }), [['changeDNSPtr ::1 b']]);
    assert.deepEqual(stages({ publicNet }, {}), []);
    assert.deepEqual(stages({ publicNet: { ...publicNet, ipv6: undefined } }, { rdns: { ipv4: 'a', ipv6: 'b' } }), []);
  });

  it('BUG-057: grows before what needs the room, shrinks after what takes it is gone', () => {
    const [small, large] = [
      { name: 'lb11', maxServices: 5, maxTargets: 25 },
      { name: 'lb21', maxServices: 15, maxTargets: 75 },
    ];
    const wanted = { targets: range(1, 30).map(id => server(id)) };
    const grown = stages({}, { ...wanted, type: large });
    assert.deepEqual(grown[0], ['changeType lb21']);
    assert.equal(grown[1]?.length, 30);
    const full = { targets: range(1, 30).map(id => there(id)), type: { ...loadBalancer().type, ...large } };
    const shrunk = stages(full, { ...wanted, type: small });
    assert.deepEqual(shrunk, [range(26, 30).map(id => `removeTarget server ${id}`), ['changeType lb11']]);
    assert.deepEqual(stages({}, { type: undefined }), []);
  });

  it('attaches only its own network, and lets others be', () => {
    assert.deepEqual(stages({}, attachment()), [['attach network 9']]);
    assert.deepEqual(stages({}, attachment('10.0.0.5')), [['attach network 9 as 10.0.0.5']]);
    assert.deepEqual(stages({ privateNets: [{ network: 3, ip: '10.3.0.1' }] }, {}), []);
    assert.deepEqual(stages(attached, {}), []);
  });

  it('BUG-048: moves to another address and puts the private targets back that this drops', () => {
    const moved = stages(
      { ...attached, targets: [there(1, true), there(2, true), there(3)] },
      { ...attachment('10.0.0.5'), targets: [server(1, true), server(2, true), server(3)] },
    );
    assert.deepEqual(moved, [['reattach network 9 as 10.0.0.5'], ['addTarget server 1', 'addTarget server 2']]);
  });

  it('opens the public interface before targets need it, and closes it last', () => {
    const publicNet = { ...loadBalancer().publicNet, enabled: false };
    assert.deepEqual(stages({ publicNet }, { publicInterface: true, targets: [server(1)] }), [
      ['enablePublicInterface public interface'],
      ['addTarget server 1'],
    ]);
    assert.deepEqual(
      stages(
        { targets: [there(1)], ...attached },
        { publicInterface: false, ...attachment(), targets: [server(1, true)] },
      ),
      [['flipTarget server 1'], ['disablePublicInterface public interface']],
    );
  });

  it('BUG-059: adds before it removes, and changes the way to targets one by one', () => {
    assert.deepEqual(stages({ targets: [there(1), there(2)] }, { targets: [server(3), server(4)] }), [
      ['addTarget server 3', 'addTarget server 4'],
      ['removeTarget server 1', 'removeTarget server 2'],
    ]);
    assert.deepEqual(
      stages(
        { targets: [there(1), there(2)], ...attached },
        { targets: [server(1, true), server(2, true)], ...attachment() },
      ),
      [['flipTarget server 1'], ['flipTarget server 2']],
    );
  });

  it('exchanges targets one by one where there is no room for both', () => {
    assert.deepEqual(stages({ ...limits(5, 2), targets: [there(1), there(2)] }, { targets: [server(3), server(4)] }), [
      ['removeTarget server 1'],
      ['addTarget server 3'],
      ['removeTarget server 2'],
      ['addTarget server 4'],
    ]);
  });

  it('BUG-043: fills the type, keeps the choice it made, and tells who is left out', () => {
    const all = range(1, 30).map(id => server(id));
    const first = planLoadBalancer(loadBalancer(), desired({ targets: all }), () => false);
    assert.equal(first.stages.flat().length, 25);
    assert.deepEqual(first.withoutRoom, all.slice(25));
    const chosen = range(6, 30).map(id => there(id));
    const later = planLoadBalancer(loadBalancer({ targets: chosen }), desired({ targets: all }), () => false);
    assert.deepEqual([later.stages, later.withoutRoom], [[], all.slice(0, 5)]);
  });

  it('leaves selectors of others alone, which take room, and keeps what is only kept', () => {
    const selector = { type: 'label_selector', selector: 'a', usePrivateIP: false, targets: [] } as const;
    assert.deepEqual(
      stages({ ...limits(5, 2), targets: [selector, there(1)] }, { targets: [server(1), server(2)] }),
      [],
    );
    assert.deepEqual(stages({ targets: [there(1, true)] }, { keptTargets: [server(1), server(2)] }), []);
  });

  it('takes two nodes of one server for one target', () => {
    assert.deepEqual(stages({}, { targets: [server(1), server(1)] }), [['addTarget server 1']]);
  });

  it('adds listeners before old ones go, and makes room first where there is none', () => {
    assert.deepEqual(stages({ services: listening(80) }, { listeners: [listener(81)] }), [
      ['addService port 81'],
      ['deleteService port 80'],
    ]);
    assert.deepEqual(stages({ ...limits(1, 9), services: listening(80) }, { listeners: [listener(81)] }), [
      ['deleteService port 80'],
      ['addService port 81'],
    ]);
    assert.deepEqual(stages({ services: listening(80) }, { listeners: [listener(80, { destinationPort: 5 })] }), [
      ['updateService port 80'],
    ]);
  });

  it('#291: lets port 80 go before a redirect takes it, and a redirect before port 80 comes', () => {
    const redirect = listener(443, { protocol: 'https', http: { certificates: [1], redirectHTTP: true } });
    const plain = listener(443, { protocol: 'https', http: { certificates: [1], redirectHTTP: false } });
    const secure = [newListener(redirect)];
    assert.deepEqual(stages({ services: listening(80, 443) }, { listeners: [redirect] }), [
      ['deleteService port 80'],
      ['updateService port 443'],
    ]);
    assert.deepEqual(stages({ services: secure }, { listeners: [plain, listener(80)] }), [
      ['updateService port 443'],
      ['addService port 80'],
    ]);
    assert.deepEqual(stages({ services: secure }, { listeners: [listener(80)] }), [
      ['deleteService port 443'],
      ['addService port 80'],
    ]);
  });

  it('keeps held ports, and tells which ports have no room', () => {
    assert.deepEqual(stages({ services: listening(80, 81) }, { heldPorts: [80, 99] }), [['deleteService port 81']]);
    const plan = planLoadBalancer(
      loadBalancer(),
      desired({ listeners: range(1, 7).map(port => listener(port)) }),
      () => false,
    );
    assert.deepEqual([plan.stages.flat().length, plan.portsWithoutRoom], [5, [6, 7]]);
  });

  it('changes networks, interfaces and types alone, for Hetzner takes nothing beside them', () => {
    const publicNet = { ...loadBalancer().publicNet, enabled: false };
    const all = planLoadBalancer(
      loadBalancer({ publicNet }),
      desired({
        algorithm: 'least_connections',
        type: { name: 'lb21' },
        publicInterface: true,
        ...attachment(),
        listeners: [listener(80)],
        targets: [server(1)],
      }),
      () => false,
    );
    const alone = ['changeType', 'attach', 'enablePublicInterface'];
    for (const stage of all.stages) {
      if (stage.some(({ kind }) => alone.includes(kind))) assert.equal(stage.length, 1);
    }
    assert.equal(all.stages.flat().length, 6);
  });
});

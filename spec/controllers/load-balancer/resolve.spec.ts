import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AnnotationName } from '../../../lib/controllers/load-balancer/annotations.ts';
import { newListener } from '../../../lib/controllers/load-balancer/listener-difference.ts';
import { planLoadBalancer } from '../../../lib/controllers/load-balancer/plan.ts';
import { type DesiredInput, desiredLoadBalancer } from '../../../lib/controllers/load-balancer/resolve.ts';
import { wantedOf } from '../../../lib/controllers/load-balancer/wanted.ts';
import type { LoadBalancer } from '../../../lib/hetzner/lb-types.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import type { KubeService } from '../../../lib/kubernetes/types.ts';
import { networkID, routedNode, server } from '../support.ts';
import { annotated, kubeService, loadBalancer, noSettings, server as target, tcpPort } from './support.ts';

type Values = Partial<Record<AnnotationName, string>>;

const resolve = (
  values: Values,
  present?: LoadBalancer,
  { service: fields = {}, ...more }: Partial<Omit<DesiredInput, 'service'>> & { service?: Partial<KubeService> } = {},
) => {
  const service = kubeService({ annotations: annotated(values), ...fields });
  const wanted = wantedOf(service, noSettings, networkID);
  return desiredLoadBalancer({
    service,
    wanted,
    type: undefined,
    nodes: [routedNode(1), routedNode(2)],
    lists: { cloud: createServerList([server(1), server(2)], 0), robot: undefined },
    networkID,
    robotEnabled: false,
    robotUnknown: false,
    certificates: { ids: [], complete: true },
    present,
    loadBalancers: present === undefined ? [] : [present],
    refusedIP: undefined,
    ...more,
  });
};

const targets = [1, 2].map(id => ({ ...target(id), ip: undefined, health: [] }));
const inNetwork = { privateNets: [{ network: networkID, ip: '10.0.0.9' }] };
const full = (values: Values = {}, more: Partial<LoadBalancer> = {}): LoadBalancer => {
  const { desired } = resolve(values);
  return loadBalancer({ services: desired.listeners.map(newListener), targets, ...inNetwork, ...more });
};
/** Kinds of changes that would be made. */
const changes = (present: LoadBalancer, ...rest: [Values, Parameters<typeof resolve>[2]?]): string[] =>
  planLoadBalancer(present, resolve(rest[0], present, rest[1]).desired, () => false)
    .stages.flat()
    .map(({ kind }) => kind);
const texts = (...all: Parameters<typeof resolve>): string =>
  resolve(...all)
    .notices.map(({ message }) => message)
    .join('\n');
const newPort = { service: { ports: [tcpPort(80, 31_000), tcpPort(81)] } };

describe('one wrong annotation', () => {
  const held: readonly (readonly [AnnotationName, string, Values, readonly string[], string])[] = [
    ['use-private-ip', 'yes', { 'algorithm-type': 'least_connections' }, ['changeAlgorithm'], 'targets'],
    ['node-selector', '((', { 'algorithm-type': 'least_connections' }, ['changeAlgorithm'], 'targets'],
    ['private-ipv4', 'x', { 'algorithm-type': 'least_connections' }, ['changeAlgorithm'], 'the attachment'],
    [
      'disable-public-network',
      'x',
      { 'algorithm-type': 'least_connections' },
      ['changeAlgorithm'],
      'the public interface',
    ],
    ['algorithm-type', 'x', {}, [], 'the algorithm'],
    ['http-timeout-idle', 'x', { 'health-check-interval': '7' }, ['updateService'], 'that option'],
    ['health-check-protocol', 'x', { 'uses-proxyprotocol': 'true' }, ['updateService'], 'the health check'],
  ];
  for (const [name, text, others, expected, what] of held) {
    it(`of ${name} holds ${what} only`, () => {
      assert.deepEqual(changes(full(), { [name]: text, ...others }), expected);
    });
  }

  it('of the protocol leaves listeners as they are, but lets them follow their node ports', () => {
    const present = full({ protocol: 'http', 'http-sticky-sessions': 'true' });
    const { listeners } = resolve({ protocol: 'quic' }, present, newPort).desired;
    assert.deepEqual(listeners, [{ listenPort: 80, destinationPort: 31_000, healthCheck: { port: 31_000 } }]);
    const own = full({ protocol: 'http', 'health-check-port': '99' });
    const { listeners: checked } = resolve({ protocol: 'quic' }, own, newPort).desired;
    assert.deepEqual(checked, [{ listenPort: 80, destinationPort: 31_000 }], 'a health check that looks elsewhere');
    assert.deepEqual(changes(present, { protocol: 'quic' }, { service: { ports: [tcpPort(81)] } }), ['deleteService']);
  });

  it('of the health check lets it follow its node port', () => {
    const { listeners } = resolve({ 'health-check-protocol': 'x', 'http-cookie-name': 'C' }, full(), newPort).desired;
    assert.deepEqual(listeners[0], {
      listenPort: 80,
      destinationPort: 31_000,
      protocol: 'tcp',
      healthCheck: { port: 31_000 },
    });
    assert.deepEqual(listeners[1], { listenPort: 81, destinationPort: 30_081, protocol: 'tcp' });
  });

  it('of the PROXY protocol adds no listener that may speak the wrong one', () => {
    assert.deepEqual(changes(full(), { 'uses-proxyprotocol': 'v2' }, newPort), ['updateService']);
    assert.deepEqual(resolve({ 'uses-proxyprotocol': 'v2' }).desired.listeners, []);
  });
});

describe('the wanted network', () => {
  const attachment = (values: Values, present?: LoadBalancer, more: Parameters<typeof resolve>[2] = {}) =>
    resolve(values, present, more).desired.attachment;
  const free = { networkID, ip: undefined, subnet: undefined };

  it('is attached as annotations say, or at any address', () => {
    assert.deepEqual(attachment({}), free);
    assert.deepEqual(attachment({ 'private-ipv4': '10.0.0.5', 'private-subnet-ip-range': '10.0.0.0/24' }), {
      networkID,
      ip: '10.0.0.5',
      subnet: '10.0.0.0/24',
    });
    assert.equal(attachment({}, undefined, { networkID: undefined }), undefined);
  });

  it('BUG-048: keeps its address when the wanted one has somebody else, and names who', () => {
    const values = { 'private-ipv4': '10.0.1.2' };
    assert.deepEqual(attachment(values, full()), free);
    assert.match(
      texts(values, full()),
      /private-ipv4 10\.0\.1\.2 can't be had: server w2 \(2\) has it.* keeps 10\.0\.0\.9/,
    );
    assert.match(texts(values), /gets another address/);
    assert.deepEqual(attachment({ 'private-ipv4': '10.0.0.5' }, full(), { refusedIP: '10.0.0.5' }), free);
    assert.deepEqual(attachment({ 'private-ipv4': '10.0.0.6' }, full(), { refusedIP: '10.0.0.5' })?.ip, '10.0.0.6');
    assert.deepEqual(attachment({ 'private-ipv4': '10.0.0.9' }, full(), { refusedIP: '10.0.0.9' })?.ip, '10.0.0.9');
  });

  it('is not taken for another one that the load balancer is attached to, and private targets wait', () => {
    const elsewhere = full({}, { privateNets: [{ network: 99, ip: '10.9.0.1' }] });
    assert.equal(attachment({}, elsewhere), undefined);
    assert.match(texts({}, elsewhere), /attached to network 99 and stays there.* to that of HCLOUD_NETWORK, 7$/);
    const nameOfNetwork = (id: number) => (id === networkID ? 'k8s' : 'old');
    assert.match(texts({}, elsewhere, { nameOfNetwork }), /network old \(99\) and stays there.*, k8s \(7\)$/);
    assert.deepEqual(changes(elsewhere, { 'use-private-ip': 'true' }), []);
  });

  it('is left alone while an annotation about it is wrong', () => {
    assert.equal(attachment({ 'private-ipv4': 'x' }), undefined);
    assert.equal(attachment({ 'private-ipv4': 'x' }, loadBalancer()), undefined);
    assert.deepEqual(attachment({ 'private-ipv4': 'x' }, full()), free);
  });
});

describe('the public interface', () => {
  const publicNet = { ...loadBalancer().publicNet, enabled: false };

  it('is not switched off under targets that need it, and that is told', () => {
    const values = { 'disable-public-network': 'true' } as const;
    assert.deepEqual(changes(full(), values), []);
    assert.match(texts(values, full()), /set use-private-ip/);
    assert.deepEqual(changes(full(), { ...values, 'use-private-ip': 'true' }), [
      'flipTarget',
      'flipTarget',
      'disablePublicInterface',
    ]);
    assert.deepEqual(changes(full({}, { targets: [] }), values, { nodes: [] }), ['disablePublicInterface']);
  });

  it('is not asked for targets while it is off by hand, and that is told', () => {
    const off = full({}, { publicNet, targets: [] });
    assert.deepEqual(changes(off, {}), []);
    assert.match(texts({}, off), /that is off/);
    assert.deepEqual(changes(off, { 'disable-public-network': 'false' }), [
      'enablePublicInterface',
      'addTarget',
      'addTarget',
    ]);
    assert.deepEqual(changes(off, { 'use-private-ip': 'true' }), ['addTarget', 'addTarget']);
  });

  it('is off from the start where annotations say so, without targets that could not be reached', () => {
    const { desired } = resolve({ 'disable-public-network': 'true' });
    assert.deepEqual([desired.publicInterface, desired.targets], [false, []]);
  });
});

describe('listeners whose certificates can not all be had', () => {
  const https = { protocol: 'https', 'http-certificates': 'one,two' } as const;
  const secure = loadBalancer({
    services: [
      newListener({ listenPort: 80, destinationPort: 30_080, protocol: 'https', http: { certificates: [1, 2] } }),
    ],
    targets,
    ...inNetwork,
  });
  it('keep those they have, and follow their node ports', () => {
    const [listener] = resolve(https, secure, { certificates: { ids: [3], complete: false }, ...newPort }).desired
      .listeners;
    assert.deepEqual([listener?.destinationPort, listener?.http?.certificates], [31_000, [1, 2, 3]]);
    const all = resolve(https, secure, { certificates: { ids: [3], complete: true } }).desired.listeners;
    assert.deepEqual(all[0]?.http?.certificates, [3]);
  });

  it('stay where none is known at all', () => {
    const plain = full();
    const result = resolve(https, plain, { certificates: { ids: [], complete: false } });
    assert.deepEqual([result.desired.listeners, result.desired.heldPorts], [[], [80]]);
    assert.deepEqual(changes(plain, https, { certificates: { ids: [], complete: false } }), []);
  });
});

describe('Robot', () => {
  const withIP = full({}, { targets: [...targets, { type: 'ip', ip: '198.51.100.21', health: [] }] });
  it('keeps its targets while it has not answered, and loses them when it is off (BUG-066)', () => {
    assert.deepEqual(changes(withIP, {}, { robotEnabled: true, robotUnknown: true }), []);
    assert.deepEqual(changes(withIP, {}), ['removeTarget']);
  });
});

describe('what users are told', () => {
  const reasons = (values: Values | Record<string, string>, fields: Partial<KubeService> = {}, network?: number) =>
    wantedOf(kubeService({ annotations: annotated(values), ...fields }), noSettings, network).notices;

  it('names the wrong annotation, its text and what is allowed', () => {
    const [notice] = reasons({ 'health-check-port': '99999' });
    assert.equal(notice?.reason, 'InvalidAnnotation');
    assert.match(notice?.message ?? '', /health-check-port: "99999" must be an integer from 1 to 65535/);
    assert.match(reasons({ 'node-selector': '((' })[0]?.message ?? '', /node-selector: "\(\(" is no label selector/);
  });

  it('names unknown annotations and the nearest known one in one event', () => {
    const [notice, ...more] = reasons({ 'algoritm-type': 'x', zzz: 'y' });
    assert.deepEqual([notice?.reason, more], ['UnknownAnnotation', []]);
    assert.match(notice?.message ?? '', /algoritm-type \(did you mean algorithm-type\?\), .*zzz$/);
  });

  it('BUG-047: names the variable that private targets need', () => {
    assert.match(reasons({ 'use-private-ip': 'true' })[0]?.message ?? '', /HCLOUD_NETWORK/);
    assert.deepEqual(reasons({ 'use-private-ip': 'true' }, {}, 7), []);
  });

  it('#218: names fields of a Service without effect', () => {
    const told = reasons({}, { sourceRanges: ['10.0.0.0/8'], sessionAffinity: 'ClientIP' });
    assert.deepEqual(
      told.map(({ reason }) => reason),
      ['UnsupportedServiceField', 'UnsupportedServiceField'],
    );
    assert.deepEqual(reasons({}, { sessionAffinity: '' }), []);
  });
});

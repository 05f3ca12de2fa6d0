import fc from 'fast-check';
import type { AnnotationName } from '../../../lib/controllers/load-balancer/annotations.ts';
import { annotationPrefix, readAnnotations } from '../../../lib/controllers/load-balancer/annotations.ts';
import { configOf, type LoadBalancerConfig } from '../../../lib/controllers/load-balancer/config.ts';
import type { DesiredLoadBalancer } from '../../../lib/controllers/load-balancer/desired.ts';
import type { LoadBalancerChange } from '../../../lib/controllers/load-balancer/plan.ts';
import type { LoadBalancer, ServiceBody } from '../../../lib/hetzner/lb-types.ts';
import type { KubeService } from '../../../lib/kubernetes/types.ts';
import type { Settings } from '../../../lib/settings/settings.ts';
import type { FakeHetzner } from '../../../lib/simulator/hetzner/fake.ts';

/** Settings nobody has set. */
export const noSettings: Settings['loadBalancers'] = {
  enabled: true,
  className: 'hcloud',
  classless: true,
  location: undefined,
  networkZone: undefined,
  type: undefined,
  algorithmType: undefined,
  disablePublicNetwork: undefined,
  disablePrivateIngress: false,
  usePrivateIP: false,
  disableIPv6: false,
  usesProxyProtocol: undefined,
  privateSubnetIPRange: undefined,
  network: undefined,
  healthCheckInterval: undefined,
  healthCheckTimeout: undefined,
  healthCheckRetries: undefined,
};

/** Annotations by their short names. */
export const annotated = (values: Partial<Record<AnnotationName | (string & {}), string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${annotationPrefix}${name}`, String(value)]));

/** What these annotations (by their short names) and settings make together. */
export const configFrom = (
  values: Partial<Record<AnnotationName, string>>,
  settings: Partial<Settings['loadBalancers']> = {},
): LoadBalancerConfig => {
  const read = readAnnotations(annotated(values));
  return configOf(read.values, { ...noSettings, ...settings }, read.wrong);
};

/** A Service of type LoadBalancer with port 80. */
export const kubeService = (fields: Partial<KubeService> = {}): KubeService => ({
  name: 'web',
  namespace: 'default',
  uid: 'uid-web',
  resourceVersion: '1',
  creationTimestamp: 0,
  deleting: false,
  labels: {},
  annotations: {},
  type: 'LoadBalancer',
  loadBalancerClass: '',
  ports: [tcpPort(80)],
  externalTrafficPolicy: 'Cluster',
  healthCheckNodePort: 0,
  sessionAffinity: 'None',
  sourceRanges: [],
  finalizers: [],
  ingress: [],
  ...fields,
});

/** A port with the node port 30000 + port. */
export const tcpPort = (port: number, nodePort = 30_000 + port) => ({
  name: `p${port}`,
  protocol: 'TCP',
  port,
  nodePort,
});

/** A load balancer without anything. */
export const loadBalancer = (fields: Partial<LoadBalancer> = {}): LoadBalancer => ({
  id: 7,
  name: 'lb',
  labels: { 'hcloud-ccm/service-uid': 'uid-web' },
  created: 0,
  publicNet: {
    enabled: true,
    ipv4: { ip: '203.0.113.7', dnsPtr: undefined },
    ipv6: { ip: '2001:db8:7::1', dnsPtr: undefined },
  },
  privateNets: [],
  location: 'fsn1',
  networkZone: 'eu-central',
  type: { id: 1, name: 'lb11', maxServices: 5, maxTargets: 25, maxCertificates: 10, unavailableAfter: undefined },
  algorithm: 'round_robin',
  services: [],
  targets: [],
  isProtected: false,
  ...fields,
});

/** Wants nothing but to be owned. */
export const desired = (fields: Partial<DesiredLoadBalancer> = {}): DesiredLoadBalancer => ({
  owner: 'uid-web',
  name: undefined,
  type: undefined,
  algorithm: undefined,
  publicInterface: undefined,
  rdns: { ipv4: undefined, ipv6: undefined },
  attachment: undefined,
  listeners: [],
  heldPorts: [],
  targets: [],
  keptTargets: [],
  ...fields,
});

export const server = (serverID: number, usePrivateIP = false) => ({ type: 'server', serverID, usePrivateIP }) as const;

/** Makes a change at the simulator as its calls would, one after the other. @throws what it refuses */
export function perform({ loadBalancers }: FakeHetzner, id: number, change: LoadBalancerChange): void {
  switch (change.kind) {
    case 'update':
      if (change.name !== undefined) loadBalancers.rename(id, change.name);
      if (change.labels !== undefined) loadBalancers.setLabels(id, change.labels);
      return;
    case 'changeDNSPtr':
      loadBalancers.setDNSPtr(id, change.ip, change.dnsPtr);
      return;
    case 'changeAlgorithm':
      loadBalancers.setAlgorithm(id, change.algorithm);
      return;
    case 'changeType':
      loadBalancers.setType(id, change.type.name);
      return;
    case 'attach':
      loadBalancers.attach(id, change.network, change.ip === undefined ? {} : { ip: change.ip });
      return;
    case 'reattach':
      loadBalancers.detach(id, change.network);
      loadBalancers.attach(id, change.network, { ip: change.ip });
      return;
    case 'enablePublicInterface':
    case 'disablePublicInterface':
      loadBalancers.setPublicInterface(id, change.kind === 'enablePublicInterface');
      return;
    case 'addService':
      loadBalancers.addService(id, change.service);
      return;
    case 'updateService':
      loadBalancers.updateService(id, change.service);
      return;
    case 'deleteService':
      loadBalancers.removeService(id, change.listenPort);
      return;
    case 'addTarget':
      loadBalancers.addTarget(id, change.target);
      return;
    case 'removeTarget':
      loadBalancers.removeTarget(id, change.target);
      return;
    case 'flipTarget':
      loadBalancers.removeTarget(id, change.previous);
      loadBalancers.addTarget(id, change.target);
  }
}

/** Without what nobody but the API knows: the health of targets, and addresses it chose. */
export const comparable = ({ targets, privateNets, ...rest }: LoadBalancer): unknown => ({
  ...rest,
  privateNets: privateNets.map(({ network }) => network),
  targets: targets.map(target =>
    target.type === 'server' ? { ...target, health: [], ip: undefined } : { ...target, health: [] },
  ),
});

/** Ids of certificates that the simulator of these specs has. */
export const certificateIDs = [901, 902] as const;

/** Any listener on the port as a Service could want it, with a health check as this program always says it. */
export const anyListener = (listenPort: number): fc.Arbitrary<ServiceBody> =>
  fc.constantFrom('tcp', 'http', 'https').chain(protocol => {
    const http = fc.record(
      {
        cookieName: fc.constantFrom('A', 'B'),
        cookieLifetime: fc.constantFrom(60, 90),
        timeoutIdle: fc.constantFrom(30, 60),
        stickySessions: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    const https = fc.record({
      certificates: fc.constantFrom([901], [902], [902, 901]),
      ...(listenPort === 443 && { redirectHTTP: fc.boolean() }),
    });
    const timing = fc.record(
      { interval: fc.constantFrom(5, 10), timeout: fc.constantFrom(3, 4), retries: fc.constantFrom(1, 2) },
      { requiredKeys: [] },
    );
    const check = fc.record(
      {
        domain: fc.constantFrom('a.example', null),
        path: fc.constantFrom('/', '/healthz'),
        statusCodes: fc.constantFrom(['200'], ['2??', '3??']),
        tls: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    return fc
      .record({
        destinationPort: fc.integer({ min: 30_000, max: 30_003 }),
        proxyProtocol: fc.constantFrom(true, false, undefined),
        timing,
        httpCheck: fc.option(check, { nil: undefined }),
        http,
        https,
      })
      .map(({ destinationPort, proxyProtocol, timing: times, httpCheck, http: options, https: more }) => ({
        listenPort,
        destinationPort,
        protocol,
        ...(proxyProtocol !== undefined && { proxyProtocol }),
        ...(protocol !== 'tcp' && { http: { ...options, ...(protocol === 'https' && more) } }),
        healthCheck: {
          protocol: httpCheck === undefined ? 'tcp' : 'http',
          port: destinationPort,
          ...times,
          ...(httpCheck !== undefined && { http: httpCheck }),
        },
      }));
  });

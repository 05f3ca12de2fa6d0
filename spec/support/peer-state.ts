import type { LoadBalancer, ServiceBody, TargetBody } from '../../lib/hetzner/lb-types.ts';
import { type KubeObject, STRATEGIC_PATCH } from './kube-client.ts';
import { createNode, nodePath } from './nodes.ts';
import type { Scenario } from './scenario.ts';
import { createService, servicePath } from './services.ts';

/** A cluster and a project as Hetzner's own controller leaves them (facts/peer-behaviour.md, sections 3 to 5). */

export interface PeerNodeOptions {
  readonly podCIDRs?: readonly string[];
  /** Default: what it says where all pod CIDRs are routed. */
  readonly condition?: { readonly status: string; readonly reason: string };
}

export interface PeerServiceOptions {
  readonly name: string;
  /** Short names of annotations. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ports?: readonly number[];
  readonly spec?: Readonly<Record<string, unknown>>;
  /** What the peer asks for in each listener, beyond ports and the health check. */
  readonly listener?: Partial<ServiceBody>;
  /** Where the peer asks for more than TCP on the node port. */
  readonly healthCheck?: ServiceBody['healthCheck'];
  /** Numbers of the nodes that are targets. */
  readonly targets: readonly number[];
  readonly usePrivateIP?: boolean;
  readonly publicInterface?: boolean;
  readonly ingress?: (loadBalancer: LoadBalancer) => readonly object[];
}

export interface PeerState {
  /** Server and node w<i>, initialised, with its route. */
  node(i: number, options?: PeerNodeOptions): Promise<number>;
  /** A Service with its load balancer. */
  service(options: PeerServiceOptions): Promise<{ readonly service: KubeObject; readonly loadBalancer: LoadBalancer }>;
}

const addressesOf = ({ publicNet, privateNets }: LoadBalancer): string[] => [
  ...(publicNet.enabled ? [publicNet.ipv4?.ip ?? '', publicNet.ipv6?.ip ?? ''] : []),
  ...privateNets.map(({ ip }) => ip),
];

/** The addresses of a load balancer as the peer writes them into the status. */
export const peerIngress =
  (ipMode: 'VIP' | 'Proxy' = 'VIP') =>
  (loadBalancer: LoadBalancer): readonly object[] =>
    addressesOf(loadBalancer).map(ip => ({ ip, ipMode }));

export function peerState(s: Scenario): PeerState {
  const { cluster, hetzner, networkID } = s;
  const serverIDs = new Map<number, number>();

  const nodePortOf = (service: KubeObject, port: number): number =>
    (service.spec.ports as { port: number; nodePort: number }[]).find(one => one.port === port)?.nodePort ?? 0;

  return {
    node: async (i, { podCIDRs = [`10.244.${i}.0/24`], condition } = {}) => {
      const id = s.addServer(i);
      serverIDs.set(i, id);
      const addresses = [
        { type: 'Hostname', address: `w${i}` },
        { type: 'ExternalIP', address: `203.0.113.${i}` },
        { type: 'InternalIP', address: `10.0.1.${i}` },
      ];
      await createNode(cluster, {
        name: `w${i}`,
        providerID: `hcloud://${id}`,
        taint: false,
        podCIDRs,
        addresses,
        labels: {
          'beta.kubernetes.io/instance-type': 'cx23',
          'node.kubernetes.io/instance-type': 'cx23',
          'failure-domain.beta.kubernetes.io/region': 'fsn1',
          'topology.kubernetes.io/region': 'fsn1',
          'failure-domain.beta.kubernetes.io/zone': 'fsn1-dc14',
          'topology.kubernetes.io/zone': 'fsn1-dc14',
          'instance.hetzner.cloud/provided-by': 'cloud',
        },
      });
      for (const cidr of podCIDRs.filter(one => !one.includes(':'))) {
        hetzner.networks.addRoute(networkID, cidr, `10.0.1.${i}`);
      }
      const at = '2026-01-01T00:00:00Z';
      const { status, reason } = condition ?? { status: 'False', reason: 'RouteCreated' };
      const message =
        status === 'False' ? 'RouteController created a route' : 'RouteController failed to create a route';
      const written = {
        type: 'NetworkUnavailable',
        status,
        reason,
        message,
        lastHeartbeatTime: at,
        lastTransitionTime: at,
      };
      const patch = { status: { conditions: [written] } };
      await cluster.client.must('PATCH', `${nodePath(`w${i}`)}/status`, patch, STRATEGIC_PATCH);
      return id;
    },
    service: async options => {
      const { name, annotations = {}, ports = [80], usePrivateIP = false } = options;
      const prefixed = Object.entries({ location: 'fsn1', type: 'lb11', ...annotations }).map(([key, value]) => [
        `load-balancer.hetzner.cloud/${key}`,
        value,
      ]);
      const service = await createService(cluster, {
        name,
        annotations: Object.fromEntries(prefixed),
        spec: { ports: ports.map(port => ({ name: `p${port}`, port, protocol: 'TCP' })), ...options.spec },
      });
      const { uid } = service.metadata;
      const listeners = ports.map((port): ServiceBody => {
        const nodePort = nodePortOf(service, port);
        const healthCheck = { protocol: 'tcp', port: nodePort, ...options.healthCheck };
        return { protocol: 'tcp', listenPort: port, destinationPort: nodePort, healthCheck, ...options.listener };
      });
      const loadBalancer = hetzner.loadBalancers.create({
        name: annotations.name ?? `a${uid.replaceAll('-', '')}`.slice(0, 32),
        labels: { 'hcloud-ccm/service-uid': uid },
        services: listeners,
        targets: options.targets.map(
          (i): TargetBody => ({ type: 'server', serverID: serverIDs.get(i) as number, usePrivateIP }),
        ),
        network: networkID,
        ...(options.publicInterface !== undefined && { publicInterface: options.publicInterface }),
      });
      const { ingress = peerIngress() } = options;
      await cluster.client.must(
        'PATCH',
        `${servicePath(name)}/status`,
        {
          metadata: { finalizers: ['service.kubernetes.io/load-balancer-cleanup'] },
          status: { loadBalancer: { ingress: ingress(loadBalancer) } },
        },
        STRATEGIC_PATCH,
      );
      return { service, loadBalancer };
    },
  };
}

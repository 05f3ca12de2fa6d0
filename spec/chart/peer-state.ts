import { STRATEGIC_PATCH } from '../support/kube-client.ts';
import { createNode, nodePath } from '../support/nodes.ts';
import type { Scenario } from '../support/scenario.ts';
import { createService, servicePath } from '../support/services.ts';

/** Node w<i> with its server and route, as the peer leaves them. */
const node = async (s: Scenario, i: number): Promise<number> => {
  const id = s.addServer(i);
  const name = `w${i}`;
  const type = s.hetzner.servers.get(id)?.type ?? '';
  s.hetzner.networks.addRoute(s.networkID, `10.244.${i}.0/24`, `10.0.1.${i}`);
  await createNode(s.cluster, {
    name,
    providerID: `hcloud://${id}`,
    taint: false,
    podCIDRs: [`10.244.${i}.0/24`],
    addresses: [
      { type: 'Hostname', address: name },
      { type: 'ExternalIP', address: `203.0.113.${i}` },
      { type: 'InternalIP', address: `10.0.1.${i}` },
    ],
    labels: {
      'beta.kubernetes.io/instance-type': type,
      'node.kubernetes.io/instance-type': type,
      'failure-domain.beta.kubernetes.io/region': 'fsn1',
      'topology.kubernetes.io/region': 'fsn1',
      'failure-domain.beta.kubernetes.io/zone': 'fsn1-dc14',
      'topology.kubernetes.io/zone': 'fsn1-dc14',
      'instance.hetzner.cloud/provided-by': 'cloud',
    },
  });
  const at = `${new Date().toISOString().slice(0, 19)}Z`;
  const condition = {
    type: 'NetworkUnavailable',
    status: 'False',
    reason: 'RouteCreated',
    message: 'RouteController created a route',
    lastHeartbeatTime: at,
    lastTransitionTime: at,
  };
  await s.cluster.client.must(
    'PATCH',
    `${nodePath(name)}/status`,
    { status: { conditions: [condition] } },
    STRATEGIC_PATCH,
  );
  return id;
};

/** Two nodes and the load balancer of a Service with private targets, as the peer leaves them when everything is done. */
export const setUpAsPeer = async (s: Scenario): Promise<void> => {
  const servers = [await node(s, 1), await node(s, 2)];
  const created = await createService(s.cluster, { name: 'web' });
  const service = await s.cluster.client.must('GET', servicePath('web'));
  const { nodePort } = (service.spec.ports as { nodePort: number }[])[0] ?? { nodePort: 0 };
  const { id } = s.hetzner.loadBalancers.create({
    name: `a${created.metadata.uid.replaceAll('-', '')}`.slice(0, 32),
    labels: { 'hcloud-ccm/service-uid': created.metadata.uid },
  });
  s.hetzner.loadBalancers.attach(id, s.networkID);
  s.hetzner.loadBalancers.addService(id, {
    listenPort: 80,
    destinationPort: nodePort,
    protocol: 'tcp',
    proxyProtocol: false,
    healthCheck: { protocol: 'tcp', port: nodePort },
  });
  for (const serverID of servers)
    s.hetzner.loadBalancers.addTarget(id, { type: 'server', serverID, usePrivateIP: true });
  const made = s.hetzner.loadBalancers.get(id);
  const ips = [made?.publicNet.ipv4?.ip, made?.publicNet.ipv6?.ip, made?.privateNets[0]?.ip].filter(
    ip => ip !== undefined,
  );
  await s.cluster.client.must(
    'PATCH',
    `${servicePath('web')}/status`,
    {
      metadata: { finalizers: ['service.kubernetes.io/load-balancer-cleanup'] },
      status: { loadBalancer: { ingress: ips.map(ip => ({ ip, ipMode: 'VIP' })) } },
    },
    STRATEGIC_PATCH,
  );
};

import type { FakeHetzner } from '../../hetzner/fake.ts';
import type { PodHost, PodNetworks } from '../../hetzner/reachability.ts';

/** The example of docs/networks.md: 3 control planes and 250 workers in three networks that gateways join. */

export interface Zone {
  readonly name: string;
  readonly ipRange: string;
  readonly pods: string;
  /** Address of the machine that is in all networks. */
  readonly gateway: string;
  readonly nodes: number;
}

const nodesIn = { core: 59, 'pool-a': 97, 'pool-b': 97 } as const;

export const zones: readonly Zone[] = Object.entries(nodesIn).map(([name, nodes], k) => ({
  name,
  ipRange: `10.${k}.0.0/16`,
  pods: `10.${240 + k}.0.0/16`,
  gateway: `10.${k}.0.10`,
  nodes,
}));

export const clusterCIDR = '10.240.0.0/12';

/** What the controller is told. */
export const environment = {
  HCLOUD_NETWORK: 'core',
  HCLOUD_WORKER_NETWORK_PREFIX: 'pool-',
  HCLOUD_NETWORK_POD_CIDRS: zones.map(({ name, pods }) => `${name}=${pods}`).join(),
  HCLOUD_NETWORK_GATEWAYS: zones.map(({ name, gateway }) => `${name}/*=${gateway}`).join(),
} as const;

/** Routes there are when all is done: one a node, and one a pair of networks in each direction. */
export const wanted = {
  nodes: zones.reduce((sum, { nodes }) => sum + nodes, 0),
  pairs: zones.length * (zones.length - 1),
} as const;

export interface Member {
  readonly name: string;
  /** Index of its zone. */
  readonly zone: number;
  readonly ip: string;
  readonly podCIDR: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Node number i of a zone, from 1. */
export const memberOf = (zone: number, i: number): Member => {
  const isControlPlane = zone === 0 && i <= 3;
  return {
    name: isControlPlane ? `cp${i}` : `${zones[zone]?.name}-${i}`,
    zone,
    ip: `10.${zone}.1.${i}`,
    podCIDR: `10.${240 + zone}.${i}.0/24`,
    labels: isControlPlane ? { 'node-role.kubernetes.io/control-plane': '' } : {},
  };
};

export const members: readonly Member[] = zones.flatMap(({ nodes }, zone) =>
  Array.from({ length: nodes }, (_, i) => memberOf(zone, i + 1)),
);

/** The networks, the gateway machine and the servers of a project. */
export interface Built {
  /** By zone. */
  readonly networks: readonly number[];
  /** The server of a node that joins. */
  addServer(member: Member): void;
  /** What to ask the project about its pods. */
  readonly pods: PodNetworks & { readonly hosts: readonly PodHost[] };
}

/** Makes everything at Hetzner that is there before the controller is; routes are not. */
export function build(project: Pick<FakeHetzner, 'networks' | 'servers'>): Built {
  const networks = zones.map(({ name, ipRange }, k) => {
    const subnets = [`10.${k}.0.0/20`];
    return project.networks.create({ name, ipRange, subnets }).id;
  });
  const router = project.servers.create({ name: 'router' }).id;
  for (const [k, network] of networks.entries())
    project.servers.attach(router, network, { ip: zones[k]?.gateway as string });
  const hosts: PodHost[] = [];
  const addServer = ({ name, zone, ip, podCIDR }: Member): void => {
    const { id } = project.servers.create({ name, network: networks[zone] as number, ip });
    hosts.push({ server: id, podCIDR });
  };
  for (const member of members) addServer(member);
  const podRanges = networks.map((network, k) => ({ network, range: zones[k]?.pods as string }));
  return { networks, addServer, pods: { hosts, podRanges, forwarders: [router] } };
}

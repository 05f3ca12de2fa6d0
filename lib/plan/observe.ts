import { createInstances, type InstanceLists, type Instances, locate } from '../controllers/instances.ts';
import { isReady } from '../controllers/lifecycle/plan.ts';
import { networkNameOf } from '../controllers/load-balancer/network-choice.ts';
import { needsCleanup, wantsLoadBalancer } from '../controllers/load-balancer/ownership.ts';
import type { ChosenNetworks } from '../controllers/networks.ts';
import { contactOnce } from '../first-contact.ts';
import type { Certificate, LoadBalancer, LoadBalancerType } from '../hetzner/lb-types.ts';
import type { HetznerReads } from '../hetzner/reads.ts';
import type { Robot } from '../hetzner/robot.ts';
import type { CallOptions, Network } from '../hetzner/types.ts';
import { pruneNode } from '../kubernetes/prune.ts';
import { pruneService } from '../kubernetes/prune-service.ts';
import { type KubeReader, readAll } from '../kubernetes/reader.ts';
import type { KubeNode, KubeService } from '../kubernetes/types.ts';
import type { Logger } from '../observability/logger.ts';
import type { Settings } from '../settings/settings.ts';
import type { Clock } from '../streams/clock.ts';

/** Both sides, as far as they can be read. Nothing here can write. */
export interface Readers {
  readonly kube: KubeReader;
  readonly hetzner: HetznerReads;
  /** Undefined where Robot is not in use. */
  readonly robot: Robot | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Everything the controllers decide by, read once. */
export interface Observed {
  readonly nodes: readonly KubeNode[];
  readonly services: readonly KubeService[];
  readonly lists: InstanceLists;
  /** Names of nodes that are not ready and whose machine is switched off. */
  readonly off: ReadonlySet<string>;
  readonly robotInUse: boolean;
  readonly network: Network | undefined;
  /** Where nodes live in several networks. */
  readonly networks: ChosenNetworks<Network> | undefined;
  /** All of the project, read where a load balancer names one. */
  readonly allNetworks: readonly Network[];
  readonly loadBalancers: readonly LoadBalancer[];
  readonly certificates: readonly Certificate[];
  readonly types: readonly LoadBalancerType[];
}

/** Reads the cluster first, then Hetzner, so that bad news about a node are newer than the node. Rejects with the first error. */
export async function observe(settings: Settings, readers: Readers, signal: AbortSignal): Promise<Observed> {
  const { kube, hetzner, robot, clock, logger } = readers;
  const { controllers, hcloud, loadBalancers: rules } = settings;
  const [nodes, services] = await Promise.all([
    readAll(kube, '/api/v1/nodes', pruneNode, signal),
    controllers.loadBalancer ? readAll(kube, '/api/v1/services', pruneService, signal) : [],
  ]);
  const o = { priority: 'refresh', signal } as const;
  const startedAt = clock.monotonic();
  // Whether this machine is in the network says nothing about the one the controller will run on.
  const elsewhere = { ...settings, hcloud: { ...hcloud, networkAttachedCheck: false } };
  const { network, networks } = await contactOnce({ settings: elsewhere, ...hetzner, clock, logger }, signal);
  const instances = createInstances(hetzner, robot, clock);
  const lists = await instances.readAll(startedAt, o);
  const balanced = services.some(service => wantsLoadBalancer(service, rules) || needsCleanup(service, rules));
  const { loadBalancers } = hetzner;
  const namesNetwork = services.some(service => networkNameOf(service, rules) !== undefined);
  const [off, balancers, certificates, types, all] = await Promise.all([
    switchedOff(nodes, lists, instances, o),
    balanced ? loadBalancers.list(o) : [],
    balanced ? loadBalancers.listCertificates(o) : [],
    balanced ? loadBalancers.listTypes(o) : [],
    balanced && namesNetwork ? hetzner.networks.notBefore(startedAt, o) : undefined,
  ]);
  return {
    nodes,
    services,
    lists,
    off,
    robotInUse: robot !== undefined,
    network: network?.value,
    networks,
    allNetworks: all?.networks ?? [],
    loadBalancers: balancers,
    certificates,
    types,
  };
}

/** Robot tells each by a request of its own, so only those nodes are looked at that the answer matters for. */
async function switchedOff(
  nodes: readonly KubeNode[],
  lists: InstanceLists,
  instances: Pick<Instances, 'power'>,
  o: CallOptions,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const node of nodes.filter(one => !isReady(one) && !one.deleting)) {
    const located = locate(node, lists);
    if (located.kind !== 'found') continue;
    const { isOff } = await instances.power(located.machine, located.requestedAt, o);
    if (isOff) names.add(node.name);
  }
  return names;
}

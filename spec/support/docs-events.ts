import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventReason } from '../../lib/kubernetes/event-reasons.ts';
import { renderTable } from '../../lib/settings/reference.ts';

type EventObject = 'Node' | 'Service' | 'Lease';

export interface EventAdvice {
  readonly type: 'Normal' | 'Warning' | 'both';
  readonly objects: readonly EventObject[];
  /** Messages as they stand in the code; `…` is what differs. */
  readonly says: readonly string[];
  readonly toDo: string;
}

const nothing = 'Nothing.';
const about = (
  type: EventAdvice['type'],
  objects: EventObject | readonly EventObject[],
  says: string | readonly string[],
  toDo = nothing,
): EventAdvice => ({
  type,
  objects: typeof objects === 'string' ? [objects] : objects,
  says: typeof says === 'string' ? [says] : says,
  toDo,
});

/** All events; a reason that is missing or too many does not compile. */
export const eventAdvice: Readonly<Record<EventReason, EventAdvice>> = {
  Synced: about('Normal', 'Node', 'Initialised from server …'),
  InstanceNotFound: about(
    'Warning',
    'Node',
    ['Could not initialise node: …', 'no server named … exists in the …'],
    'Give server and node the same name: rename the server, or set `--hostname-override` of the kubelet.',
  ),
  InstanceLookupFailed: about(
    'Warning',
    'Node',
    ['both a Cloud server (…) and a Robot server (…) are named …', 'Robot servers … are all named …'],
    'Rename one of the machines.',
  ),
  ProvidedNodeIPMismatch: about(
    'Warning',
    'Node',
    'kubelet announced …, but … offers …',
    'Do what the end of the message says: `--node-ip` of the kubelet, `HCLOUD_NETWORK`, or the attachment of the server.',
  ),
  MisconfiguredInternalIP: about(
    'Warning',
    'Node',
    'InternalIP … is not kept: …',
    'Correct `--node-ip` of the kubelet of this Robot server.',
  ),
  UnknownProviderIDPrefix: about(
    'Warning',
    'Node',
    ['Left node alone: …', 'Left node alone while it is not ready: …', 'Not a target: …'],
    'Nothing for a machine of another provider. Else see that only one controller sets provider IDs (k3s: `--disable-cloud-controller`).',
  ),
  ServerReplaced: about(
    'Warning',
    'Node',
    '… does not exist any more, and server … has the name of this node: …',
    'Delete the Node and restart its kubelet, so that it joins anew.',
  ),
  PossibleNodeDeletion: about(
    'Warning',
    'Node',
    ['The node will be deleted if this stays so: …', 'Kept node: …; …'],
    'Check that the token is of the project of this cluster; delete the Node if its server is gone.',
  ),
  DeletingNode: about('Normal', 'Node', 'Deleting the node, as its server does not exist at Hetzner'),
  DeletingNodeFailed: about(
    'Warning',
    'Node',
    'Could not delete the node: …',
    'See the message; it is tried again. A forbidden deletion needs the rights of the chart.',
  ),
  FailedToCreateRoute: about(
    'Warning',
    'Node',
    ['Could not create …: …', 'Could not create route to …: …'],
    'Attach the server to the network, or mend what the message names: a route in the way, a gateway that is none, a token that can only read.',
  ),
  RouteLimitReached: about(
    'Warning',
    'Node',
    'Could not create …: …',
    'Remove routes by hand, or use several networks: one of Hetzner holds 100 routes.',
  ),
  ClusterCIDRMisconfigured: about(
    'Warning',
    'Node',
    'Pod CIDR … is outside of --cluster-cidr=…: its route is created, but will not be deleted with the node',
    'Give `--cluster-cidr` of this controller and of kube-controller-manager the same value.',
  ),
  PodCIDRMisplaced: about(
    'Warning',
    'Node',
    'Pod CIDR … …',
    'Delete the Node, so that it gets a pod CIDR of its network.',
  ),
  CIDRNotAvailable: about(
    'Warning',
    'Node',
    'Could not allocate a pod CIDR: …',
    'Enlarge the range of the network in `HCLOUD_NETWORK_POD_CIDRS` or `--cluster-cidr`, or remove nodes; where it names a node that all wait for, let the controller write to that node.',
  ),
  OverlappingPodCIDRs: about(
    'Warning',
    'Node',
    'Pod CIDR … overlaps … of node …',
    'Delete one of the Node objects and let its kubelet register again.',
  ),
  TargetNotReachable: about(
    'Warning',
    'Node',
    [
      'Not a target: …',
      'its server is not attached to network …',
      'its server has no public IPv4 address; use-private-ip reaches it without',
    ],
    'Attach the server to the network, or set `use-private-ip`.',
  ),
  ServerNotFound: about(
    'Warning',
    'Node',
    ['Not a target: …', 'its address is not known to the Robot account'],
    'Delete the Node if its server is gone; for Robot give the controller a login, or the node an InternalIP.',
  ),
  InternalIPNotConfigured: about(
    'Warning',
    ['Node', 'Service'],
    [
      'it has no InternalIP, which use-private-ip needs',
      'node … has no InternalIP, which use-private-ip needs: its public address … is used',
    ],
    'Set `--node-ip` of the kubelet of the Robot server to its address in the vSwitch.',
  ),
  MaxTargetsReached: about(
    'Warning',
    'Service',
    ['The type … has room for … targets; … nodes are none', 'Could not make all changes: …'],
    'Choose a larger type, or fewer nodes by `node-selector`.',
  ),
  EnsuringLoadBalancer: about('Normal', 'Service', 'Bringing the load balancer in line'),
  EnsuredLoadBalancer: about('Normal', 'Service', 'The load balancer is in line'),
  DeletingLoadBalancer: about('Normal', 'Service', 'Deleting the load balancer'),
  DeletedLoadBalancer: about('Normal', 'Service', 'Deleted the load balancer'),
  AdoptedLoadBalancer: about(
    'both',
    'Service',
    ['Uses the existing … from now on', 'It had … What changes: …'],
    'A Warning names what the load balancer had and loses: make that again elsewhere if it was needed.',
  ),
  KeptLoadBalancer: about(
    'Warning',
    'Service',
    'The … is protected against deletion, so it stays as it is',
    'Delete the load balancer by hand if it is not needed any more.',
  ),
  SyncLoadBalancerFailed: about(
    'Warning',
    'Service',
    [
      'Could not bring the load balancer in line: …',
      'Could not make all changes: …',
      '… of … nodes are not targets: …',
    ],
    'Mend what the message names. It is tried again; where it says so only once an hour, or at once when the Service changes.',
  ),
  LoadBalancerNotFound: about(
    'Warning',
    'Service',
    ['No load balancer of this Service is there to be deleted: …', 'annotation …id: … has no effect, as …'],
    'Look for a load balancer that was left behind in another project; remove the annotation `id`.',
  ),
  LoadBalancerNotMoved: about(
    'Warning',
    'Service',
    'the load balancer stays in the … …, as none can move to …: delete and create the Service to have one there',
    'Make the Service anew where the place matters; else set the annotation back.',
  ),
  LoadBalancerTypeDeprecated: about(
    'Warning',
    'Service',
    "The type … is deprecated and can't be ordered after …",
    'Choose another type by the annotation `type`.',
  ),
  LoadBalancerTypeUnconfigured: about(
    'Warning',
    'Service',
    'No type is set, so … is used: …',
    'Set the annotation `type` or `HCLOUD_LOAD_BALANCERS_TYPE`.',
  ),
  InvalidAnnotation: about(
    'Warning',
    'Service',
    'annotation …: …',
    'Correct the annotation; the message names what is allowed.',
  ),
  UnknownAnnotation: about(
    'Warning',
    'Service',
    'These annotations are not known and have no effect: …',
    'Correct the key or remove it.',
  ),
  UnsupportedProtocolConfigured: about(
    'Warning',
    'Service',
    'port …: … is not supported by load balancers of Hetzner',
    'Use TCP, or a Service of another kind for this port.',
  ),
  UnsupportedServiceField: about(
    'Warning',
    'Service',
    [
      'loadBalancerSourceRanges is not enforced: load balancers of Hetzner have no firewall',
      'sessionAffinity has no effect in the load balancer; http-sticky-sessions does that for http',
    ],
    'Remove the field; filter in the ingress controller.',
  ),
  UnAvailableLoadBalancer: about(
    'Warning',
    'Service',
    'There are no nodes that can be targets; …',
    'Remove the exclude label from nodes, or widen `node-selector`.',
  ),
  NoIngressAddress: about(
    'Warning',
    'Service',
    'The status has no address: …',
    'Leave one of the public interface and the private addresses on.',
  ),
  ForeignProject: about(
    'Warning',
    ['Service', 'Lease'],
    ['Nothing is changed for this Service: …', 'Holding back changes at Hetzner: …'],
    'Use a token of the project of this cluster; delete the Nodes whose servers are gone.',
  ),
  CredentialsRefused: about(
    'Warning',
    'Lease',
    ['Hetzner refuses …', '… can only read, …'],
    'Replace the token (with the permissions Read & Write) or the Robot login. From files they are taken over without a restart.',
  ),
  NetworkNotFound: about(
    'Warning',
    'Lease',
    'The network … (…) does not exist any more: …',
    'Make a network of that name again and attach the servers, or set `HCLOUD_NETWORK`.',
  ),
  OverlappingNodeSelectors: about(
    'Warning',
    'Lease',
    'HCLOUD_SERVER_LABEL_SELECTOR=… matches … nodes that an instance looks after which was there before: …',
    'Give the instances selectors of which no node matches two.',
  ),
};

/** Markdown table of all events. */
export const eventsReference = (): string =>
  renderTable(
    ['Reason', 'Type', 'Object', 'Message', 'What to do'],
    Object.entries(eventAdvice).map(([reason, { type, objects, says, toDo }]) => [
      `\`${reason}\``,
      type === 'both' ? 'Normal, Warning' : type,
      objects.join(', '),
      says.join('<br>'),
      toDo,
    ]),
  );

/** All code of the program, to look for what the table says. */
export function eventSources(): string {
  const root = join(import.meta.dirname, '..', '..', 'lib');
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !name.startsWith('simulator') && !name.endsWith('event-reasons.ts'))
    .map(name => readFileSync(join(root, name), 'utf8'))
    .join('\n');
}

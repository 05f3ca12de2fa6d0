import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import type { KubeService } from '../../kubernetes/types.ts';
import { annotationPrefix } from './annotations.ts';
import type { ClusterView } from './cluster-view.ts';
import { type Notice, type Wanted, warning } from './wanted.ts';

/** Label of a load balancer that names the Service it belongs to. */
export const ownerLabel = 'hcloud-ccm/service-uid';

/** Whether one of the load balancers belongs to one of the Services: no other project has such a one. */
export const holdsOneOf = (
  all: readonly Pick<LoadBalancer, 'labels'>[],
  services: readonly Pick<KubeService, 'uid'>[],
): boolean => {
  const uids = new Set(services.map(({ uid }) => uid));
  return all.some(({ labels }) => uids.has(labels[ownerLabel] ?? ''));
};

/** Name of a load balancer without the name annotation: `a` and the uid of its Service, cut to 32 characters. */
export const defaultName = (uid: string): string => `a${uid.replaceAll('-', '')}`.slice(0, 32);

export type Identity =
  /** It carries the label of this Service. */
  | { readonly kind: 'own'; readonly loadBalancer: LoadBalancer }
  /** It has no owner, and the Service names it. */
  | { readonly kind: 'adopt'; readonly loadBalancer: LoadBalancer }
  | { readonly kind: 'create' }
  | { readonly kind: 'refused'; readonly problem: string };

export interface IdentityQuery {
  readonly uid: string;
  /** Annotations `id` and `name`. */
  readonly id: number | undefined;
  readonly name: string | undefined;
  readonly cluster: ClusterView;
}

/**
 * The load balancer of a Service: the one with its label, else the one it names by id, else by name, else none yet. A load
 * balancer of another owner is never taken, unless that owner is gone and this one was named on purpose. An owner that this
 * cluster does not know counts as gone only where no server of another cluster is a target.
 */
export function identify(all: readonly LoadBalancer[], { uid, id, name, cluster }: IdentityQuery): Identity {
  const own = all.filter(({ labels }) => labels[ownerLabel] === uid);
  if (own.length > 1) {
    const ids = own.map(lb => lb.id).join(', ');
    return { kind: 'refused', problem: `load balancers ${ids} all carry the label ${ownerLabel}=${uid}; only one may` };
  }
  if (own[0] !== undefined) return { kind: 'own', loadBalancer: own[0] };
  const wanted = name ?? defaultName(uid);
  const found = all.find(lb => lb.id === id) ?? all.find(lb => lb.name === wanted);
  if (found === undefined) return { kind: 'create' };
  const owner = found.labels[ownerLabel];
  if (owner === undefined) return { kind: 'adopt', loadBalancer: found };
  const called = `load balancer ${found.name} (${found.id})`;
  const living = cluster.ownerOf(owner);
  if (living !== undefined) return { kind: 'refused', problem: `${called} belongs to Service ${living}` };
  const problem = `${called} belongs to a Service with the uid ${owner}, which is not in this cluster`;
  if (found.id !== id && name === undefined) return { kind: 'refused', problem };
  const other = found.targets.find(target => target.type === 'server' && !cluster.hasServer(target.serverID));
  if (other?.type !== 'server') return { kind: 'adopt', loadBalancer: found };
  return {
    kind: 'refused',
    problem: `${problem}, and neither is its target server ${other.serverID}: it may be in use by another cluster; to take it over nevertheless, remove its label ${ownerLabel}`,
  };
}

/** An id that leads to no load balancer stops nothing: the peer never read it, and what is left of old ones is copied along. */
export function idNotices(id: number | undefined, identity: Identity): Notice[] {
  if (id === undefined || identity.kind === 'refused') return [];
  const present = identity.kind === 'create' ? undefined : identity.loadBalancer;
  if (present?.id === id) return [];
  const why =
    present === undefined ? 'there is none with it' : `the Service has load balancer ${present.name} (${present.id})`;
  return [warning('LoadBalancerNotFound', `annotation ${annotationPrefix}id: ${id} has no effect, as ${why}`)];
}

const placeProblem =
  'neither a location nor a network zone is set: use the annotation load-balancer.hetzner.cloud/location or load-balancer.hetzner.cloud/network-zone, or HCLOUD_LOAD_BALANCERS_LOCATION or HCLOUD_LOAD_BALANCERS_NETWORK_ZONE';

/** As `identify`, but what would be taken or made must be wanted for sure: a load balancer costs money as soon as it is there. */
export function choose(
  { uid }: Pick<KubeService, 'uid'>,
  { config, held }: Pick<Wanted, 'config' | 'held'>,
  all: readonly LoadBalancer[],
  cluster: ClusterView,
): Identity {
  const { id, name, location, networkZone } = config;
  const identity = identify(all, { uid, id, name, cluster });
  if (identity.kind === 'own' || identity.kind === 'refused') return identity;
  if (held.creation) {
    const problem = 'no load balancer is made or taken over while it is not clear what is wanted: see the other events';
    return { kind: 'refused', problem };
  }
  const isNowhere = identity.kind === 'create' && location === undefined && networkZone === undefined;
  return isNowhere ? { kind: 'refused', problem: placeProblem } : identity;
}

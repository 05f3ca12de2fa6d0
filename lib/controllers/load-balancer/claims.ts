import type { ClusterView } from './cluster-view.ts';
import type { Identity } from './identity.ts';

/**
 * Which Service is about to take over which load balancer. Until its label is written nothing else tells two Services
 * apart that name the same one.
 */
export interface Claims {
  /** Undefined when it is now claimed for this uid, else the uid of the Service that was first. */
  claim(loadBalancerID: number, uid: string): string | undefined;
}

/** @param isAlive whether the Service with that uid still asks for a load balancer */
export function createClaims(isAlive: (uid: string) => boolean): Claims {
  const owners = new Map<number, string>();
  return {
    claim(loadBalancerID, uid) {
      const owner = owners.get(loadBalancerID);
      if (owner !== undefined && owner !== uid && isAlive(owner)) return owner;
      owners.set(loadBalancerID, uid);
      return undefined;
    },
  };
}

/** The identity, unless another Service was the first to name that load balancer. */
export function claimed(identity: Identity, uid: string, claims: Claims, { ownerOf }: ClusterView): Identity {
  if (identity.kind !== 'adopt') return identity;
  const { id, name } = identity.loadBalancer;
  const first = claims.claim(id, uid);
  if (first === undefined) return identity;
  return { kind: 'refused', problem: `load balancer ${name} (${id}) belongs to Service ${ownerOf(first)}` };
}

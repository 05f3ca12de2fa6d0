import type { NetworkList } from '../../hetzner/networks.ts';
import type { KubeService } from '../../kubernetes/types.ts';
import type { Settings } from '../../settings/settings.ts';
import { annotationPrefix } from './annotations.ts';
import { type Wanted, warning } from './wanted.ts';

/** The network of one load balancer. */
export interface NetworkChoice {
  /** Undefined: none, or one that nobody knows. */
  readonly networkID: number | undefined;
  /** Somebody named it, so a load balancer in another network moves. */
  readonly isNamed: boolean;
  readonly problem?: string;
}

const annotation = `${annotationPrefix}network`;

/** The network that the annotation or else the setting names; undefined for the usual one. */
export const networkNameOf = (
  { annotations }: Pick<KubeService, 'annotations'>,
  { network }: Pick<Settings['loadBalancers'], 'network'>,
): string | undefined => annotations[annotation]?.trim() || network;

/** Finds the named network by its id or name. */
export function chooseNetwork(
  name: string | undefined,
  networks: NetworkList['networks'],
  usual: number | undefined,
): NetworkChoice {
  if (name === undefined) return { networkID: usual, isNamed: false };
  const found = networks.find(({ id }) => String(id) === name) ?? networks.find(one => one.name === name);
  if (found !== undefined) return { networkID: found.id, isNamed: true };
  const problem = `there is no network with the name or id ${JSON.stringify(name.slice(0, 100))} in the Hetzner Cloud project: see the annotation ${annotation} and HCLOUD_LOAD_BALANCER_NETWORK`;
  return { networkID: undefined, isNamed: true, problem };
}

/** While nobody knows the network, what depends on it stays as it is. */
export function heldWithout(wanted: Wanted, { problem }: NetworkChoice): Wanted {
  if (problem === undefined) return wanted;
  return {
    ...wanted,
    notices: [...wanted.notices, warning('InvalidAnnotation', problem)],
    held: { ...wanted.held, targets: true, attachment: true, creation: true },
  };
}

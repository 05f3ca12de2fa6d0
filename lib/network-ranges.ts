import type { GatewayRule } from './controllers/networks.ts';
import type { Network } from './hetzner/types.ts';
import type { NetworkGateway } from './settings/network-gateways.ts';
import type { NetworkPodCIDR } from './settings/network-pod-cidrs.ts';

/** How the names of settings are looked up in a list of networks. */
export interface NetworkNames {
  readonly find: (nameOrID: string) => Network | undefined;
  /** Those of the cluster. */
  readonly all: readonly Network[];
  readonly isWorker: (name: string) => boolean;
}

interface Problem {
  readonly problem: string;
}

/**
 * The network a setting names. Undefined for one of workers that is not there: it may be made later, or was lost while those
 * of the others live on.
 */
function lookUp(setting: string, name: string, { find, all, isWorker }: NetworkNames): Network | undefined | Problem {
  const found = find(name);
  if (found !== undefined && all.includes(found)) return found;
  if (found === undefined && isWorker(name)) return undefined;
  const problem =
    found === undefined
      ? `${setting}: no network with the name or id ${JSON.stringify(name)} in the Hetzner Cloud project`
      : `${setting}: network ${JSON.stringify(name)} is none of the cluster, must be HCLOUD_NETWORK, HCLOUD_CONTROL_PLANE_NETWORK or described by HCLOUD_WORKER_NETWORK_REGEX or HCLOUD_WORKER_NETWORK_PREFIX`;
  return { problem };
}

/** Ranges of pods by the ids of networks. */
export function rangesOf(
  podCIDRs: readonly NetworkPodCIDR[],
  names: NetworkNames,
): ReadonlyMap<number, string> | Problem {
  const setting = 'HCLOUD_NETWORK_POD_CIDRS';
  const ranges = new Map<number, string>();
  for (const { network, cidr } of podCIDRs) {
    const found = lookUp(setting, network, names);
    if (found === undefined) continue;
    if ('problem' in found) return found;
    if (ranges.has(found.id)) return namedTwice(setting, `network ${found.name} (${found.id})`);
    ranges.set(found.id, cidr);
  }
  return ranges;
}

/** Ways between networks by their ids. */
export function gatewaysOf(gateways: readonly NetworkGateway[], names: NetworkNames): readonly GatewayRule[] | Problem {
  const setting = 'HCLOUD_NETWORK_GATEWAYS';
  const rules: GatewayRule[] = [];
  for (const { network, neighbour, address } of gateways) {
    const from = lookUp(setting, network, names);
    if (from !== undefined && 'problem' in from) return from;
    const found = neighbour === undefined ? 'others' : (lookUp(setting, neighbour, names) ?? 'absent');
    if (typeof found === 'object' && 'problem' in found) return found;
    if (from === undefined) continue;
    const to = typeof found === 'object' ? found.id : found;
    if (to === from.id) return { problem: `${setting}: network ${from.name} (${to}) must not be its own neighbour` };
    if (to !== 'absent' && rules.some(one => one.network === from.id && one.neighbour === to))
      return namedTwice(setting, `the pair ${from.name}/${typeof found === 'object' ? found.name : '*'}`);
    rules.push({ network: from.id, neighbour: to, address });
  }
  return rules;
}

const namedTwice = (setting: string, what: string): Problem => ({
  problem: `${setting}: ${what} must be named once, is named by name and by id`,
});

import type { Location } from './catalogue/locations.ts';
import type { ServerType } from './catalogue/server-types.ts';

/** What the fake remembers. Instants are ms since the epoch; the wire shows whole seconds. */

/**
 * A part that comes or goes with a running action. It takes its place (address, range) from `arriving` on and
 * gives it back after `leaving`; the API shows it while `present` or `leaving`.
 */
export type Phase = 'arriving' | 'present' | 'leaving';

export interface Attachment {
  readonly network: number;
  readonly ip: string;
  aliasIPs: string[];
  readonly mac: string;
  phase: Phase;
}

export interface ServerRecord {
  readonly id: number;
  name: string;
  readonly created: number;
  status: string;
  readonly type: ServerType;
  readonly location: Location;
  readonly image: string;
  ipv4: { readonly id: number; readonly ip: string } | undefined;
  /** The /64 in CIDR notation. */
  ipv6: { readonly id: number; readonly ip: string } | undefined;
  attachments: Attachment[];
  labels: Record<string, string>;
  protected: boolean;
}

export interface SubnetRecord {
  readonly type: 'cloud' | 'server' | 'vswitch';
  readonly ipRange: string;
  readonly zone: string;
  readonly gateway: string;
  readonly vSwitch: number | null;
  phase: Phase;
}

export interface RouteRecord {
  readonly destination: string;
  readonly gateway: string;
  phase: Phase;
}

/** Owner of addresses in a network. */
export interface Holder {
  readonly type: 'server' | 'load_balancer';
  readonly id: number;
}

export interface NetworkRecord {
  readonly id: number;
  name: string;
  readonly created: number;
  ipRange: string;
  subnets: SubnetRecord[];
  routes: RouteRecord[];
  /** Addresses in use or promised, with their owner. */
  readonly ledger: Map<string, Holder>;
  labels: Record<string, string>;
  protected: boolean;
  exposeRoutes: boolean;
  /** Until this instant changes are refused although no action of ours runs. */
  lockedUntil: number;
}

/** Whether the API shows the part. */
export const isShown = (part: { readonly phase: Phase }): boolean => part.phase !== 'arriving';

/** Members of a network, each once, whatever number of addresses they hold. */
export const membersOf = (network: NetworkRecord, type?: Holder['type']): Holder[] => {
  const members = new Map<string, Holder>();
  for (const holder of network.ledger.values())
    if (type === undefined || holder.type === type) members.set(`${holder.type} ${holder.id}`, holder);
  return [...members.values()];
};

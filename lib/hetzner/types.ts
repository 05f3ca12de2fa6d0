import type { Observable } from 'rxjs';

/** The parts of Hetzner Cloud answers that are read. Unknown fields are ignored, missing ones get the stated default. */

export interface PrivateNet {
  readonly network: number;
  readonly ip: string;
  readonly aliasIPs: readonly string[];
}

export interface Server {
  readonly id: number;
  readonly name: string;
  /** running, off, starting, ...; `unknown` when absent. */
  readonly status: string;
  /** Server type name such as cpx31; empty when absent. */
  readonly type: string;
  /** Location name such as fsn1; empty when absent. */
  readonly location: string;
  /** Public IPv4, if the server has one. */
  readonly ipv4: string | undefined;
  /** First host address (…::1) of the public IPv6 network, if the server has one. */
  readonly ipv6: string | undefined;
  readonly privateNets: readonly PrivateNet[];
}

export interface Route {
  /** CIDR. */
  readonly destination: string;
  /** IP address inside the network. */
  readonly gateway: string;
}

export interface Network {
  readonly id: number;
  readonly name: string;
  readonly ipRange: string;
  readonly routes: readonly Route[];
  /** Ids of attached servers. */
  readonly servers: readonly number[];
}

export interface Action {
  readonly id: number;
  readonly command: string;
  readonly status: 'running' | 'success' | 'error';
  readonly error: { readonly code: string; readonly message: string } | undefined;
  /** ms between its start and its end, in whole seconds; absent while it runs. */
  readonly took?: number;
}

/** Who goes first when the budget is short, most urgent first (design rule 5). */
export const priorities = ['initialise', 'route', 'loadBalancer', 'refresh'] as const;
export type Priority = (typeof priorities)[number];

/** What every call to Hetzner carries. */
export interface CallOptions {
  readonly priority: Priority;
  /** The present priority and those that follow, when others join a shared read; a call that waits only becomes more urgent. */
  readonly raised$?: Observable<Priority>;
  /** Ends the call, also while it waits for budget. Writes carry the signal of the leadership term. */
  readonly signal: AbortSignal;
  /** Asked right before each try is sent; a throw ends the call instead. */
  readonly check?: () => void;
}

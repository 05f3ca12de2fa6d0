import type { Action } from './types.ts';

/** Load balancers and certificates as far as they are read and written. Enumerations stay text: Hetzner may add to them. */

export interface HTTPCheck {
  /** Host header; undefined sends none. */
  readonly domain: string | undefined;
  readonly path: string;
  /** Text that the answer must contain; empty for any. */
  readonly response: string;
  readonly statusCodes: readonly string[];
  readonly tls: boolean;
}

/** Times in seconds. */
export interface HealthCheck {
  /** tcp or http. */
  readonly protocol: string;
  readonly port: number;
  readonly interval: number;
  readonly timeout: number;
  readonly retries: number;
  /** Only with protocol http. */
  readonly http: HTTPCheck | undefined;
}

/** Times in seconds. */
export interface HTTPOptions {
  readonly cookieName: string;
  readonly cookieLifetime: number;
  readonly timeoutIdle: number;
  readonly stickySessions: boolean;
  /** Ids; empty unless the protocol is https. */
  readonly certificates: readonly number[];
  readonly redirectHTTP: boolean;
}

/** A listener; its listen port is its identity. */
export interface LoadBalancerService {
  /** tcp, http or https. */
  readonly protocol: string;
  readonly listenPort: number;
  readonly destinationPort: number;
  readonly proxyProtocol: boolean;
  readonly healthCheck: HealthCheck;
  /** Only with protocol http and https. */
  readonly http: HTTPOptions | undefined;
}

export interface TargetHealth {
  readonly listenPort: number;
  /** healthy, unhealthy or unknown. */
  readonly status: string;
}

export interface ServerTarget {
  readonly type: 'server';
  readonly serverID: number;
  /** The address that is really used; undefined when the answer does not say. */
  readonly ip: string | undefined;
  readonly usePrivateIP: boolean;
  readonly health: readonly TargetHealth[];
}

export interface LabelSelectorTarget {
  readonly type: 'label_selector';
  readonly selector: string;
  readonly usePrivateIP: boolean;
  /** What it stands for at the moment. */
  readonly targets: readonly ServerTarget[];
}

export interface IPTarget {
  readonly type: 'ip';
  readonly ip: string;
  readonly health: readonly TargetHealth[];
}

export type LoadBalancerTarget = ServerTarget | LabelSelectorTarget | IPTarget;

export interface PublicAddress {
  readonly ip: string;
  /** Reverse DNS name. */
  readonly dnsPtr: string | undefined;
}

export interface LoadBalancerType {
  readonly id: number;
  readonly name: string;
  /** Undefined where the answer does not say. */
  readonly maxServices: number | undefined;
  readonly maxTargets: number | undefined;
  readonly maxCertificates: number | undefined;
  /** Instant from which it can't be ordered any more, ms since the epoch; undefined while it is not deprecated. */
  readonly unavailableAfter: number | undefined;
}

export interface LoadBalancer {
  readonly id: number;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** ms since the epoch; 0 when absent. */
  readonly created: number;
  /** The addresses stay while it is disabled. */
  readonly publicNet: {
    readonly enabled: boolean;
    readonly ipv4: PublicAddress | undefined;
    readonly ipv6: PublicAddress | undefined;
  };
  readonly privateNets: readonly { readonly network: number; readonly ip: string }[];
  /** Location name; empty when absent. */
  readonly location: string;
  /** Empty when absent. */
  readonly networkZone: string;
  readonly type: LoadBalancerType;
  /** round_robin or least_connections. */
  readonly algorithm: string;
  readonly services: readonly LoadBalancerService[];
  /** Without those of a type that is not known. */
  readonly targets: readonly LoadBalancerTarget[];
  /** Protected against deletion. */
  readonly isProtected: boolean;
}

export interface Certificate {
  readonly id: number;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** uploaded or managed. */
  readonly type: string;
  readonly domainNames: readonly string[];
  /** ms since the epoch; undefined until it is issued. */
  readonly notValidAfter: number | undefined;
  /** Of managed certificates. */
  readonly status:
    | {
        /** pending, completed or failed. */
        readonly issuance: string;
        /** scheduled, pending, failed or unavailable. */
        readonly renewal: string;
        readonly error: { readonly code: string; readonly message: string } | undefined;
      }
    | undefined;
  /** Whether anything, such as a load balancer, uses it: then it can't be deleted. */
  readonly isUsed: boolean;
}

/** All levels may be absent, or undefined, which is the same. */
type Partly<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** What is to be said about a listener; what is left out gets Hetzner's default, or stays as it is in an update. */
export interface ServiceBody extends Partly<Omit<LoadBalancerService, 'healthCheck' | 'http' | 'listenPort'>> {
  readonly listenPort: number;
  readonly healthCheck?:
    | (Partly<Omit<HealthCheck, 'http'>> & { readonly http?: HTTPCheckBody | undefined })
    | undefined;
  readonly http?: Partly<HTTPOptions> | undefined;
}

/** A domain of null takes the Host header away; undefined says nothing about it. */
export type HTTPCheckBody = Partly<Omit<HTTPCheck, 'domain'>> & { readonly domain?: string | null | undefined };

export type TargetBody =
  | {
      readonly type: 'server';
      readonly serverID: number;
      /** A public address of the server that is not its primary IPv4. */
      readonly ip?: string | undefined;
      readonly usePrivateIP: boolean;
    }
  | { readonly type: 'label_selector'; readonly selector: string; readonly usePrivateIP: boolean }
  | { readonly type: 'ip'; readonly ip: string };

/** A new load balancer. Exactly one of location and network zone. */
export interface LoadBalancerBody {
  readonly name: string;
  /** Name or id. */
  readonly type: string;
  readonly location?: string | undefined;
  readonly networkZone?: string | undefined;
  readonly algorithm?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly services?: readonly ServiceBody[] | undefined;
  readonly targets?: readonly TargetBody[] | undefined;
  /** Default true. */
  readonly publicInterface?: boolean | undefined;
  readonly network?: number | undefined;
}

export type CertificateBody = {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
} & (
  | { readonly type: 'managed'; readonly domainNames: readonly string[] }
  | { readonly type: 'uploaded'; readonly certificate: string; readonly privateKey: string }
);

/** What a creation answers: the new thing, and the action that has to end before it is complete. */
export interface Created<T> {
  readonly item: T;
  readonly action: Action | undefined;
}

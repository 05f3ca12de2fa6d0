import type { LoadBalancerTypeEntry } from './catalogue/load-balancer-types.ts';
import type { Location } from './catalogue/locations.ts';
import type { Phase } from './records.ts';

/** What the fake remembers of load balancers and certificates. Instants are ms since the epoch. */

/** A listener in the form of the API. */
export interface ServiceConfig {
  readonly protocol: 'tcp' | 'http' | 'https';
  readonly listen_port: number;
  readonly destination_port: number;
  readonly proxyprotocol: boolean;
  readonly health_check: HealthCheckConfig;
  readonly http?: HTTPConfig;
}

export interface HealthCheckConfig {
  readonly protocol: 'tcp' | 'http';
  readonly port: number;
  readonly interval: number;
  readonly timeout: number;
  readonly retries: number;
  readonly http?: {
    readonly domain: string | null;
    readonly path: string;
    readonly response: string;
    readonly status_codes: readonly string[];
    readonly tls: boolean;
  };
}

export interface HTTPConfig {
  readonly cookie_name: string;
  readonly cookie_lifetime: number;
  readonly timeout_idle: number;
  readonly sticky_sessions: boolean;
  /** Only https. */
  readonly certificates?: readonly number[];
  readonly redirect_http?: boolean;
}

export interface ServiceRecord {
  config: ServiceConfig;
  /** What running updates are going to make of it, oldest first. */
  pending: ServiceConfig[];
  /** Instant from which its health checks count. */
  since: number;
  phase: Phase;
}

interface Since {
  /** Instant from which its health is looked at. */
  since: number;
  phase: Phase;
}

export interface ServerTargetRecord extends Since {
  readonly type: 'server';
  readonly server: number;
  /** Address at the time it was added. */
  readonly ip: string;
  readonly usePrivateIP: boolean;
}

export interface SelectorTargetRecord extends Since {
  readonly type: 'label_selector';
  readonly selector: string;
  readonly usePrivateIP: boolean;
}

export interface IPTargetRecord extends Since {
  readonly type: 'ip';
  readonly ip: string;
}

export type TargetRecord = ServerTargetRecord | SelectorTargetRecord | IPTargetRecord;

export interface LoadBalancerRecord {
  readonly id: number;
  name: string;
  readonly created: number;
  type: LoadBalancerTypeEntry;
  readonly location: Location;
  readonly ipv4: string;
  readonly ipv6: string;
  /** Names of its own for the addresses. */
  readonly dnsPtrs: Map<string, string>;
  publicEnabled: boolean;
  attachment: { readonly network: number; readonly ip: string; phase: Phase } | undefined;
  services: ServiceRecord[];
  targets: TargetRecord[];
  algorithm: string;
  labels: Record<string, string>;
  protected: boolean;
  /** `arriving` while it is being created: it has no addresses to show and lets nothing through. */
  phase: Phase;
  /** Until this instant changes are refused although no action of ours runs. */
  lockedUntil: number;
}

export interface CertificateProblem {
  readonly code: string;
  readonly message: string;
}

export interface CertificateRecord {
  readonly id: number;
  name: string;
  readonly created: number;
  readonly type: 'uploaded' | 'managed';
  labels: Record<string, string>;
  readonly domainNames: readonly string[];
  /** Undefined until it is issued. */
  content:
    | { readonly pem: string; readonly fingerprint: string; readonly from: number; readonly to: number }
    | undefined;
  /** Of managed ones. */
  issuance: 'pending' | 'completed' | 'failed';
  renewal: 'scheduled' | 'pending' | 'failed' | 'unavailable';
  error: CertificateProblem | undefined;
}

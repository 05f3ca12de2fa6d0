import type { LogLevel } from '../observability/logger.ts';
import type { NetworkGateway } from './network-gateways.ts';
import type { NetworkPodCIDR } from './network-pod-cidrs.ts';

export type AddressFamily = 'ipv4' | 'ipv6' | 'dualstack';
export type ServerCacheMode = 'all' | 'one' | 'off';

/** Every setting of the process, validated and frozen. Times in ms. Undefined = not set by the user. */
export interface Settings {
  readonly hcloud: {
    readonly token: string;
    /** File the token was read from; re-read when it changes. */
    readonly tokenFile: string | undefined;
    /** Without a trailing slash. */
    readonly endpoint: string;
    /** Name or numeric id of the private network. */
    readonly network: string | undefined;
    /** Where nodes live in several networks; undefined for a cluster in one. */
    readonly furtherNetworks:
      | {
          /** Name or id of that of the control planes. */
          readonly controlPlane: string | undefined;
          readonly workerRegex: string | undefined;
          readonly workerPrefix: string | undefined;
          /** Ranges of pod addresses, one a network at most; no two overlap. */
          readonly podCIDRs: readonly NetworkPodCIDR[];
          /** Ways between networks, one a pair at most. */
          readonly gateways: readonly NetworkGateway[];
        }
      | undefined;
    readonly networkAttachedCheck: boolean;
    readonly networkRoutesEnabled: boolean;
    /** Base URL of the metadata service, without a trailing slash. */
    readonly metadataEndpoint: string;
    readonly debug: boolean;
  };
  readonly instances: {
    readonly addressFamily: AddressFamily;
    readonly zoneLabelEnabled: boolean;
  };
  readonly serverCache: {
    readonly mode: ServerCacheMode;
    readonly maxAge: number;
  };
  readonly robot: {
    readonly enabled: boolean;
    readonly user: string | undefined;
    readonly userFile: string | undefined;
    readonly password: string | undefined;
    readonly passwordFile: string | undefined;
    readonly endpoint: string;
    readonly cacheTimeout: number;
    readonly rateLimitWaitTime: number | undefined;
    readonly forwardInternalIPs: boolean;
  };
  readonly loadBalancers: {
    readonly enabled: boolean;
    /** spec.loadBalancerClass of Services that are ours. */
    readonly className: string;
    /** Whether Services without a class are ours, too. */
    readonly classless: boolean;
    readonly location: string | undefined;
    readonly networkZone: string | undefined;
    readonly type: string | undefined;
    readonly algorithmType: 'round_robin' | 'least_connections' | undefined;
    readonly disablePublicNetwork: boolean | undefined;
    readonly disablePrivateIngress: boolean;
    readonly usePrivateIP: boolean;
    readonly disableIPv6: boolean;
    readonly usesProxyProtocol: boolean | undefined;
    readonly privateSubnetIPRange: string | undefined;
    /** Name or id of the network of load balancers. */
    readonly network: string | undefined;
    readonly healthCheckInterval: number | undefined;
    readonly healthCheckTimeout: number | undefined;
    readonly healthCheckRetries: number | undefined;
  };
  readonly kubernetes: {
    readonly kubeconfig: string | undefined;
    readonly master: string | undefined;
    /** Host and port of the API server inside the cluster (KUBERNETES_SERVICE_HOST, _PORT). */
    readonly serviceHost: string | undefined;
    readonly servicePort: number | undefined;
    readonly serviceAccountDir: string | undefined;
  };
  /** HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or their lower-case forms, as written. May hold a password. */
  readonly proxy: {
    readonly https: string | undefined;
    readonly http: string | undefined;
    readonly no: string | undefined;
  };
  readonly leaderElection: {
    readonly enabled: boolean;
    readonly leaseDuration: number;
    readonly renewDeadline: number;
    readonly retryPeriod: number;
    readonly resourceName: string;
    readonly resourceNamespace: string;
  };
  /** Which controllers run, after --controllers and the switches that imply it. */
  readonly controllers: {
    readonly node: boolean;
    readonly lifecycle: boolean;
    readonly route: boolean;
    readonly loadBalancer: boolean;
    readonly ipam: boolean;
  };
  readonly ipam: {
    /** IPv4 range of nodes where no network has a range of its own; undefined also without IPAM. */
    readonly clusterCIDR: string | undefined;
    /** Prefix length of the pod CIDRs of nodes. */
    readonly maskSize: number;
  };
  readonly nodes: {
    readonly statusUpdateFrequency: number;
    readonly monitorPeriod: number;
    readonly concurrentSyncs: number;
    /** A valid label selector; undefined = all nodes. */
    readonly selector: string | undefined;
  };
  readonly routes: {
    /** One or two CIDRs; empty where routes are off. */
    readonly clusterCIDRs: readonly string[];
    /** The safety pass comes at random between once and twice this. */
    readonly minResyncPeriod: number;
  };
  readonly services: {
    readonly concurrentSyncs: number;
  };
  readonly metrics: {
    readonly enabled: boolean;
    /** host:port; an empty host means all interfaces. */
    readonly address: string;
  };
  readonly secure: {
    /** 0 = no HTTPS listener. */
    readonly port: number;
    readonly bindAddress: string;
    readonly tlsCertFile: string | undefined;
    readonly tlsPrivateKeyFile: string | undefined;
  };
  readonly log: {
    readonly level: LogLevel;
  };
}

/** Projections of Kubernetes objects: only what the controllers read is kept in memory (see prune.ts). */

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

export type NodeAddressType = 'Hostname' | 'InternalIP' | 'ExternalIP' | 'InternalDNS' | 'ExternalDNS';

export interface NodeAddress {
  readonly type: NodeAddressType;
  readonly address: string;
}

export interface NodeCondition {
  readonly status: string;
  readonly reason: string;
  /** RFC 3339, as the API server wrote it. */
  readonly lastTransitionTime?: string;
}

/** What every stored object has. */
export interface KubeObject {
  readonly name: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** ms since the epoch, by the API server's clock. */
  readonly creationTimestamp: number;
  /** True once metadata.deletionTimestamp is set. */
  readonly deleting: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Only the annotations a controller reads. */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface KubeNode extends KubeObject {
  /** Empty when the node has none yet. */
  readonly providerID: string;
  readonly podCIDRs: readonly string[];
  readonly taints: readonly Taint[];
  readonly unschedulable: boolean;
  readonly addresses: readonly NodeAddress[];
  readonly ready: NodeCondition | undefined;
  readonly networkUnavailable: NodeCondition | undefined;
}

/** `namespace/name`, or the bare name for cluster-scoped objects. */
export const keyOf = (object: Pick<KubeObject, 'name' | 'namespace'>): string =>
  object.namespace === '' ? object.name : `${object.namespace}/${object.name}`;

export interface ServicePort {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
  /** 0 when none is allocated. */
  readonly nodePort: number;
}

export interface IngressAddress {
  readonly ip?: string;
  readonly hostname?: string;
  readonly ipMode?: string;
}

export interface KubeService extends KubeObject {
  readonly type: string;
  /** Empty when the Service has none. */
  readonly loadBalancerClass: string;
  readonly ports: readonly ServicePort[];
  readonly externalTrafficPolicy: string;
  /** 0 when none is allocated. */
  readonly healthCheckNodePort: number;
  readonly sessionAffinity: string;
  readonly sourceRanges: readonly string[];
  readonly finalizers: readonly string[];
  readonly ingress: readonly IngressAddress[];
}

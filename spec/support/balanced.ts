import type { LoadBalancer } from '../../lib/hetzner/lb-types.ts';
import { type KubeObject, MERGE_PATCH } from './kube-client.ts';
import { createService, servicePath } from './services.ts';
import type { VirtualApp } from './virtual-app.ts';

/** Services and their load balancers, most of it in virtual time. */

/** Annotations by the part of their keys behind the prefix. */
export const lb = (values: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [`load-balancer.hetzner.cloud/${key}`, value]));

export type PortWish = number | { readonly port: number; readonly protocol?: string; readonly nodePort?: number };

/** `spec.ports` with a name for each; TCP unless said otherwise. */
export const ports = (...wanted: readonly PortWish[]): readonly object[] =>
  wanted
    .map(one => ({ protocol: 'TCP', ...(typeof one === 'number' ? { port: one } : one) }))
    .map(one => ({ name: `${one.protocol.toLowerCase()}-${one.port}`, ...one }));

/** One address of `status.loadBalancer.ingress`. */
export interface Ingress {
  readonly ip?: string;
  readonly hostname?: string;
  readonly ipMode?: string;
}

export const ingressOf = (service: KubeObject | undefined): readonly Ingress[] =>
  (service?.status.loadBalancer as { readonly ingress?: readonly Ingress[] } | undefined)?.ingress ?? [];

/** Targets in short: server ids (`private` behind those that are reached so) and addresses, sorted. */
export const targetsOf = ({ targets }: LoadBalancer): string[] =>
  targets
    .map(target => {
      if (target.type === 'ip') return target.ip;
      if (target.type === 'label_selector') return target.selector;
      return `${target.serverID}${target.usePrivateIP ? ' private' : ''}`;
    })
    .sort();

/** Listeners in short, `listen port -> node port`, sorted. */
export const listenersOf = ({ services }: LoadBalancer): string[] =>
  services.map(({ listenPort, destinationPort }) => `${listenPort} -> ${destinationPort}`).sort();

export interface Balanced {
  /** Makes a Service of type LoadBalancer in the location fsn1 unless the annotations say something else. */
  create(name: string, annotations?: Readonly<Record<string, string>>, spec?: object): Promise<KubeObject>;
  /** Sets annotations by their short names (null removes one) and fields of the spec. */
  change(name: string, annotations: Readonly<Record<string, string | null>>, spec?: object): Promise<void>;
  service(name: string): KubeObject | undefined;
  nodePort(name: string, port: number): number;
  /** The load balancer with the label of this Service. @throws without exactly one */
  balancer(name: string): LoadBalancer;
  /** `Type Reason message` of the events about an object, oldest first. */
  events(name: string): string[];
  /** How often the reason was spoken about the object. */
  told(name: string, reason: string): number;
  /** `METHOD path` of all requests to Hetzner since then that change something. */
  writes(since?: number): string[];
  /** Adds servers and nodes w<first> ... w<last>; returns the ids of the servers. */
  grow(first: number, last: number): Promise<number[]>;
}

const SERVICES = '/api/v1/namespaces/default/services';

export const balanced = (v: VirtualApp): Balanced => {
  const service = (name: string) => v.kubernetes.get(`${SERVICES}/${name}`) as unknown as KubeObject | undefined;
  const eventsOf = (name: string): readonly KubeObject[] => v.eventsOf(name);
  return {
    create: (name, annotations = {}, spec = {}) =>
      createService(v, {
        name,
        annotations: lb({ location: 'fsn1', type: 'lb11', ...annotations }),
        spec: { ...spec },
      }),
    change: async (name, annotations, spec = {}) => {
      const patch = { metadata: { annotations: lb(annotations as Record<string, string>) }, spec };
      await v.client.must('PATCH', servicePath(name), patch, MERGE_PATCH);
    },
    service,
    nodePort: (name, port) => {
      const found = (service(name)?.spec.ports ?? []) as { port: number; nodePort: number }[];
      return found.find(one => one.port === port)?.nodePort ?? 0;
    },
    balancer: name => {
      const uid = service(name)?.metadata.uid;
      const found = v.hetzner.loadBalancers.list().filter(one => one.labels['hcloud-ccm/service-uid'] === uid);
      if (found.length !== 1) throw new Error(`Service ${name} has ${found.length} load balancers`);
      return found[0] as LoadBalancer;
    },
    events: name => eventsOf(name).map(({ type, reason, message }) => `${type} ${reason} ${message}`),
    told: (name, reason) =>
      eventsOf(name)
        .filter(event => event.reason === reason)
        .reduce((sum, { count = 1 }) => sum + count, 0),
    writes: (since = 0) =>
      v.hetzner.requests
        .filter(r => r.at >= since && r.method !== 'GET')
        .map(({ method, path }) => `${method} ${path}`),
    grow: async (first, last) => {
      const ids: number[] = [];
      for (let i = first; i <= last; i++) {
        ids.push(v.addServer(i));
        await v.join(i);
      }
      return ids;
    },
  };
};

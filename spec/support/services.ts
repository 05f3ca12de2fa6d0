import type { KubeAccess, KubeObject } from './kube-client.ts';

export interface ServiceOptions {
  readonly name: string;
  /** Default `default`. */
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Merged over a Service of type LoadBalancer with port 80. */
  readonly spec?: Readonly<Record<string, unknown>>;
}

export const servicesPath = (namespace = 'default'): string => `/api/v1/namespaces/${namespace}/services`;

export const servicePath = (name: string, namespace = 'default'): string => `${servicesPath(namespace)}/${name}`;

/** Creates a Service of type LoadBalancer. */
export const createService = (cluster: KubeAccess, options: ServiceOptions): Promise<KubeObject> =>
  cluster.client.must('POST', servicesPath(options.namespace), {
    metadata: { name: options.name, annotations: options.annotations ?? {} },
    spec: {
      type: 'LoadBalancer',
      selector: { app: options.name },
      ports: [{ port: 80, protocol: 'TCP' }],
      ...options.spec,
    },
  });

/** Asks for deletion; with finalizers the Service stays until they are gone. */
export const deleteService = async (cluster: KubeAccess, name: string, namespace = 'default'): Promise<void> => {
  await cluster.client.must('DELETE', servicePath(name, namespace));
};

/** The Events about objects of this name, oldest first. */
export const eventsAbout = async (cluster: KubeAccess, name: string): Promise<readonly KubeObject[]> => {
  const selector = encodeURIComponent(`involvedObject.name=${name}`);
  return (await cluster.client.must('GET', `/api/v1/events?fieldSelector=${selector}`)).items;
};

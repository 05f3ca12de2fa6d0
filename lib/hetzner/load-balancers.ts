import { type Certificates, createCertificates } from './certificates.ts';
import { HetznerError } from './errors.ts';
import { decodeLoadBalancer, decodeLoadBalancerType } from './lb-decode.ts';
import { encodeLoadBalancer, encodeService, encodeTarget, encodeTargetID } from './lb-encode.ts';
import type { Created, LoadBalancer, LoadBalancerBody, LoadBalancerType, ServiceBody, TargetBody } from './lb-types.ts';
import { createResourceCalls } from './resource-calls.ts';
import type { Call } from './retry.ts';
import type { Action, CallOptions } from './types.ts';

/** What `attachToNetwork` may ask for: an address, or one out of this subnet. */
export interface AttachmentWish {
  readonly network: number;
  readonly ip?: string | undefined;
  readonly ipRange?: string | undefined;
}

/**
 * Load balancers and certificates of the project, one function a call. A change has happened when its action has
 * succeeded. Everything rejects with a HetznerError or the signal's reason.
 */
export interface LoadBalancers extends Certificates {
  /** All of the project, or an error; never a part of them. */
  list(o: CallOptions): Promise<readonly LoadBalancer[]>;
  get(id: number, o: CallOptions): Promise<LoadBalancer | undefined>;
  listTypes(o: CallOptions): Promise<readonly LoadBalancerType[]>;
  create(body: LoadBalancerBody, o: CallOptions): Promise<Created<LoadBalancer>>;
  /** Takes effect at once. `labels` replaces all labels. */
  update(
    id: number,
    body: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> },
    o: CallOptions,
  ): Promise<LoadBalancer>;
  /** Takes effect at once; one that is gone already is deleted. */
  delete(id: number, o: CallOptions): Promise<void>;
  addService(id: number, service: ServiceBody, o: CallOptions): Promise<Action>;
  /** What is left out stays as it is. */
  updateService(id: number, service: ServiceBody, o: CallOptions): Promise<Action>;
  deleteService(id: number, listenPort: number, o: CallOptions): Promise<Action>;
  addTarget(id: number, target: TargetBody, o: CallOptions): Promise<Action>;
  /** Undefined when it was no target any more. */
  removeTarget(id: number, target: TargetBody, o: CallOptions): Promise<Action | undefined>;
  attachToNetwork(id: number, wish: AttachmentWish, o: CallOptions): Promise<Action>;
  /** Drops all private targets. */
  detachFromNetwork(id: number, network: number, o: CallOptions): Promise<Action>;
  enablePublicInterface(id: number, o: CallOptions): Promise<Action>;
  disablePublicInterface(id: number, o: CallOptions): Promise<Action>;
  changeAlgorithm(id: number, type: string, o: CallOptions): Promise<Action>;
  changeType(id: number, type: string, o: CallOptions): Promise<Action>;
  /** undefined resets the name of the address. */
  changeDNSPtr(id: number, ip: string, dnsPtr: string | undefined, o: CallOptions): Promise<Action>;
}

export const createLoadBalancerAPI = ({ call }: { readonly call: Call }): LoadBalancers => {
  const { list, get, act, write, remove } = createResourceCalls(call);
  const change = (id: number, verb: string, body: unknown, o: CallOptions): Promise<Action> =>
    act(`/load_balancers/${id}/actions/${verb}`, body, o);

  return {
    ...createCertificates(call),
    list: o => list('/load_balancers', 'load_balancers', [['sort', 'id:asc']], decodeLoadBalancer, o),
    get: (id, o) => get(`/load_balancers/${id}`, 'load_balancer', decodeLoadBalancer, o),
    listTypes: o => list('/load_balancer_types', 'load_balancer_types', [], decodeLoadBalancerType, o),
    create: (body, o) =>
      write('POST', '/load_balancers', 'load_balancer', encodeLoadBalancer(body), decodeLoadBalancer, o),
    update: async (id, { name, labels }, o) => {
      const path = `/load_balancers/${id}`;
      return (await write('PUT', path, 'load_balancer', { name, labels }, decodeLoadBalancer, o)).item;
    },
    delete: (id, o) => remove(`/load_balancers/${id}`, o),
    addService: (id, service, o) => change(id, 'add_service', encodeService(service), o),
    updateService: (id, service, o) => change(id, 'update_service', encodeService(service), o),
    deleteService: (id, listenPort, o) => change(id, 'delete_service', { listen_port: listenPort }, o),
    addTarget: (id, target, o) => change(id, 'add_target', encodeTarget(target), o),
    removeTarget: async (id, target, o) => {
      try {
        return await change(id, 'remove_target', encodeTargetID(target), o);
      } catch (err) {
        if (isTargetAbsent(err)) return undefined;
        throw err;
      }
    },
    attachToNetwork: (id, { network, ip, ipRange }, o) =>
      change(id, 'attach_to_network', { network, ip, ip_range: ipRange }, o),
    detachFromNetwork: (id, network, o) => change(id, 'detach_from_network', { network }, o),
    enablePublicInterface: (id, o) => change(id, 'enable_public_interface', undefined, o),
    disablePublicInterface: (id, o) => change(id, 'disable_public_interface', undefined, o),
    changeAlgorithm: (id, type, o) => change(id, 'change_algorithm', { type }, o),
    changeType: (id, type, o) => change(id, 'change_type', { load_balancer_type: type }, o),
    changeDNSPtr: (id, ip, dnsPtr, o) => change(id, 'change_dns_ptr', { ip, dns_ptr: dnsPtr ?? null }, o),
  };
};

/**
 * Whether a refusal says that there is no such target, or that its server does not exist any more (BUG-042). The API
 * has several ways to say it; that the load balancer itself is missing is none of them.
 */
export const isTargetAbsent = (err: unknown): boolean => {
  if (!(err instanceof HetznerError)) return false;
  if (err.code === 'load_balancer_target_not_found') return true;
  if (err.code !== 'not_found' && err.code !== 'invalid_input') return false;
  return /\b(?:target|server)\b.*\bnot found\b/i.test(err.message);
};

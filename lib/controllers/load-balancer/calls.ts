import { targetKey } from '../../hetzner/lb-changes.ts';
import type { LoadBalancers } from '../../hetzner/load-balancers.ts';
import type { CallOptions } from '../../hetzner/types.ts';
import type { Step } from '../pipeline.ts';
import type { LoadBalancerChange } from './plan.ts';

/** Changes that are one call. */
export type SimpleChange = Exclude<LoadBalancerChange, { kind: 'reattach' | 'changeNetwork' | 'flipTarget' }>;

const options = (signal: AbortSignal): CallOptions => ({ priority: 'loadBalancer', signal });

/** The call that makes a change of the load balancer. */
export function callOf(id: number, change: SimpleChange, api: LoadBalancers): Step {
  switch (change.kind) {
    case 'update': {
      const { kind: _, ...body } = change;
      return async s => void (await api.update(id, body, options(s)));
    }
    case 'changeDNSPtr':
      return s => api.changeDNSPtr(id, change.ip, change.dnsPtr, options(s));
    case 'changeAlgorithm':
      return s => api.changeAlgorithm(id, change.algorithm, options(s));
    case 'changeType':
      return s => api.changeType(id, change.type.name, options(s));
    case 'attach':
      return s =>
        api.attachToNetwork(id, { network: change.network, ip: change.ip, ipRange: change.subnet }, options(s));
    case 'enablePublicInterface':
      return s => api.enablePublicInterface(id, options(s));
    case 'disablePublicInterface':
      return s => api.disablePublicInterface(id, options(s));
    case 'addService':
      return s => api.addService(id, change.service, options(s));
    case 'updateService':
      return s => api.updateService(id, change.service, options(s));
    case 'deleteService':
      return s => api.deleteService(id, change.listenPort, options(s));
    case 'addTarget':
      return s => api.addTarget(id, change.target, options(s));
    case 'removeTarget':
      return s => api.removeTarget(id, change.target, options(s));
  }
}

/** The call that takes the load balancer out of a network. */
export const detachCall =
  (id: number, network: number, api: LoadBalancers): Step =>
  s =>
    api.detachFromNetwork(id, network, options(s));

/** What a change that succeeded is called in the log. */
export const changeMessages = {
  update: 'Updated load balancer',
  changeDNSPtr: 'Changed reverse DNS of load balancer',
  changeAlgorithm: 'Changed algorithm of load balancer',
  changeType: 'Changed type of load balancer',
  attach: 'Attached load balancer to network',
  reattach: 'Moved load balancer to another private address',
  changeNetwork: 'Moved load balancer to another network',
  enablePublicInterface: 'Enabled public interface of load balancer',
  disablePublicInterface: 'Disabled public interface of load balancer',
  addService: 'Added listener',
  updateService: 'Updated listener',
  deleteService: 'Deleted listener',
  addTarget: 'Added target',
  removeTarget: 'Removed target',
  flipTarget: 'Changed the way to target',
} as const satisfies Record<LoadBalancerChange['kind'], string>;

/** Short text of what a change is about, for logs and events. */
export function subjectOf(change: LoadBalancerChange): string {
  switch (change.kind) {
    case 'update':
      return [change.name, ...Object.entries(change.labels ?? {}).map(([k, v]) => `${k}=${v}`)]
        .filter(Boolean)
        .join(' ');
    case 'changeDNSPtr':
      return `${change.ip} ${change.dnsPtr}`;
    case 'changeAlgorithm':
      return change.algorithm;
    case 'changeType':
      return change.type.name;
    case 'attach':
    case 'reattach':
    case 'changeNetwork':
      return `network ${change.network}${change.ip === undefined ? '' : ` as ${change.ip}`}`;
    case 'enablePublicInterface':
    case 'disablePublicInterface':
      return 'public interface';
    case 'addService':
    case 'updateService':
      return `port ${change.service.listenPort}`;
    case 'deleteService':
      return `port ${change.listenPort}`;
    case 'addTarget':
    case 'removeTarget':
    case 'flipTarget':
      return targetKey(change.target);
  }
}

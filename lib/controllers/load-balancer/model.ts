import { withoutNetwork, withoutService, withoutTarget, withService, withTarget } from '../../hetzner/lb-changes.ts';
import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import { mergeListener, newListener } from './listener-difference.ts';
import type { LoadBalancerChange } from './plan.ts';

/**
 * The load balancer after a change that succeeded. Actions answer no load balancer, so this is how own writes are
 * followed without a read; what only the API knows (an address it chose) is left out until the next list.
 */
export function withChange(present: LoadBalancer, change: LoadBalancerChange): LoadBalancer {
  switch (change.kind) {
    case 'update':
      return { ...present, name: change.name ?? present.name, labels: change.labels ?? present.labels };
    case 'changeDNSPtr': {
      const { ipv4, ipv6, enabled } = present.publicNet;
      const named = (address: typeof ipv4) =>
        address?.ip === change.ip ? { ...address, dnsPtr: change.dnsPtr } : address;
      return { ...present, publicNet: { enabled, ipv4: named(ipv4), ipv6: named(ipv6) } };
    }
    case 'changeAlgorithm':
      return { ...present, algorithm: change.algorithm };
    case 'changeType':
      return { ...present, type: { ...unknownType, ...change.type } };
    case 'attach':
    case 'reattach':
    case 'changeNetwork': {
      const without = change.kind === 'attach' ? present : withoutNetwork(present, leftNetwork(change));
      const attachment = { network: change.network, ip: change.ip ?? '' };
      return { ...without, privateNets: [...without.privateNets, attachment] };
    }
    case 'enablePublicInterface':
    case 'disablePublicInterface':
      return { ...present, publicNet: { ...present.publicNet, enabled: change.kind === 'enablePublicInterface' } };
    case 'addService':
      return withService(present, newListener(change.service));
    case 'updateService': {
      const there = present.services.find(({ listenPort }) => listenPort === change.service.listenPort);
      return there === undefined ? present : withService(present, mergeListener(there, change.service));
    }
    case 'deleteService':
      return withoutService(present, change.listenPort);
    case 'addTarget':
    case 'flipTarget':
      return withTarget(present, change.target);
    case 'removeTarget':
      return withoutTarget(present, change.target);
  }
}

/** Limits that are not known limit nothing. */
const unknownType = {
  id: 0,
  maxServices: undefined,
  maxTargets: undefined,
  maxCertificates: undefined,
  unavailableAfter: undefined,
};

/** The network that a move leaves. */
export const leftNetwork = (change: LoadBalancerChange & { kind: 'reattach' | 'changeNetwork' }): number =>
  change.kind === 'reattach' ? change.network : change.previous.network;

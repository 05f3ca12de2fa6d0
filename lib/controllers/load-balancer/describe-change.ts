import type { LoadBalancer, ServiceBody } from '../../hetzner/lb-types.ts';
import { type NameOfNetwork, networkText } from '../networks.ts';
import type { PlannedChange } from '../preview.ts';
import { subjectOf } from './calls.ts';
import { ownerLabel } from './identity.ts';
import type { LoadBalancerChange } from './plan.ts';

const actions = {
  update: 'update load balancer',
  changeDNSPtr: 'change reverse DNS',
  changeAlgorithm: 'change algorithm',
  changeType: 'change type',
  attach: 'attach to network',
  reattach: 'move to another private address',
  changeNetwork: 'move to another network',
  enablePublicInterface: 'enable public interface',
  disablePublicInterface: 'disable public interface',
  addService: 'add listener',
  updateService: 'update listener',
  deleteService: 'delete listener',
  addTarget: 'add target',
  removeTarget: 'remove target',
  flipTarget: 'change the way to target',
} as const satisfies Record<LoadBalancerChange['kind'], string>;

/** What a change does, such as `add listener`. */
export const actionOf = ({ kind }: LoadBalancerChange): string => actions[kind];

/** A planned change of a load balancer in words. */
export function describeChange(
  object: string,
  present: LoadBalancer,
  change: LoadBalancerChange,
  nameOfNetwork?: NameOfNetwork,
): PlannedChange {
  const loadBalancer = `${present.name} (${present.id})`;
  const details = { loadBalancer, subject: subjectOf(change), ...listenerDetails(present, change) };
  return { at: 'Hetzner', object, action: actions[change.kind], details, why: whyOf(present, change, nameOfNetwork) };
}

function whyOf(present: LoadBalancer, change: LoadBalancerChange, nameOfNetwork?: NameOfNetwork): string {
  switch (change.kind) {
    case 'update':
      return [
        ...(change.name === undefined ? [] : [`the name annotation differs from its name ${present.name}`]),
        ...(change.labels === undefined ? [] : [`its label ${ownerLabel} does not name this Service`]),
      ].join(', and ');
    case 'changeDNSPtr':
      return 'the rdns annotation says so';
    case 'changeAlgorithm':
      return `the Service or the settings say so; it is ${present.algorithm}`;
    case 'changeType':
      return `the Service or the settings say so; it is ${present.type.name}`;
    case 'attach':
      return 'HCLOUD_NETWORK is set, and the load balancer is in no network';
    case 'reattach':
      return `the private-ipv4 annotation says so; it has ${change.previousIP}`;
    case 'changeNetwork':
      return `the network annotation or HCLOUD_LOAD_BALANCER_NETWORK names it; it is in network ${networkText(change.previous.network, nameOfNetwork)}`;
    case 'enablePublicInterface':
    case 'disablePublicInterface':
      return 'the Service or the settings say so';
    case 'addService':
      return 'the Service has this port, the load balancer does not';
    case 'updateService':
      return 'the listener differs in this from what the Service asks for';
    case 'deleteService':
      return 'the Service does not have this port';
    case 'addTarget':
      return 'its node can be a target, and is none';
    case 'removeTarget':
      return 'no node that can be a target stands for it';
    case 'flipTarget':
      return 'use-private-ip says otherwise than the target';
  }
}

/** Of a listener what is to be, and of one that is there what it is in that. */
function listenerDetails(present: LoadBalancer, change: LoadBalancerChange): Readonly<Record<string, unknown>> {
  if (change.kind !== 'addService' && change.kind !== 'updateService') return {};
  const { listenPort, ...to } = change.service;
  const now = present.services.find(service => service.listenPort === listenPort);
  return { ...(now !== undefined && { from: sameFields(to, now) }), to };
}

const sameFields = (wanted: Omit<ServiceBody, 'listenPort'>, now: object): object =>
  Object.fromEntries(
    Object.entries(wanted).map(([key, value]) => {
      const there = (now as Record<string, unknown>)[key];
      const isNested =
        typeof value === 'object' && !Array.isArray(value) && typeof there === 'object' && there !== null;
      return [key, isNested ? sameFields(value as object as Omit<ServiceBody, 'listenPort'>, there) : there];
    }),
  );

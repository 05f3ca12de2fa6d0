import type { LoadBalancerType, ServiceBody, TargetBody } from '../../hetzner/lb-types.ts';
import type { LoadBalancerConfig } from './config.ts';

/** A load balancer as wanted. What is undefined is left to the API at creation, and as it is later. */
export interface DesiredLoadBalancer {
  /** uid of the Service, for the owner label. */
  readonly owner: string;
  /** The name that is wanted; undefined without the annotation. */
  readonly name: string | undefined;
  /** With its limits, as far as they are known. */
  readonly type: (Pick<LoadBalancerType, 'name'> & Partial<LoadBalancerType>) | undefined;
  readonly algorithm: string | undefined;
  readonly publicInterface: boolean | undefined;
  readonly rdns: LoadBalancerConfig['rdns'];
  /** The private network to be attached to. */
  readonly attachment: Attachment | undefined;
  readonly listeners: readonly ServiceBody[];
  /** Ports whose listener must stay as it is, as what is wanted of it is not known. */
  readonly heldPorts: readonly number[];
  /** In order of preference, should the type not have room for all. */
  readonly targets: readonly TargetBody[];
  /** Targets that stay if they are there, but are not added. */
  readonly keptTargets: readonly TargetBody[];
}

export interface Attachment {
  readonly networkID: number;
  readonly ip: string | undefined;
  /** Only heeded when attaching. */
  readonly subnet: string | undefined;
  /** A network to leave for it: a load balancer can be in one only. */
  readonly from?: { readonly network: number; readonly ip: string };
}

/** Type of a load balancer nobody chose one for. */
export const defaultType = 'lb11';

import type { KubeService } from '../../kubernetes/types.ts';

/** Keeps a Service until its load balancer is gone (Kubernetes, service controller). */
export const cleanupFinalizer = 'service.kubernetes.io/load-balancer-cleanup';

export interface ClassRules {
  /** The class of Services that are ours whatever else is there. */
  readonly className: string;
  /** Whether Services without a class are ours, too. */
  readonly classless: boolean;
}

/** True when a Service asks us for a load balancer. */
export function wantsLoadBalancer(service: KubeService, { className, classless }: ClassRules): boolean {
  if (service.type !== 'LoadBalancer' || service.deleting) return false;
  return service.loadBalancerClass === '' ? classless : service.loadBalancerClass === className;
}

/**
 * True when we still hold a Service that no longer asks us. A class that is not ours means that another controller
 * looks after it: that one may use the same finalizer, so it is left alone.
 */
export function needsCleanup(service: KubeService, rules: ClassRules): boolean {
  if (wantsLoadBalancer(service, rules) || !service.finalizers.includes(cleanupFinalizer)) return false;
  const { loadBalancerClass } = service;
  return loadBalancerClass === '' ? rules.classless : loadBalancerClass === rules.className;
}

/** How load balancers and certificates behave where facts are missing or differ; may be changed while the fake runs. */
export interface LoadBalancerSettings {
  /**
   * Changes of one load balancer while another one runs: listeners and targets side by side, or all refused with 423
   * `locked` or 409 `conflict`. Networks, interfaces and the type are always changed one at a time.
   */
  loadBalancerChanges: 'parallel' | 'locked' | 'conflict';
  /** Load balancers of the project. */
  maxLoadBalancers: number;
  /** What the answer of a creation says about addresses: nothing until the action has ended, or all. */
  addressesAtOnce: boolean;
  /** Which words refusals of targets use: the documents', those of Hetzner's Go client, or those seen live. */
  targetErrors: 'documented' | 'client' | 'observed';
  /** Targets whose server is gone: they drop out, stay and can be removed, or stay and can't be removed (BUG-042). */
  deadTargets: 'drop' | 'stay' | 'stuck';
  /** ms until health checks of a new target or listener have a result. */
  healthAfter: number;
  /** ms until a new label selector stands for its servers. */
  selectorAfter: number;
  /** Whether servers that a selector stands for count as targets, in place of the selector. */
  countSelected: boolean;
  /** Public addresses outside the cloud that the project may name as targets. */
  ownedIPs: 'any' | readonly string[];
  /** DNS zones at Hetzner: only below these managed certificates can be issued. */
  zones: 'any' | readonly string[];
  /** Managed certificates that may be asked for in an hour. */
  managedCertificatesPerHour: number;
}

export const defaultLoadBalancerSettings: LoadBalancerSettings = {
  loadBalancerChanges: 'parallel',
  maxLoadBalancers: 20,
  addressesAtOnce: false,
  targetErrors: 'documented',
  deadTargets: 'drop',
  healthAfter: 15_000,
  selectorAfter: 0,
  countSelected: false,
  ownedIPs: 'any',
  zones: 'any',
  managedCertificatesPerHour: 20,
};

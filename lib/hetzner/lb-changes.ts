import type { LoadBalancer, LoadBalancerService, LoadBalancerTarget, TargetBody } from './lb-types.ts';

/** Load balancers as single changes leave them: actions answer no load balancer, so this is how own writes are followed. */

/** With the service on its port, in place of one that was there. */
export const withService = (loadBalancer: LoadBalancer, service: LoadBalancerService): LoadBalancer => {
  const { services } = loadBalancer;
  const isThere = services.some(({ listenPort }) => listenPort === service.listenPort);
  return {
    ...loadBalancer,
    services: isThere
      ? services.map(one => (one.listenPort === service.listenPort ? service : one))
      : [...services, service],
  };
};

export const withoutService = (loadBalancer: LoadBalancer, listenPort: number): LoadBalancer => ({
  ...loadBalancer,
  services: loadBalancer.services.filter(service => service.listenPort !== listenPort),
});

/** Identity of a target inside a load balancer: a server, an address or a selector is a target only once. */
export const targetKey = (target: TargetBody | LoadBalancerTarget): string => {
  switch (target.type) {
    case 'server':
      return `server ${target.serverID}`;
    case 'label_selector':
      return `label_selector ${target.selector}`;
    case 'ip':
      return `ip ${target.ip}`;
  }
};

/** With a new target, whose health is not known yet. */
export const withTarget = (loadBalancer: LoadBalancer, target: TargetBody): LoadBalancer => {
  const without = withoutTarget(loadBalancer, target);
  return { ...without, targets: [...without.targets, asNew(target)] };
};

const asNew = (target: TargetBody): LoadBalancerTarget => {
  switch (target.type) {
    case 'server':
      return { ...target, ip: target.ip, health: [] };
    case 'label_selector':
      return { ...target, targets: [] };
    case 'ip':
      return { ...target, health: [] };
  }
};

export const withoutTarget = (loadBalancer: LoadBalancer, target: TargetBody): LoadBalancer => ({
  ...loadBalancer,
  targets: loadBalancer.targets.filter(one => targetKey(one) !== targetKey(target)),
});

/** Detached from the network, which drops the targets that were reached through it. */
export const withoutNetwork = (loadBalancer: LoadBalancer, network: number): LoadBalancer => ({
  ...loadBalancer,
  privateNets: loadBalancer.privateNets.filter(one => one.network !== network),
  targets: loadBalancer.targets.filter(target => target.type === 'ip' || !target.usePrivateIP),
});

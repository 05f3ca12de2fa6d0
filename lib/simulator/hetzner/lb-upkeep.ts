import type { LoadBalancerRecord, TargetRecord } from './lb-records.ts';
import { isPrivateIP } from './lb-targets.ts';
import type { World } from './world.ts';

/** What load balancers lose when something else goes. */

const keep = (lb: LoadBalancerRecord, test: (target: TargetRecord) => boolean): void => {
  lb.targets = lb.targets.filter(test);
};

/** Whether the target is reached through the network. */
export const isPrivateTarget = (target: TargetRecord): boolean =>
  target.type === 'ip' ? isPrivateIP(target.ip) : target.usePrivateIP;

/** A server is deleted: its targets go with it, or stay dead, as the settings say. */
export function forgetServer(world: World, server: number): void {
  if (world.settings.deadTargets !== 'drop') return;
  for (const lb of world.loadBalancers.values()) keep(lb, one => one.type !== 'server' || one.server !== server);
}

/** A server leaves a network: as a private target it is as dead as a deleted one. */
export function forgetPrivateServer(world: World, server: number, network: number): void {
  if (world.settings.deadTargets !== 'drop') return;
  for (const lb of world.loadBalancers.values())
    if (lb.attachment?.network === network)
      keep(lb, one => one.type !== 'server' || one.server !== server || !one.usePrivateIP);
}

/** The load balancer is in no network any more: all private targets are gone. */
export function forgetAttachment(lb: LoadBalancerRecord): void {
  lb.attachment = undefined;
  keep(lb, one => !isPrivateTarget(one));
}

/** A network is deleted. */
export function forgetNetwork(world: World, network: number): void {
  for (const lb of world.loadBalancers.values()) if (lb.attachment?.network === network) forgetAttachment(lb);
}

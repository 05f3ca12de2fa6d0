import { parseIPv4CIDR } from '../controllers/ip.ts';
import { previewLives } from '../controllers/lifecycle/preview.ts';
import { previewLoadBalancers } from '../controllers/load-balancer/preview.ts';
import { previewNodes } from '../controllers/node/preview.ts';
import type { Preview } from '../controllers/preview.ts';
import { previewRoutes } from '../controllers/route/preview.ts';
import { gatewaysOf } from '../controllers/route/route-table.ts';
import { nodeSettings } from '../controllers.ts';
import type { Settings } from '../settings/settings.ts';
import type { Observed } from './observe.ts';

/** What one controller would do. */
export interface ControllerPlan extends Preview {
  readonly controller: keyof Settings['controllers'];
}

/** What all controllers would do that the settings ask for. */
export function planAll(settings: Settings, observed: Observed): readonly ControllerPlan[] {
  const { nodes, lists, network, robotInUse: robotEnabled } = observed;
  const previews: Readonly<Record<keyof Settings['controllers'], () => Preview | undefined>> = {
    node: () => previewNodes(nodes, lists, nodeSettings(settings, network?.id)),
    lifecycle: () => previewLives({ ...observed, robotEnabled }),
    route: () => {
      if (network === undefined || lists.cloud === undefined) return undefined;
      const clusterCIDRs = settings.routes.clusterCIDRs.map(parseIPv4CIDR).filter(block => block !== undefined);
      return previewRoutes({ network, gateways: gatewaysOf(network), nodes, servers: lists.cloud, clusterCIDRs });
    },
    loadBalancer: () =>
      previewLoadBalancers({
        ...observed,
        settings: settings.loadBalancers,
        networkID: network?.id,
        robotEnabled: settings.robot.enabled,
      }),
  };
  return (Object.keys(previews) as (keyof typeof previews)[]).flatMap(controller => {
    const preview = settings.controllers[controller] ? previews[controller]() : undefined;
    return preview === undefined ? [] : [{ controller, ...preview }];
  });
}

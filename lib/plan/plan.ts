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

/** What all controllers would do that the settings ask for. Routes and targets follow from nodes as they would be then. */
export function planAll(settings: Settings, observed: Observed): readonly ControllerPlan[] {
  const { lists, network, robotInUse: robotEnabled } = observed;
  const { after, ...node } = previewNodes(observed.nodes, lists, nodeSettings(settings, network?.id));
  const nodes = settings.controllers.node ? after : observed.nodes;
  const previews: Readonly<Record<keyof Settings['controllers'], () => Preview | undefined>> = {
    node: () => node,
    lifecycle: () => previewLives({ ...observed, robotEnabled }),
    route: () => {
      if (network === undefined || lists.cloud === undefined) return undefined;
      const clusterCIDRs = settings.routes.clusterCIDRs.map(parseIPv4CIDR).filter(block => block !== undefined);
      return previewRoutes({ network, gateways: gatewaysOf(network), nodes, servers: lists.cloud, clusterCIDRs });
    },
    loadBalancer: () =>
      previewLoadBalancers({
        ...observed,
        nodes,
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

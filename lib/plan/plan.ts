import { parseIPv4CIDR } from '../controllers/ip.ts';
import { previewPodCIDRs } from '../controllers/ipam/preview.ts';
import { previewLives } from '../controllers/lifecycle/preview.ts';
import { holdsOneOf } from '../controllers/load-balancer/identity.ts';
import { previewLoadBalancers } from '../controllers/load-balancer/preview.ts';
import { isNamed, type NameOfNetwork, nodeNetworks } from '../controllers/networks.ts';
import { previewNodes } from '../controllers/node/preview.ts';
import { joinPreviews, type Preview } from '../controllers/preview.ts';
import { foreignProject } from '../controllers/project.ts';
import { createEvidence } from '../controllers/route/evidence.ts';
import { previewRoutes } from '../controllers/route/preview.ts';
import { gatewaysOf } from '../controllers/route/route-table.ts';
import { shareAtFirstSight, shareInNetwork, wholeShare } from '../controllers/route/share.ts';
import { createWitness } from '../controllers/witness.ts';
import { nodeSettings, rangeSettings } from '../controllers.ts';
import { noServers, type ServerList } from '../hetzner/server-list.ts';
import type { Network } from '../hetzner/types.ts';
import { everything, parseLabelSelector } from '../kubernetes/label-selector.ts';
import type { KubeNode } from '../kubernetes/types.ts';
import type { Settings } from '../settings/settings.ts';
import type { Observed } from './observe.ts';

/** What one controller would do. */
export interface ControllerPlan extends Preview {
  readonly controller: keyof Settings['controllers'];
}

/** What all controllers would do that the settings ask for. Routes and targets follow from nodes as they would be then. */
export function planAll(settings: Settings, observed: Observed): readonly ControllerPlan[] {
  const { lists, network, robotInUse: robotEnabled } = observed;
  const selector = parseLabelSelector(settings.nodes.selector ?? '') ?? everything;
  const mine = observed.nodes.filter(({ labels }) => selector(labels));
  const others = observed.nodes.filter(({ labels }) => !selector(labels));
  const chosen = observed.networks;
  const networks = chosen && nodeNetworks(() => chosen);
  const known = [...observed.allNetworks, ...(chosen?.all ?? []), ...(network ? [network] : [])];
  const nameOfNetwork: NameOfNetwork = id => known.find(one => one.id === id)?.name;
  const { after, ...node } = previewNodes(mine, lists, nodeSettings(settings, network?.id, networks, nameOfNetwork));
  const { doubtsProject } = createWitness(
    () => mine,
    () => Number.NEGATIVE_INFINITY,
    () => holdsOneOf(observed.loadBalancers, observed.services),
  );
  const doubt = doubtsProject(lists) ? foreignProject : undefined;
  const initialised = settings.controllers.node ? after : mine;
  const { after: allocated, ...ipam } = previewPodCIDRs({
    nodes: initialised,
    servers: lists.cloud ?? noServers,
    settings: rangeSettings(settings, networks),
    maskSize: settings.ipam.maskSize,
  });
  const nodes = settings.controllers.ipam ? allocated : initialised;
  const clusterCIDRs = settings.routes.clusterCIDRs.map(parseIPv4CIDR).filter(block => block !== undefined);
  const routesOf = (one: Network, servers: ServerList): Preview => {
    const isOurs = ({ labels }: KubeNode): boolean => selector(labels);
    const everyone = [...nodes, ...others];
    const all = { list: () => everyone };
    const evidence =
      networks && createEvidence({ nodes: all.list, servers: () => servers, networks, networkID: one.id });
    const isSurelyOurs = chosen === undefined || isNamed(chosen, one.id);
    const isHome = isSurelyOurs ? undefined : evidence?.hasResidents;
    const whole =
      others.length === 0 && isSurelyOurs
        ? wholeShare(all)
        : shareAtFirstSight(all, isOurs, servers.servers, one.id, isHome);
    const share = networks && evidence ? shareInNetwork(whole, networks, one.id, evidence) : whole;
    return previewRoutes({
      network: one,
      gateways: gatewaysOf(one),
      nodes: all.list(),
      servers,
      clusterCIDRs,
      share,
      doubt,
    });
  };
  const previews: Readonly<Record<keyof Settings['controllers'], () => Preview | undefined>> = {
    node: () => node,
    lifecycle: () => previewLives({ ...observed, nodes: mine, robotEnabled }),
    route: () => {
      const { cloud } = lists;
      if (network === undefined || cloud === undefined) return undefined;
      return joinPreviews((chosen?.all ?? [network]).map(one => routesOf(one, cloud)));
    },
    loadBalancer: () =>
      previewLoadBalancers({
        ...observed,
        nodes,
        otherNodes: others,
        networks,
        settings: settings.loadBalancers,
        networkID: network?.id,
        nameOfNetwork,
        robotEnabled: settings.robot.enabled,
        doubt,
      }),
    ipam: () => ipam,
  };
  return (Object.keys(previews) as (keyof typeof previews)[]).flatMap(controller => {
    const preview = settings.controllers[controller] ? previews[controller]() : undefined;
    return preview === undefined ? [] : [{ controller, ...preview }];
  });
}

import { onlyKeys, optionalBoolean, optionalLabels, optionalObjects, optionalString, requiredString } from '../body.ts';
import { isLoadBalancerAttached } from '../lb-state.ts';
import { byNameAndLabels, listReply } from '../listing.ts';
import { refuseWhileChanging } from '../network-rules.ts';
import { addNetwork, freeNetworkName, removeNetwork } from '../network-state.ts';
import { ApiProblem } from '../problem.ts';
import type { NetworkRecord } from '../records.ts';
import { type Call, find, type Reply, type Route } from '../router.ts';
import { isAttached } from '../server-state.ts';
import { networkView } from '../views.ts';
import { actionsBelow } from './actions.ts';
import { networkActions, routeWish, subnetWish } from './network-actions.ts';

const theNetwork = (call: Call): NetworkRecord => find(call.world.networks, call.params.id, 'network');

const view = (call: Call, network: NetworkRecord): unknown =>
  networkView(network, ({ type, id }) =>
    type === 'server' ? isAttached(call.world, network.id, id) : isLoadBalancerAttached(call.world, network.id, id),
  );

const single = (call: Call, network: NetworkRecord, status = 200): Reply => ({
  status,
  body: { network: view(call, network) },
});

function create(call: Call): Reply {
  const { body, world, at } = call;
  onlyKeys(body, ['name', 'ip_range', 'labels', 'subnets', 'routes', 'expose_routes_to_vswitch']);
  const network = addNetwork(world, at, {
    name: requiredString(body, 'name'),
    ipRange: requiredString(body, 'ip_range'),
    subnets: (optionalObjects(body, 'subnets') ?? []).map(subnetWish),
    routes: (optionalObjects(body, 'routes') ?? []).map(routeWish),
    labels: optionalLabels(body) ?? {},
    exposeRoutes: optionalBoolean(body, 'expose_routes_to_vswitch') ?? false,
  });
  return single(call, network, 201);
}

function update(call: Call): Reply {
  const { body, world, at } = call;
  const network = theNetwork(call);
  onlyKeys(body, ['name', 'labels', 'expose_routes_to_vswitch']);
  refuseWhileChanging(world, network, at, 'update');
  const name = optionalString(body, 'name');
  const labels = optionalLabels(body);
  const exposeRoutes = optionalBoolean(body, 'expose_routes_to_vswitch');
  if (name !== undefined) network.name = freeNetworkName(world, name, network);
  network.labels = labels ?? network.labels;
  network.exposeRoutes = exposeRoutes ?? network.exposeRoutes;
  return single(call, network);
}

function remove(call: Call): Reply {
  const network = theNetwork(call);
  if (network.protected) throw new ApiProblem(423, 'protected', 'network is delete protected');
  refuseWhileChanging(call.world, network, call.at, 'delete');
  removeNetwork(call.world, network);
  return { status: 204 };
}

export const networks: readonly Route[] = [
  {
    method: 'GET',
    template: '/networks',
    answer: call =>
      listReply(call, {
        plural: 'networks',
        items: byNameAndLabels(call, call.world.networks.values()),
        view: network => view(call, network),
        sort: { id: one => one.id, name: one => one.name, created: one => one.created },
      }),
  },
  { method: 'POST', template: '/networks', answer: create },
  { method: 'GET', template: '/networks/{id}', answer: call => single(call, theNetwork(call)) },
  { method: 'PUT', template: '/networks/{id}', answer: update },
  { method: 'DELETE', template: '/networks/{id}', answer: remove },
  ...networkActions,
  ...actionsBelow('/networks', 'network', call => call.world.networks),
];

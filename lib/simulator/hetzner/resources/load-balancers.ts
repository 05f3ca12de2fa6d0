import {
  type JsonObject,
  optionalBoolean,
  optionalId,
  optionalIdOrName,
  optionalLabels,
  optionalObject,
  optionalObjects,
  optionalString,
  required,
  requiredString,
} from '../body.ts';
import { loadBalancerTypes as allTypes } from '../catalogue/load-balancer-types.ts';
import type { LoadBalancerRecord } from '../lb-records.ts';
import {
  addLoadBalancer,
  freeLoadBalancerName,
  type LoadBalancerWish,
  refuseWhileBusy,
  removeLoadBalancer,
} from '../lb-state.ts';
import { loadBalancerTypeView, loadBalancerView } from '../lb-views.ts';
import { byNameAndLabels, listReply } from '../listing.ts';
import { ApiProblem, notFound } from '../problem.ts';
import { type Call, find, type Reply, type Route } from '../router.ts';
import { actionView } from '../views.ts';
import type { World } from '../world.ts';
import { actionsBelow } from './actions.ts';
import { algorithmType, loadBalancerActions } from './load-balancer-actions.ts';

const theLoadBalancer = (call: Call): LoadBalancerRecord =>
  find(call.world.loadBalancers, call.params.id, 'load balancer');

const single = (call: Call, lb: LoadBalancerRecord): Reply => ({
  status: 200,
  body: { load_balancer: loadBalancerView(call.world, lb, call.at) },
});

/** A load balancer as bodies describe it. */
export function loadBalancerWish(world: World, body: JsonObject): LoadBalancerWish {
  const network = optionalId(body, 'network');
  const algorithm = optionalObject(body, 'algorithm');
  return {
    name: requiredString(body, 'name'),
    type: required('load_balancer_type', optionalIdOrName(body, 'load_balancer_type')),
    location: optionalIdOrName(body, 'location'),
    zone: optionalString(body, 'network_zone'),
    algorithm: algorithm === undefined ? 'round_robin' : algorithmType(algorithm),
    labels: optionalLabels(body) ?? {},
    services: optionalObjects(body, 'services') ?? [],
    targets: optionalObjects(body, 'targets') ?? [],
    publicEnabled: optionalBoolean(body, 'public_interface') ?? true,
    network: network === undefined ? undefined : find(world.networks, network, 'network'),
  };
}

function create(call: Call): Reply {
  const { world, at, body } = call;
  const lb = addLoadBalancer(world, at, loadBalancerWish(world, body));
  const action = call.start({
    command: 'create_load_balancer',
    resources: [{ id: lb.id, type: 'load_balancer' }],
    effect: when => {
      lb.phase = 'present';
      for (const part of [...lb.services, ...lb.targets]) part.since = when;
    },
    undo: () => removeLoadBalancer(world, lb),
  });
  return {
    status: 201,
    body: { load_balancer: loadBalancerView(world, lb, at), action: actionView(action, at) },
  };
}

function update(call: Call): Reply {
  const lb = theLoadBalancer(call);
  const name = optionalString(call.body, 'name');
  const labels = optionalLabels(call.body);
  if (name !== undefined) lb.name = freeLoadBalancerName(call.world, name, lb);
  lb.labels = labels ?? lb.labels;
  return single(call, lb);
}

function remove(call: Call): Reply {
  const lb = theLoadBalancer(call);
  if (lb.protected) throw new ApiProblem(423, 'protected', 'load balancer is delete protected');
  refuseWhileBusy(call.world, lb, call.at, 'delete');
  removeLoadBalancer(call.world, lb);
  return { status: 204 };
}

export const loadBalancers: readonly Route[] = [
  {
    method: 'GET',
    template: '/load_balancers',
    answer: call =>
      listReply(call, {
        plural: 'load_balancers',
        items: byNameAndLabels(call, call.world.loadBalancers.values()),
        view: lb => loadBalancerView(call.world, lb, call.at),
        sort: { id: one => one.id, name: one => one.name, created: one => one.created },
      }),
  },
  { method: 'POST', template: '/load_balancers', answer: create },
  { method: 'GET', template: '/load_balancers/{id}', answer: call => single(call, theLoadBalancer(call)) },
  { method: 'PUT', template: '/load_balancers/{id}', answer: update },
  { method: 'DELETE', template: '/load_balancers/{id}', answer: remove },
  ...loadBalancerActions,
  ...actionsBelow('/load_balancers', 'load_balancer', call => call.world.loadBalancers),
];

export const loadBalancerTypes: readonly Route[] = [
  {
    method: 'GET',
    template: '/load_balancer_types',
    answer: call =>
      listReply(call, {
        plural: 'load_balancer_types',
        items: byNameAndLabels(call, allTypes),
        view: type => loadBalancerTypeView(call.world, type),
        sort: { id: one => one.id },
      }),
  },
  {
    method: 'GET',
    template: '/load_balancer_types/{id}',
    answer: call => {
      const type = allTypes.find(one => String(one.id) === call.params.id);
      if (type === undefined) throw notFound('load balancer type');
      return { status: 200, body: { load_balancer_type: loadBalancerTypeView(call.world, type) } };
    },
  },
];

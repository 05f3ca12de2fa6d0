import type { ActionChange } from '../actions.ts';
import { type JsonObject, onlyKeys, optionalBoolean, optionalId, optionalString, requiredString } from '../body.ts';
import { grownRange, refuseWhileChanging, type SubnetWish } from '../network-rules.ts';
import { addRoute, addSubnet, dropRoute, dropSubnet, removableSubnet, routeOf } from '../network-state.ts';
import type { NetworkRecord, Phase } from '../records.ts';
import { type Call, find, type Route } from '../router.ts';
import { started } from './actions.ts';

/** What a change does at its end, and how a failed one is taken back. */
type Course = Pick<ActionChange, 'effect' | 'undo'>;

const setPhase =
  (part: { phase: Phase }, phase: Phase): (() => void) =>
  () => {
    part.phase = phase;
  };

/** A subnet as bodies describe it. */
export function subnetWish(body: JsonObject): SubnetWish {
  onlyKeys(body, ['type', 'ip_range', 'network_zone', 'vswitch_id']);
  return {
    type: requiredString(body, 'type'),
    zone: requiredString(body, 'network_zone'),
    ipRange: optionalString(body, 'ip_range'),
    vSwitch: optionalId(body, 'vswitch_id'),
  };
}

/** A route as bodies describe it. */
export function routeWish(body: JsonObject): { destination: string; gateway: string } {
  onlyKeys(body, ['destination', 'gateway']);
  return { destination: requiredString(body, 'destination'), gateway: requiredString(body, 'gateway') };
}

/** Something that is there from the end of the action on. */
const arriving = (part: { phase: Phase }, drop: () => void): Course => ({
  effect: setPhase(part, 'present'),
  undo: drop,
});

/** Something that is gone from the end of the action on. */
function leaving(part: { phase: Phase }, drop: () => void): Course {
  part.phase = 'leaving';
  return { effect: drop, undo: setPhase(part, 'present') };
}

const commands: Readonly<Record<string, (call: Call, network: NetworkRecord) => Course>> = {
  add_route: ({ world, body }, network) => {
    const { destination, gateway } = routeWish(body);
    const route = addRoute(world, network, destination, gateway, 'arriving');
    return arriving(route, () => dropRoute(network, route));
  },
  delete_route: ({ body }, network) => {
    const { destination, gateway } = routeWish(body);
    const route = routeOf(network, destination, gateway);
    return leaving(route, () => dropRoute(network, route));
  },
  add_subnet: ({ world, body }, network) => {
    const subnet = addSubnet(world, network, subnetWish(body), 'arriving');
    return arriving(subnet, () => dropSubnet(network, subnet));
  },
  delete_subnet: ({ body }, network) => {
    onlyKeys(body, ['ip_range']);
    const subnet = removableSubnet(network, requiredString(body, 'ip_range'));
    return leaving(subnet, () => dropSubnet(network, subnet));
  },
  change_ip_range: ({ body }, network) => {
    onlyKeys(body, ['ip_range']);
    const ipRange = grownRange(network, requiredString(body, 'ip_range'));
    return {
      effect: () => {
        network.ipRange = ipRange;
      },
    };
  },
  change_protection: ({ body }, network) => {
    onlyKeys(body, ['delete']);
    const wanted = optionalBoolean(body, 'delete') ?? network.protected;
    return {
      effect: () => {
        network.protected = wanted;
      },
    };
  },
};

/** `POST /networks/{id}/actions/…`. Refused while another change runs, as the settings say. */
export const networkActions: readonly Route[] = Object.entries(commands).map(([command, prepare]) => ({
  method: 'POST',
  template: `/networks/{id}/actions/${command}`,
  answer: call => {
    const network = find(call.world.networks, call.params.id, 'network');
    refuseWhileChanging(call.world, network, call.at, command);
    const course = prepare(call, network);
    return started(call, call.start({ command, resources: [{ id: network.id, type: 'network' }], ...course }));
  },
}));

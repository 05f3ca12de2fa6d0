import { includes, knownCidr, parseIPv4 } from './addresses.ts';
import { forgetNetwork } from './lb-upkeep.ts';
import { networkRange, newRoute, newSubnet, type SubnetWish } from './network-rules.ts';
import { ApiProblem, invalidInput, nameTaken, notFound } from './problem.ts';
import type { NetworkRecord, Phase, RouteRecord, SubnetRecord } from './records.ts';
import type { World } from './world.ts';

/** Changes of networks that the API and the scripting have in common. */

/** A name of 1-128 characters that no other network has. */
export function freeNetworkName(world: World, name: string, except?: NetworkRecord): string {
  if (name.length < 1 || name.length > 128) throw invalidInput('name', 'Length must be between 1 and 128.');
  for (const other of world.networks.values())
    if (other.name === name && other !== except) throw nameTaken('name is already used');
  return name;
}

export interface NetworkWish {
  readonly id?: number | undefined;
  readonly name: string;
  readonly ipRange: string;
  readonly subnets: readonly SubnetWish[];
  readonly routes: readonly { readonly destination: string; readonly gateway: string }[];
  readonly labels: Record<string, string>;
  readonly exposeRoutes: boolean;
}

/** Adds a network with its subnets and routes. Throws what `POST /networks` answers; then nothing is added. */
export function addNetwork(world: World, at: number, wish: NetworkWish): NetworkRecord {
  const network: NetworkRecord = {
    id: 0,
    name: freeNetworkName(world, wish.name),
    created: at,
    ipRange: networkRange(wish.ipRange),
    subnets: [],
    routes: [],
    ledger: new Map(),
    labels: wish.labels,
    protected: false,
    exposeRoutes: wish.exposeRoutes,
    lockedUntil: 0,
  };
  for (const subnet of wish.subnets) addSubnet(world, network, subnet, 'present');
  for (const route of wish.routes) addRoute(world, network, route.destination, route.gateway, 'present');
  const kept = { ...network, id: world.mintId('network', wish.id) };
  world.networks.set(kept.id, kept);
  return kept;
}

export function addSubnet(world: World, network: NetworkRecord, wish: SubnetWish, phase: Phase): SubnetRecord {
  const subnet = { ...newSubnet(world, network, wish), phase };
  network.subnets.push(subnet);
  return subnet;
}

export function dropSubnet(network: NetworkRecord, subnet: SubnetRecord): void {
  network.subnets = network.subnets.filter(one => one !== subnet);
}

/** A subnet that may go: it exists and no member has an address in it. */
export function removableSubnet(network: NetworkRecord, ipRange: string): SubnetRecord {
  const subnet = network.subnets.find(one => one.ipRange === ipRange && one.phase === 'present');
  if (subnet === undefined) throw notFound('subnet');
  const range = knownCidr(ipRange);
  if ([...network.ledger.keys()].some(ip => includes(range, parseIPv4(ip) ?? -1)))
    throw new ApiProblem(422, 'service_error', 'cannot remove subnet because servers are attached to it');
  return subnet;
}

export function addRoute(
  world: World,
  network: NetworkRecord,
  destination: string,
  gateway: string,
  phase: Phase,
): RouteRecord {
  const route = { ...newRoute(world, network, destination, gateway), phase };
  network.routes.push(route);
  return route;
}

export function dropRoute(network: NetworkRecord, route: RouteRecord): void {
  network.routes = network.routes.filter(one => one !== route);
}

/** The route with exactly this destination and gateway. Throws `not_found`, also while it is being removed. */
export function routeOf(network: NetworkRecord, destination: string, gateway: string): RouteRecord {
  const route = network.routes.find(
    one => one.destination === destination && one.gateway === gateway && one.phase === 'present',
  );
  if (route === undefined) throw notFound('route');
  return route;
}

/** Removes a network; its members are detached. */
export function removeNetwork(world: World, network: NetworkRecord): void {
  for (const server of world.servers.values())
    server.attachments = server.attachments.filter(one => one.network !== network.id);
  forgetNetwork(world, network.id);
  world.networks.delete(network.id);
}

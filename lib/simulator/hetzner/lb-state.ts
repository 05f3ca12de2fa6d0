import type { JsonObject } from './body.ts';
import { type LoadBalancerTypeEntry, loadBalancerTypes } from './catalogue/load-balancer-types.ts';
import { locations } from './catalogue/locations.ts';
import { refuseWhileChanging } from './exclusion.ts';
import { type AddressWish, admit, expel } from './ipam.ts';
import type { LoadBalancerRecord, ServiceRecord, TargetRecord } from './lb-records.ts';
import { checkPorts, checkServiceLimits, serviceConfig } from './lb-services.ts';
import { newTarget } from './lb-target-rules.ts';
import { hasAddresses } from './lb-targets.ts';
import { forgetAttachment } from './lb-upkeep.ts';
import { ApiProblem, invalidInput, nameTaken, notFound, overLimit } from './problem.ts';
import { type Holder, isShown, type NetworkRecord } from './records.ts';
import { byIdOrName } from './server-state.ts';
import type { World } from './world.ts';

/** Changes of load balancers that the API and the scripting have in common. */

const holderOf = (lb: LoadBalancerRecord): Holder => ({ type: 'load_balancer', id: lb.id });

/** A name of 1-128 characters, without spaces around it, that no other load balancer has. */
export function freeLoadBalancerName(world: World, name: string, except?: LoadBalancerRecord): string {
  if (!/^\S(.*\S)?$/.test(name) || name.length > 128)
    throw invalidInput('name', 'Length must be between 1 and 128, without spaces at the ends.');
  for (const other of world.loadBalancers.values())
    if (other.name === name && other !== except) throw nameTaken('name is already used');
  return name;
}

/** A type that can be ordered. */
export function orderableType(world: World, text: string, at: number): LoadBalancerTypeEntry {
  const type = byIdOrName(loadBalancerTypes, text, 'load balancer type');
  if (at >= (world.deprecations.get(type.name) ?? Number.POSITIVE_INFINITY))
    throw new ApiProblem(412, 'resource_unavailable', 'load balancer type is not available any more');
  return type;
}

export interface LoadBalancerWish {
  readonly id?: number | undefined;
  readonly name: string;
  readonly type: string;
  readonly location: string | undefined;
  readonly zone: string | undefined;
  readonly algorithm: string;
  readonly labels: Record<string, string>;
  readonly services: readonly JsonObject[];
  readonly targets: readonly JsonObject[];
  readonly publicEnabled: boolean;
  readonly network: NetworkRecord | undefined;
  readonly address?: AddressWish | undefined;
}

/** Adds a load balancer with all its parts. Throws what `POST /load_balancers` answers; then nothing is added. */
export function addLoadBalancer(world: World, at: number, wish: LoadBalancerWish): LoadBalancerRecord {
  const name = freeLoadBalancerName(world, wish.name);
  if ((wish.location === undefined) === (wish.zone === undefined))
    throw invalidInput('location', 'Exactly one of location and network_zone is required.');
  const inZone = locations.find(one => one.network_zone === wish.zone);
  if (wish.zone !== undefined && inZone === undefined) throw invalidInput('network_zone', 'Unknown network zone.');
  if (world.loadBalancers.size >= world.settings.maxLoadBalancers)
    throw overLimit('load_balancer_limit', 'load balancer limit exceeded');
  const lb: LoadBalancerRecord = {
    id: world.mintId('load_balancer', wish.id),
    name,
    created: at,
    type: orderableType(world, wish.type, at),
    location: inZone ?? byIdOrName(locations, wish.location ?? '', 'location'),
    ipv4: world.mintIPv4(),
    ipv6: world.mintIPv6().replace(/\/\d+$/, '1'),
    dnsPtrs: new Map(),
    publicEnabled: wish.publicEnabled,
    attachment: undefined,
    services: [],
    targets: [],
    algorithm: wish.algorithm,
    labels: wish.labels,
    protected: false,
    phase: 'arriving',
    lockedUntil: 0,
  };
  try {
    if (wish.network !== undefined) promiseNetwork(lb, wish.network, wish.address ?? {}).phase = 'present';
    else if (!wish.publicEnabled) throw invalidInput('network', 'Required without a public interface.');
    for (const body of wish.services) promiseService(world, lb, body, at).phase = 'present';
    for (const body of wish.targets) promiseTarget(world, lb, body, at).phase = 'present';
  } catch (problem) {
    if (wish.network !== undefined) expel(wish.network, holderOf(lb));
    throw problem;
  }
  world.loadBalancers.set(lb.id, lb);
  return lb;
}

/** Removes a load balancer and frees its addresses. */
export function removeLoadBalancer(world: World, lb: LoadBalancerRecord): void {
  for (const network of world.networks.values()) expel(network, holderOf(lb));
  lb.attachment = undefined;
  world.loadBalancers.delete(lb.id);
}

/** Promises a listener. */
export function promiseService(world: World, lb: LoadBalancerRecord, body: JsonObject, at: number): ServiceRecord {
  const config = serviceConfig(world, body);
  checkServiceLimits(lb, config);
  checkPorts(lb, config, 412);
  const service: ServiceRecord = { config, pending: [], since: at, phase: 'arriving' };
  lb.services.push(service);
  return service;
}

export function dropService(lb: LoadBalancerRecord, service: ServiceRecord): void {
  lb.services = lb.services.filter(one => one !== service);
}

/** Promises a change of a listener; `commit` makes it, `revoke` takes the promise back. */
export function promiseUpdate(
  world: World,
  lb: LoadBalancerRecord,
  service: ServiceRecord,
  body: JsonObject,
): { commit: () => void; revoke: () => void } {
  const next = serviceConfig(world, body, service.pending.at(-1) ?? service.config);
  checkServiceLimits(lb, next, service);
  checkPorts(lb, next, 422, service);
  service.pending.push(next);
  const revoke = (): void => {
    service.pending = service.pending.filter(one => one !== next);
  };
  return {
    commit: () => {
      revoke();
      service.config = mergedAtEnd(world, service, body);
    },
    revoke,
  };
}

/** An update that ends after others is laid over what these have left; one that does not fit there any more is lost. */
function mergedAtEnd(world: World, service: ServiceRecord, body: JsonObject): ServiceRecord['config'] {
  try {
    return serviceConfig(world, body, service.config);
  } catch (problem) {
    if (problem instanceof ApiProblem) return service.config;
    throw problem;
  }
}

/** Promises a target. */
export function promiseTarget(world: World, lb: LoadBalancerRecord, body: JsonObject, at: number): TargetRecord {
  const target = newTarget(world, lb, body, at);
  lb.targets.push(target);
  return target;
}

export function dropTarget(lb: LoadBalancerRecord, target: TargetRecord): void {
  lb.targets = lb.targets.filter(one => one !== target);
}

/** Promises an address in the network, of which there can be only one. */
export function promiseNetwork(
  lb: LoadBalancerRecord,
  network: NetworkRecord,
  wish: AddressWish,
): NonNullable<LoadBalancerRecord['attachment']> {
  if (lb.attachment !== undefined)
    throw new ApiProblem(422, 'load_balancer_already_attached', 'load balancer is already attached to a network');
  const ip = admit(network, holderOf(lb), lb.location.network_zone, wish);
  lb.attachment = { network: network.id, ip, phase: 'arriving' };
  return lb.attachment;
}

/** The attachment to the network. Throws `not_found`. */
export function attachmentOf(lb: LoadBalancerRecord, network: number): NonNullable<LoadBalancerRecord['attachment']> {
  const { attachment } = lb;
  if (attachment?.network !== network || attachment.phase !== 'present') throw notFound('attachment to the network');
  return attachment;
}

/** Leaves the network, with all private targets, or takes back the promise of an attachment. */
export function dropNetwork(world: World, lb: LoadBalancerRecord, network: number): void {
  const found = world.networks.get(network);
  if (found !== undefined) expel(found, holderOf(lb));
  if (lb.attachment?.network === network) forgetAttachment(lb);
}

/** Whether the API lists the load balancer as a member of the network. */
export function isLoadBalancerAttached(world: World, network: number, id: number): boolean {
  const lb = world.loadBalancers.get(id);
  return lb?.attachment?.network === network && isShown(lb.attachment) && hasAddresses(world, lb);
}

const oneAtATime = [
  'attach_to_network',
  'detach_from_network',
  'enable_public_interface',
  'disable_public_interface',
  'change_load_balancer_type',
];

/** Refuses a change while another one runs, as far as `loadBalancerChanges` says. */
export function refuseWhileBusy(world: World, lb: LoadBalancerRecord, at: number, command: string): void {
  const mode = world.settings.loadBalancerChanges;
  refuseWhileChanging(world, { ...lb, type: 'load_balancer' }, at, command, {
    mode,
    always: oneAtATime,
    what: 'load balancer',
  });
}
